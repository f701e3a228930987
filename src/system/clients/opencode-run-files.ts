/**
 * Files in a persona's run directory through which the shim, the plugin, `turnbell run` and the bridge share the state
 * of its opencode.
 */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import * as z from 'zod'
import { readText, watchFile } from '../files/watch-file.ts'
import { SessionId } from '../../contracts/ids.ts'
import { writeFileAtomic } from '../files/atomic-write.ts'
import { parseJsonAs } from '../../contracts/validation/json.ts'

/** Address and password of the server. */
const ServerAddress = z.object({
  port: z.number().int().min(1).max(65_535),
  password: z.string().min(1),
  /** Whether the shim receives its events, and so notices new sessions. */
  attached: z.boolean(),
})
export type ServerAddress = z.infer<typeof ServerAddress>

/** Session that gets doorbells. opencode does not send its MCP servers the calling session. */
const BoundSession = z.object({ session_id: SessionId, directory: z.string() })
export type BoundSession = z.infer<typeof BoundSession>

export interface OpencodeRunFiles {
  server(): ServerAddress | null
  keepServer(address: ServerAddress): void
  bound(): BoundSession | null
  /** Calls with the bound session now and after every change. Closing the handle stops it. */
  onBound(call: (session: BoundSession) => void): { close(): void }
  /** Null removes it. */
  storeBound(session: BoundSession | null): void
  /** Session of a headless agent, which outlives its server. */
  headlessSession(): BoundSession | null
  keepWindowless(session: BoundSession): void
}

/** Process of the user's own opencode in one of its directories. */
export interface Instance {
  pid: number
  directory: string
}

/** With `own`, the bound session is that of this instance. */
export function opencodeRunFiles(run_dir: string, own?: Instance): OpencodeRunFiles {
  const server_file = path.join(run_dir, 'opencode-server.json')
  const bound_file = path.join(run_dir, `opencode-session${own === undefined ? '' : nameOf(own)}.json`)
  const windowless_file = path.join(run_dir, 'opencode-headless.json')
  return {
    server: () => parseJsonAs(ServerAddress, readText(server_file)),
    keepServer: (address) => writeOrRemove(server_file, address),
    bound: () => parseJsonAs(BoundSession, readText(bound_file)),
    onBound: (call) =>
      watchFile(bound_file, (text) => {
        const session = parseJsonAs(BoundSession, text)
        if (session !== null) call(session)
      }),
    storeBound: (session) =>
      session === null ? fs.rmSync(bound_file, { force: true }) : writeOrRemove(bound_file, session),
    headlessSession: () => parseJsonAs(BoundSession, readText(windowless_file)),
    keepWindowless: (session) => writeOrRemove(windowless_file, session),
  }
}

/** Uses the real path, because opencode may use a link that its bridge does not know. */
function nameOf({ pid, directory }: Instance): string {
  let real = directory
  try {
    real = fs.realpathSync(directory)
  } catch {
    // The directory was removed; its path still identifies it.
  }
  return `-${pid}-${createHash('sha256').update(real).digest('hex').slice(0, 16)}`
}

/**
 * Returns the session of the opencode that started this process, identified by its pid and directory; otherwise the
 * session on the managed server.
 */
export function callingSession(
  run_dir: string,
  { env, directory }: { env: NodeJS.ProcessEnv; directory: string },
): BoundSession | null {
  const pid = /^\d{1,10}$/.test(env['OPENCODE_PID'] ?? '') ? Number(env['OPENCODE_PID']) : undefined
  const own = pid === undefined ? null : opencodeRunFiles(run_dir, { pid, directory }).bound()
  return own ?? opencodeRunFiles(run_dir).bound()
}

/** Removes the files of ended processes of the user's opencode. */
export function removeEnded(run_dir: string, alive: (pid: number) => boolean): void {
  for (const name of fs.readdirSync(run_dir)) {
    const pid = /^opencode-session-(\d+)-\w+\.json$/.exec(name)?.[1]
    if (pid !== undefined && !alive(Number(pid))) fs.rmSync(path.join(run_dir, name), { force: true })
  }
}

export function serverUrl({ port }: Pick<ServerAddress, 'port'>): string {
  return `http://127.0.0.1:${port}`
}

/** User name `opencode` with the password. */
export function serverAuthorization({ password }: Pick<ServerAddress, 'password'>): string {
  return `Basic ${Buffer.from(`opencode:${password}`).toString('base64')}`
}

const writeOrRemove = (file: string, value: object) => writeFileAtomic(file, JSON.stringify(value))
