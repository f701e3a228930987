/** Information about processes that are not children of this one. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import type { ClientProcess } from '../../contracts/clients/codex.ts'
import type { InstanceId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'

const HAS_PROC_OR_NO_PS: readonly NodeJS.Platform[] = ['linux', 'android', 'win32']

/** Also true for a process of another user, which exists but cannot be signalled. */
export function processAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  // Without a reaper (a container without an init) a dead process keeps its pid.
  return processStat(pid)?.state !== 'Z'
}

/** Whether it is suspended, for example by Ctrl-Z. False without /proc. */
export function isStopped(pid: number): boolean {
  return processStat(pid)?.state === 'T'
}

/**
 * Returns the pid in a pid file, written as a number or as JSON with a `pid`. Returns null without a valid pid: a
 * crashed writer may leave an incomplete file.
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
 * Returns the start time of a process as an opaque text that distinguishes it from a later one with the same pid. Null
 * if the process has ended or the system does not report it. On Linux it includes the boot id, because ticks are
 * counted from boot.
 */
export function processStartTime(pid: number): string | null {
  if (!HAS_PROC_OR_NO_PS.includes(process.platform)) return startTimeByPs(pid)
  const stat = processStat(pid)
  // A zombie still has its pid but holds nothing.
  if (stat === null || stat.state === 'Z') return null
  try {
    const boot = fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot}:${stat.started}`
  } catch {
    return null
  }
}

/** Returns a text that identifies a process uniquely, or null. */
export function processInstance(pid: number): InstanceId | null {
  const started = processStartTime(pid)
  return started === null ? null : `${pid}:${started}`
}

/**
 * The same without /proc, with a resolution of one second. Source: ps(1) of macOS, `lstart`, which depends on the
 * locale and time zone of the caller.
 */
export function startTimeByPs(pid: number): string | null {
  const { stdout, status } = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
    env: { ...process.env, LC_ALL: 'C', TZ: 'UTC0' },
    encoding: 'utf8',
    timeout: LIMITS.ps_answer_ms,
  })
  const [, state, started] = /^(\S+) +(\S.*\S)\s*$/.exec(stdout ?? '') ?? []
  return status === 0 && started !== undefined && !state?.startsWith('Z') ? started : null
}

/** Returns the nearest ancestor with this program name. Null if there is none, or without /proc. */
export function ancestorNamed(name: RegExp, pid: number = process.ppid): ClientProcess | null {
  for (let at = pid; at > 0;) {
    const stat = processStat(at)
    if (stat === null) return null
    if (name.test(stat.name)) {
      const [started, namespace] = [processStartTime(at), pidNamespace()]
      return started === null || namespace === null ? null : { pid: at, started, namespace }
    }
    at = stat.parent
  }
  return null
}

/** Whether the process has ended. False if it is in another pid namespace. */
export function isGone({ pid, started, namespace }: ClientProcess): boolean {
  return namespace === pidNamespace() && processStartTime(pid) !== started
}

function pidNamespace(): string | null {
  try {
    return fs.readlinkSync('/proc/self/ns/pid')
  } catch {
    return null
  }
}

/** Returns the number of the controlling terminal, or null. Throws if the process has ended. */
export function terminalOf(process_directory: string): number | null {
  const stat = fs.readFileSync(path.join(process_directory, 'stat'), 'utf8')
  // Source: proc_pid_stat(5), field 7.
  const terminal = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[4])
  return terminal === 0 || Number.isNaN(terminal) ? null : terminal
}

/** Source: proc_pid_stat(5), fields 2, 3, 4 and 22. */
function processStat(pid: number): { name: string; state: string; parent: number; started: string } | null {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The program's name is in parentheses and may itself contain spaces and parentheses.
    const end = stat.lastIndexOf(')')
    const [state = '', parent = '', ...rest] = stat.slice(end + 2).split(' ')
    const started = rest[17]
    const name = stat.slice(stat.indexOf('(') + 1, end)
    return started === undefined ? null : { name, state, parent: Number(parent), started }
  } catch {
    return null
  }
}
