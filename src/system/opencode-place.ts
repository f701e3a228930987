/**
 * What the shim, the plugin, `turnbell run` and the bridge tell each other about a persona's opencode: small
 * files in the persona's run directory, which only its owner can enter.
 */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import * as z from 'zod'
import { readText, watchText } from './watch-text.ts'
import { SessionId } from '../contracts/ids.ts'
import { replaceFile } from './replace-file.ts'
import { jsonAs } from '../contracts/json.ts'

/** Where the server listens, and who may ask it. */
const ServerAddress = z.object({
  port: z.number().int().min(1).max(65_535),
  password: z.string().min(1),
  /** The shim hears its events: a session that begins now is noticed. */
  attached: z.boolean(),
})
export type ServerAddress = z.infer<typeof ServerAddress>

/** The session that is rung. opencode tells its MCP servers nothing of the session that calls them. */
const BoundSession = z.object({ session_id: SessionId, directory: z.string() })
export type BoundSession = z.infer<typeof BoundSession>

export interface OpencodePlace {
  server(): ServerAddress | null
  keepServer(address: ServerAddress): void
  bound(): BoundSession | null
  /** Calls with the bound session, now and whenever it is another. The handle ends it. */
  onBound(call: (session: BoundSession) => void): { close(): void }
  /** Null forgets it. */
  keepBound(session: BoundSession | null): void
  /** The session of an agent without a window; outlives its server. */
  windowless(): BoundSession | null
  keepWindowless(session: BoundSession): void
}

/** One process of a person's own opencode, in one of the directories that it works in. */
export interface Instance {
  pid: number
  directory: string
}

/** With `own`, the bound session is that of this one instance. */
export function opencodePlace(run_dir: string, own?: Instance): OpencodePlace {
  const server_file = path.join(run_dir, 'opencode-server.json')
  const bound_file = path.join(run_dir, `opencode-session${own === undefined ? '' : nameOf(own)}.json`)
  const windowless_file = path.join(run_dir, 'opencode-headless.json')
  return {
    server: () => jsonAs(ServerAddress, readText(server_file)),
    keepServer: (address) => keep(server_file, address),
    bound: () => jsonAs(BoundSession, readText(bound_file)),
    onBound: (call) =>
      watchText(bound_file, (text) => {
        const session = jsonAs(BoundSession, text)
        if (session !== null) call(session)
      }),
    keepBound: (session) =>
      session === null ? fs.rmSync(bound_file, { force: true }) : keep(bound_file, session),
    windowless: () => jsonAs(BoundSession, readText(windowless_file)),
    keepWindowless: (session) => keep(windowless_file, session),
  }
}

/** The directory as the system knows it: opencode may have come there by a link, its bridge does not see that. */
function nameOf({ pid, directory }: Instance): string {
  let real = directory
  try {
    real = fs.realpathSync(directory)
  } catch {
    // Gone meanwhile; the name that it had still tells it from others.
  }
  return `-${pid}-${createHash('sha256').update(real).digest('hex').slice(0, 16)}`
}

/**
 * The session of the opencode that started this process, by the number that it gives to what it starts and the
 * directory that it starts it in; else the one on the server that the daemon keeps.
 */
export function callingSession(
  run_dir: string,
  { env, directory }: { env: NodeJS.ProcessEnv; directory: string },
): BoundSession | null {
  const pid = /^\d{1,10}$/.test(env['OPENCODE_PID'] ?? '') ? Number(env['OPENCODE_PID']) : undefined
  const own = pid === undefined ? null : opencodePlace(run_dir, { pid, directory }).bound()
  return own ?? opencodePlace(run_dir).bound()
}

/** Removes what a person's opencode left behind that was killed. */
export function forgetEnded(run_dir: string, alive: (pid: number) => boolean): void {
  for (const name of fs.readdirSync(run_dir)) {
    const pid = /^opencode-session-(\d+)-\w+\.json$/.exec(name)?.[1]
    if (pid !== undefined && !alive(Number(pid))) fs.rmSync(path.join(run_dir, name), { force: true })
  }
}

export function serverUrl({ port }: Pick<ServerAddress, 'port'>): string {
  return `http://127.0.0.1:${port}`
}

/** opencode's name for whoever knows the password. */
export function serverAuthorization({ password }: Pick<ServerAddress, 'password'>): string {
  return `Basic ${Buffer.from(`opencode:${password}`).toString('base64')}`
}

const keep = (file: string, value: object) => replaceFile(file, JSON.stringify(value))
