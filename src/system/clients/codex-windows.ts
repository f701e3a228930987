/** Detection of unmanaged Codex terminals, which their shared app-server does not report. */
import fs from 'node:fs'
import path from 'node:path'
import type { Clock } from '../../ports/clock.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { systemClock } from '../clock.ts'
import { processStartTime, terminalOf } from '../process/process-info.ts'

export interface CodexWindows {
  /** Also true if unknown: without /proc, or for unreadable processes. `look_now` skips the cache. */
  isOpen(skip_cache?: boolean): boolean
}

/** First arguments of `codex` processes without a window. */
const WITHOUT_WINDOW = ['app-server', 'exec', 'mcp-server', 'queue', 'mcp', 'sandbox']

/**
 * Finds windows whose CODEX_HOME is `codex_home`. Scans all processes at most every `codex_windows_look_ms`, unless
 * `look_now` is set.
 */
export function codexWindows(
  codex_home: string,
  { proc = '/proc', clock = systemClock }: { proc?: string; clock?: Pick<Clock, 'monotonic'> } = {},
): CodexWindows {
  let lastFound: { pid: number; started: string | null } | null = null
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
    lastFound = pid === undefined ? null : { pid: Number(pid), started: processStartTime(Number(pid)) }
    return pid !== undefined
  }

  return {
    isOpen(look_now = false) {
      if (process.platform !== 'linux') return true
      if (
        lastFound !== null &&
        lastFound.started !== null &&
        processStartTime(lastFound.pid) === lastFound.started
      )
        return true
      const now = clock.monotonic()
      // A window that was just closed is searched again at once, because another may be open.
      const is_recent = looked_at !== null && now - looked_at < LIMITS.codex_windows_look_ms
      if (lastFound === null && is_recent && !look_now) return open
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
