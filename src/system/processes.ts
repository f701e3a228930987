/** Asks the system about processes that are not our children. */
import fs from 'node:fs'

/** True also for a process of another user, which may not be signalled but is there. */
export function processAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  return !isZombie(pid)
}

/** Where nobody reaps orphans (a container without an init) the number of a dead process stays taken. */
function isZombie(pid: number): boolean {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3) === 'Z'
  } catch {
    return false
  }
}

/**
 * The pid a pid file names, written as a bare number or as JSON with a `pid`. Null where there is no
 * file, or one that says nothing sensible: a writer that died half way leaves such a file.
 */
export function readPidFile(file: string): number | null {
  let text: string
  try {
    text = fs.readFileSync(file, 'utf8').trim()
  } catch {
    return null
  }
  const pid = /^\d+$/.test(text) ? Number(text) : pidInside(text)
  return Number.isSafeInteger(pid) && pid > 0 ? pid : null
}

function pidInside(text: string): number {
  try {
    const value: unknown = JSON.parse(text)
    const pid = value !== null && typeof value === 'object' ? (value as { pid?: unknown }).pid : undefined
    return typeof pid === 'number' ? pid : Number.NaN
  } catch {
    return Number.NaN
  }
}

/**
 * When a process started, as an opaque text that tells it from a later process with the same pid. Null
 * where the system has no /proc or the process is gone. Source: proc_pid_stat(5), field 22; the boot id
 * is part of it because ticks are counted from boot.
 */
export function processStartTime(pid: number): string | null {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field is the program's name in parentheses and may itself hold spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // A zombie has its number still but is no holder of anything.
    if (fields[0] === 'Z') return null
    const boot = fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return fields[19] === undefined ? null : `${boot}:${fields[19]}`
  } catch {
    return null
  }
}
