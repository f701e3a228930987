/**
 * What the shim, `turnbell run` and the bridge tell each other about a persona's opencode server: two
 * small files in the persona's run directory, which only its owner can enter.
 */
import fs from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { readText } from './watch-text.ts'
import { SessionId } from '../contracts/ids.ts'

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
  /** Null forgets it. */
  keepBound(session: BoundSession | null): void
}

export function opencodePlace(run_dir: string): OpencodePlace {
  const server_file = path.join(run_dir, 'opencode-server.json')
  const bound_file = path.join(run_dir, 'opencode-session.json')
  return {
    server: () => kept(server_file, ServerAddress),
    keepServer: (address) => keep(server_file, address),
    bound: () => kept(bound_file, BoundSession),
    keepBound: (session) =>
      session === null ? fs.rmSync(bound_file, { force: true }) : keep(bound_file, session),
  }
}

export function serverUrl({ port }: Pick<ServerAddress, 'port'>): string {
  return `http://127.0.0.1:${port}`
}

/** opencode's name for whoever knows the password. */
export function serverAuthorization({ password }: Pick<ServerAddress, 'password'>): string {
  return `Basic ${Buffer.from(`opencode:${password}`).toString('base64')}`
}

function kept<T>(file: string, form: z.ZodType<T>): T | null {
  const text = readText(file)
  if (text === null) return null
  try {
    return form.safeParse(JSON.parse(text)).data ?? null
  } catch {
    return null
  }
}

/** Whoever reads at this moment sees the old or the new one, never half of it. */
function keep(file: string, value: object): void {
  const aside = `${file}.${process.pid}`
  fs.writeFileSync(aside, JSON.stringify(value), { mode: 0o600 })
  fs.renameSync(aside, file)
}
