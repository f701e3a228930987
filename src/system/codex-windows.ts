/** Whether a person has a plain Codex open in a terminal: the app-server that they all share does not report it. */
import fs from 'node:fs'
import path from 'node:path'
import type { Clock } from '../ports/clock.ts'
import { LIMITS } from '../contracts/limits.ts'
import { systemClock } from './clock.ts'
import { processStartTime, terminalOf } from './processes.ts'

export interface CodexWindows {
  /**
   * True also where the system does not tell: without /proc, or for processes that may not be read. With `look_now` what
   * was found a moment ago does not count.
   */
  isOpen(look_now?: boolean): boolean
}

/** Programs named `codex` that are no window, by their first word. */
const WITHOUT_WINDOW = ['app-server', 'exec', 'mcp-server', 'queue', 'mcp', 'sandbox']

/** Those whose configuration lies in `codex_home`. Looks through all processes at most every `codex_windows_look_ms`, unless told to. */
export function codexWindows(
  codex_home: string,
  { proc = '/proc', clock = systemClock }: { proc?: string; clock?: Pick<Clock, 'monotonic'> } = {},
): CodexWindows {
  let known: { pid: number; started: string | null } | null = null
  let looked_at: number | null = null
  let open = true

  function look(): boolean {
    let names: string[]
    try {
      names = fs.readdirSync(proc)
    } catch {
      return true
    }
    const pid = names
      .filter((name) => /^\d+$/.test(name))
      .find((name) => isWindow(path.join(proc, name), codex_home))
    known = pid === undefined ? null : { pid: Number(pid), started: processStartTime(Number(pid)) }
    return pid !== undefined
  }

  return {
    isOpen(look_now = false) {
      if (process.platform !== 'linux') return true
      if (known !== null && known.started !== null && processStartTime(known.pid) === known.started)
        return true
      const now = clock.monotonic()
      // One that was just closed is looked for at once: another may be open.
      const is_recent = looked_at !== null && now - looked_at < LIMITS.codex_windows_look_ms
      if (known === null && is_recent && !look_now) return open
      looked_at = now
      open = look()
      return open
    },
  }
}

/** Source: proc(5): `comm`, `cmdline` and `environ` of a process. */
function isWindow(process_directory: string, codex_home: string): boolean {
  const read = (name: string) => fs.readFileSync(path.join(process_directory, name), 'utf8')
  try {
    if (read('comm') !== 'codex\n' || terminalOf(process_directory) === null) return false
    const words = read('cmdline').split('\0').slice(1)
    if (words.some((word) => WITHOUT_WINDOW.includes(word))) return false
    const env = new Map(read('environ').split('\0').map(pairOf))
    return path.resolve(env.get('CODEX_HOME') || path.join(env.get('HOME') ?? '', '.codex')) === codex_home
  } catch {
    return false
  }
}

function pairOf(line: string): [string, string] {
  const at = line.indexOf('=')
  return [line.slice(0, at), line.slice(at + 1)]
}
