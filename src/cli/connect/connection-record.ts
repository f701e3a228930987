/** Records of what `connect` wrote, in the home, by which `disconnect` removes exactly that. */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import * as z from 'zod'
import { describeIssues, TurnbellError } from '../../contracts/errors/errors.ts'
import { ClientKind, Identity } from '../../contracts/ids.ts'
import { ensurePrivateDirectory, prepareHome, type Home } from '../../system/config/home.ts'
import { Written } from './desired-config.ts'
import { withShortLock } from '../../system/files/short-lock.ts'
import { writeFileAtomic } from '../../system/files/atomic-write.ts'

const RecordedFile = z.strictObject({
  file: z.string(),
  /** The file did not exist before. */
  created: z.boolean(),
  /** Directories that were created for it, the outermost first. */
  directories: z.array(z.string()),
  /** Hash of the text as it was written. The same hash means that the file was not edited since. */
  sha256: z.string(),
  written: Written,
})
export type RecordedFile = z.infer<typeof RecordedFile>

const COMMON = {
  version: z.literal(1),
  project: z.string(),
  connected_at: z.iso.datetime(),
  files: z.array(RecordedFile),
  /** Programs and folders that the entries refer to: absolute paths, and commands on PATH. */
  starts: z.array(z.string()).default([]),
  /** Keys of the hooks that were marked as trusted in Codex. */
  trusted_hooks: z.array(z.string()).default([]),
}
const ClientConnection = z.strictObject({ ...COMMON, client: ClientKind, persona: Identity })
export type ClientConnection = z.infer<typeof ClientConnection>

/** A client, which acts for a persona once connected, or git, which notifies turnbell of commits. */
export const Connectable = z.enum([...ClientKind.options, 'git'])
export type Connectable = z.infer<typeof Connectable>

export const Connection = z.discriminatedUnion('client', [
  ClientConnection,
  z.strictObject({ ...COMMON, client: z.literal('git') }),
])
export type Connection = z.infer<typeof Connection>

export interface Connections {
  of(client: Connectable, project: string): Connection | null
  all(): Connection[]
  /** Returns all records, with a `TurnbellError` for each unreadable one. */
  each(): (Connection | TurnbellError)[]
  keep(connection: Connection): void
  forget(connection: Connection): void
  /** Runs `work` under a lock, so that concurrent commands run one after the other. */
  locked<T>(work: () => Promise<T>): Promise<T>
}

export function connectionsIn(home: Home): Connections {
  const folder = path.join(home.root, 'connections')
  const fileOf = ({ client, project }: Pick<Connection, 'client' | 'project'>) =>
    path.join(folder, `${client}-${createHash('sha256').update(project).digest('hex').slice(0, 16)}.json`)
  const files = () => {
    const names = fs.existsSync(folder) ? fs.readdirSync(folder) : []
    return names
      .filter((name) => name.endsWith('.json'))
      .sort()
      .map((name) => path.join(folder, name))
  }
  return {
    of: (client, project) => read(fileOf({ client, project })),
    all: () => files().flatMap((file) => read(file) ?? []),
    each: () => files().flatMap((file) => readOrRefusal(file) ?? []),
    keep(connection) {
      writeFileAtomic(fileOf(connection), `${JSON.stringify(connection, null, 2)}\n`, { flush: true })
    },
    forget: (connection) => fs.rmSync(fileOf(connection), { force: true }),
    async locked(work) {
      prepareHome(home)
      ensurePrivateDirectory(folder)
      return withShortLock({ lock: `${folder}.lock`, busy: 'a client is being connected' }, work)
    },
  }
}

function readOrRefusal(file: string): Connection | TurnbellError | null {
  try {
    return read(file)
  } catch (error) {
    if (error instanceof TurnbellError) return error
    throw error
  }
}

function read(file: string): Connection | null {
  if (!fs.existsSync(file)) return null
  const broken = (what: string, cause: unknown) =>
    new TurnbellError('config_invalid', {
      detail: `${file} is not a valid record of a connection: ${what}`,
      hint: 'Move it away, then remove the entries of turnbell from the client’s files by hand.',
      cause,
    })
  let value: unknown
  try {
    value = JSON.parse(fs.readFileSync(file, 'utf8'))
  } catch (cause) {
    throw broken((cause as Error).message, cause)
  }
  const parsed = Connection.safeParse(value)
  if (parsed.success) return parsed.data
  throw broken(describeIssues(parsed.error), parsed.error)
}
