/** Calls all closers in order, also after one failed, and then throws the first error. */
export async function closeInOrder(closers: readonly (() => unknown)[]): Promise<void> {
  const failures: unknown[] = []
  for (const close of closers) {
    try {
      await close()
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}
