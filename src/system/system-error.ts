/** Whether the system refused something, and says why; anything else is a mistake in a program. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException & { code: string } {
  const { code, errno } = (error ?? {}) as NodeJS.ErrnoException
  return typeof code === 'string' && typeof errno === 'number'
}

export function isFullDisk(code: string | undefined): boolean {
  return code === 'ENOSPC' || code === 'EDQUOT'
}
