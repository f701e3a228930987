/**
 * The arguments that start a client: those for its persona, then those that the person gave. Pure except for new session
 * ids.
 */
import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { SessionId } from '../contracts/ids.ts'
import type { BoundSession } from '../system/clients/opencode-run-files.ts'

/**
 * Passes the directory, because Codex would otherwise work in that of the app-server. Resumes the thread `kept`, unless
 * `args` choose a thread or a directory.
 */
export function codexArguments(
  socket: string,
  directory: string,
  args: readonly string[],
  kept: string | null = null,
): string[] {
  const chosen = args.some((arg) => arg === '-C' || arg === '--cd' || arg.startsWith('--cd='))
  const alone = kept === null || chosen || args.some((arg) => arg === 'resume' || arg === 'fork')
  return [
    '--remote',
    `unix://${socket}`,
    ...(chosen ? [] : ['-C', directory]),
    ...(alone ? [] : ['resume', kept]),
    ...args,
  ]
}

/** Gives the session a new id, unless `args` choose an id or continue another session. */
export function claudeArguments(plugin: string, persona: string, args: readonly string[]): string[] {
  const has = (...names: string[]) =>
    args.some((arg) => names.some((name) => arg === name || arg.startsWith(`${name}=`)))
  const chosen = has('--session-id', '--resume', '-r', '--continue', '-c', '--fork-session', '--from-pr')
  return [
    '--plugin-dir',
    plugin,
    ...(chosen ? [] : ['--session-id', randomUUID()]),
    ...(has('--name', '-n') ? [] : ['--name', persona]),
    ...args,
  ]
}

export function continuesSession(args: readonly string[]): boolean {
  return args.some((arg) => /^(-s|--session|-c|--continue)(=|$)/.test(arg))
}

/** Returns the session that `args` name. Returns null if they name none, or copy the named one with `--fork`. */
export function namedSession(args: readonly string[]): string | null {
  if (args.includes('--fork')) return null
  const index = args.findIndex((arg) => /^(-s|--session)(=|$)/.test(arg))
  const arg = args[index]
  const name = arg?.includes('=') === true ? arg.slice(arg.indexOf('=') + 1) : args[index + 1]
  return arg === undefined ? null : (SessionId.safeParse(name).data ?? null)
}

export function opencodeArguments(
  url: string,
  { directory, args, session }: { directory: string; args: readonly string[]; session: string | null },
): string[] {
  const others = args.filter(
    (arg, index) => arg !== '--dir' && !arg.startsWith('--dir=') && args[index - 1] !== '--dir',
  )
  const chosen = session === null ? [] : ['--session', session]
  return ['attach', url, '--dir', directory, ...chosen, ...others]
}

/**
 * Returns the client's directory and session. `session_id` is null if `args` continue a session, and absent if the
 * session does not exist yet. If `args` choose neither, the client joins the session of a headless agent.
 */
export function opencodeTarget(
  args: readonly string[],
  { cwd, headless, kept }: { cwd: string; headless: string | null; kept: BoundSession | null },
): { directory: string; session_id?: string | null } {
  const index = args.findIndex((arg) => arg === '--dir' || arg.startsWith('--dir='))
  const named = args[index] === '--dir' ? args[index + 1] : args[index]?.slice('--dir='.length)
  const directory = named === undefined ? (headless ?? cwd) : path.resolve(cwd, named)
  if (continuesSession(args)) return { directory, session_id: null }
  return named === undefined && kept !== null ? kept : { directory }
}
