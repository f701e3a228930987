/** What `connect` wrote, kept in the home so that `disconnect` takes back exactly that. */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import * as z from 'zod'
import { describeIssues, TurnbellError } from '../../contracts/errors.ts'
import { ClientKind, Identity } from '../../contracts/ids.ts'
import { ensurePrivateDirectory, prepareHome, type Home } from '../../system/home.ts'
import { Written } from './wanted.ts'
import { underBriefLock } from '../../system/brief-lock.ts'
import { replaceFile } from '../../system/replace-file.ts'

const RecordedFile = z.strictObject({
  file: z.string(),
  /** It was not there before. */
  created: z.boolean(),
  /** Directories that were made for it, the outermost first. */
  directories: z.array(z.string()),
  /** Of the text that was left: still the same means that nobody has touched it since. */
  sha256: z.string(),
  written: Written,
})
export type RecordedFile = z.infer<typeof RecordedFile>

const COMMON = {
  version: z.literal(1),
  project: z.string(),
  connected_at: z.iso.datetime(),
  files: z.array(RecordedFile),
  /** Programs and folders that the wiring leads to: absolute paths, and commands that PATH has to have. */
  starts: z.array(z.string()).default([]),
  /** Hooks that Codex was told to trust. */
  trusted_hooks: z.array(z.string()).default([]),
}
const ClientConnection = z.strictObject({ ...COMMON, client: ClientKind, persona: Identity })
export type ClientConnection = z.infer<typeof ClientConnection>

/** What can be connected: a client, which acts for a persona from then on, and git, which tells of commits. */
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
  /** Every record by itself: a `TurnbellError` in the place of one that cannot be read. */
  each(): (Connection | TurnbellError)[]
  keep(connection: Connection): void
  forget(connection: Connection): void
  /** Two commands at once follow one another. */
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
      replaceFile(fileOf(connection), `${JSON.stringify(connection, null, 2)}\n`, { flush: true })
    },
    forget: (connection) => fs.rmSync(fileOf(connection), { force: true }),
    async locked(work) {
      prepareHome(home)
      ensurePrivateDirectory(folder)
      return underBriefLock({ lock: `${folder}.lock`, busy: 'a client is being connected' }, work)
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
      detail: `${file} is no record of a connection: ${what}`,
      hint: 'Move it away; then take what turnbell wrote out of the client’s files by hand.',
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
