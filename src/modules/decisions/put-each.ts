/** Several puts of which one may be refused. */
import { TurnbellError } from '../../contracts/errors.ts'
import type { HeldCollection } from '../memory/collection.ts'

/** Answers those that are kept. */
export async function putEach<T>(
  held: Pick<HeldCollection<T>, 'put'>,
  items: readonly T[],
  onRefused: (error: TurnbellError) => void,
): Promise<T[]> {
  const kept: T[] = []
  for (const item of items) {
    try {
      await held.put(item)
      kept.push(item)
    } catch (error) {
      if (!(error instanceof TurnbellError)) throw error
      onRefused(error)
    }
  }
  return kept
}
