/** Asks the system about processes that are not our children. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import type { ClientProcess } from '../contracts/codex.ts'
import type { InstanceId } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits.ts'

const HAS_PROC_OR_NO_PS: readonly NodeJS.Platform[] = ['linux', 'android', 'win32']

/** True also for a process of another user, which may not be signalled but is there. */
export function processAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  // Where nobody reaps orphans (a container without an init) the number of a dead process stays taken.
  return processStat(pid)?.state !== 'Z'
}

/** It was stopped, as by Ctrl-Z: it is there and does nothing. False where the system has no /proc. */
export function isStopped(pid: number): boolean {
  return processStat(pid)?.state === 'T'
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
 * where the process is gone, or the system does not tell. On Linux the boot id is part of it because ticks
 * are counted from boot.
 */
export function processStartTime(pid: number): string | null {
  if (!HAS_PROC_OR_NO_PS.includes(process.platform)) return startTimeByPs(pid)
  const stat = processStat(pid)
  // A zombie has its number still but is no holder of anything.
  if (stat === null || stat.state === 'Z') return null
  try {
    const boot = fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot}:${stat.started}`
  } catch {
    return null
  }
}

/** Tells a process from a later one with its pid; null where that is not possible. */
export function processInstance(pid: number): InstanceId | null {
  const started = processStartTime(pid)
  return started === null ? null : `${pid}:${started}`
}

/**
 * The same where there is no /proc: to the second. Source: ps(1) of macOS, `lstart`, which it writes in the
 * words of the caller's place and time zone.
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

/** The nearest ancestor that is a program of this name. Null where there is none, or the system has no /proc. */
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

/** Only where that can be told: what another namespace knows counts as living. */
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

/** Number of the terminal that controls a process; null for one without. Throws where it is gone. */
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
    // The program's name stands in parentheses and may itself hold spaces and parentheses.
    const end = stat.lastIndexOf(')')
    const [state = '', parent = '', ...rest] = stat.slice(end + 2).split(' ')
    const started = rest[17]
    const name = stat.slice(stat.indexOf('(') + 1, end)
    return started === undefined ? null : { name, state, parent: Number(parent), started }
  } catch {
    return null
  }
}
