/** Whether the error was reported by the operating system; others are programming errors. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException & { code: string } {
  const { code, errno } = (error ?? {}) as NodeJS.ErrnoException
  return typeof code === 'string' && typeof errno === 'number'
}

export function isFullDisk(code: string | undefined): boolean {
  return code === 'ENOSPC' || code === 'EDQUOT'
}

/** Returns the hint for unusable files by error code: one sentence without a full stop. */
export function diskHint(code: string | undefined): string {
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return 'Make room on the disk'
    case 'EROFS':
      return 'Make the file system writable again (`mount -o remount,rw`); the system log has the reason'
    case 'EACCES':
    case 'EPERM':
      return 'Make yourself the owner of the directory and its content and make them writable, or use a home of your own (--home DIR or TURNBELL_HOME)'
    case 'EMFILE':
    case 'ENFILE':
      return 'Close other programs or raise the limit of open files (`ulimit -n`)'
    case 'ENOTDIR':
      return 'Move away the file that is in the place of a directory; `turnbell doctor` names it'
    default:
      return 'Check the disk'
  }
}
