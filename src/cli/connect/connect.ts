/** `turnbell connect` and `turnbell disconnect`: plan, show or write, remember. */
import fs from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { TurnbellError } from '../../contracts/errors.ts'
import type { ClientKind } from '../../contracts/ids.ts'
import { timestamp } from '../../ports/clock.ts'
import { homeRefused } from '../../ports/places.ts'
import type { Invocation } from '../cli.ts'
import { wantedByClaudeCode } from './claude-code.ts'
import { wantedByCodex } from './codex.ts'
import { removeEmpty, writeAll } from './files.ts'
import { wantedByOpencode } from './opencode.ts'
import { callersOf, placeOf, type Place } from './place.ts'
import { wantedByGit } from './git.ts'
import { heirOf, isExact, patchOf, planConnect, planDisconnect, type Plan } from './plan.ts'
import {
  connectionsIn,
  type ClientConnection,
  type Connectable,
  type Connection,
  type Connections,
  type RecordedFile,
} from './record.ts'
import type { Wanted } from './wanted.ts'
import { isUsualHome, removeWiredHome, setWiredHome } from '../../system/wired-home.ts'
import { systemPlaces } from '../../system/places.ts'
import { shellWord } from '../../system/shell-word.ts'

const WANTED: Record<ClientKind, (place: Place) => Wanted[]> = {
  'claude-code': wantedByClaudeCode,
  codex: wantedByCodex,
  opencode: wantedByOpencode,
}

export interface Outcome {
  plan: Plan
  /** As `diff -u` would show it. */
  patch: string
  /** Null where there is or was none. */
  connection: Connection | null
  /** What git sees of the files that are written. Empty where they are taken back. */
  git: GitView
}

export interface GitView {
  /** Written, and tracked: the change shows in `git status`. */
  tracked: string[]
  /** Holds paths of this machine, and is tracked or would be with the next `git add`. */
  with_paths: string[]
}

const NOTHING_SEEN: GitView = { tracked: [], with_paths: [] }

/** Who is connected, and where. */
export type Subject =
  | { client: ClientKind; persona: string; project: string }
  | { client: 'git'; project: string }

export type ConnectRequest = Subject & {
  /** Only look. */
  print: boolean
}

/** What connecting would do now; `old` is what it did before. */
export function planFor(invocation: Invocation, subject: Subject, old: Connection | null): Plan {
  const wanted =
    subject.client === 'git'
      ? wantedByGit(invocation, subject.project)
      : WANTED[subject.client](placeOf(invocation, subject.persona, subject.project))
  return planConnect(wanted, old)
}

/**
 * @throws `connection_taken` where the project's client acts for another persona already, and `project_unknown` for a
 * directory that holds a home.
 */
export async function connect(
  invocation: Invocation,
  { print, ...subject }: ConnectRequest,
): Promise<Outcome> {
  const { client, project } = subject
  if (systemPlaces(invocation.home).holdsHome(project)) throw homeRefused(project)
  const connections = connectionsIn(invocation.home)
  const work = () => {
    const old = connections.of(client, project)
    if (actsForAnother(old, subject.client === 'git' ? undefined : subject.persona)) {
      const first = `turnbell disconnect ${client} --project ${shellWord(project)}`
      throw isAnothers(old, `First \`${first}\`, then connect again.`)
    }
    const plan = planFor(invocation, subject, old)
    const git = gitViewOf(invocation, subject, plan)
    const connection: Connection = {
      version: 1,
      ...subject,
      connected_at: old?.connected_at ?? timestamp(invocation.cli.clock),
      files: plan.files.flatMap(({ recorded }) => recorded ?? []),
      starts: startedBy(invocation, subject, plan),
      trusted_hooks: old?.trusted_hooks ?? [],
    }
    if (!print && (plan.changed || old === null || !isDeepStrictEqual(old.starts, connection.starts))) {
      // First the record: what is written after it can always be found again.
      connections.keep(connection)
      write(plan, () => (old === null ? connections.forget(connection) : connections.keep(old)))
      leadHome(invocation, connection)
      removeEmpty(directoriesOf(old).filter((directory) => !directoriesOf(connection).includes(directory)))
    }
    return { plan, patch: patchOf(plan), connection, git }
  }
  return print ? work() : connections.locked(async () => work())
}

/** `beforehand` undoes what no file of the project holds, while it is still known what that is. */
export async function disconnect(
  invocation: Invocation,
  {
    client,
    persona,
    project,
    print,
  }: { client: Connectable; persona?: string | undefined; project: string; print: boolean },
  beforehand: (connection: Connection) => Promise<void>,
): Promise<Outcome> {
  const connections = connectionsIn(invocation.home)
  const work = async (): Promise<Outcome> => {
    const old = connections.of(client, project)
    if (old === null)
      return { plan: { files: [], changed: false }, patch: '', connection: null, git: NOTHING_SEEN }
    if (actsForAnother(old, persona)) {
      throw isAnothers(old, `Say --persona ${old.persona}, or leave it out, where that is to end.`)
    }
    // One that cannot be read keeps no other from being taken back.
    const others = connections
      .each()
      .flatMap((other) => (other instanceof TurnbellError ? [] : [other]))
      .filter((other) => other.client !== client || other.project !== project)
    let plan = planDisconnect(old, others)
    if (!print) {
      await beforehand(old)
      // That took its time, and may have changed what was planned from.
      plan = planDisconnect(old, others)
      write(plan)
      handOver(connections, old, others)
      removeEmpty(directoriesOf(old))
      const files = plan.files.flatMap(({ left, recorded }) => (left === undefined ? [] : (recorded ?? [])))
      if (files.length > 0) connections.keep({ ...old, files, trusted_hooks: [] })
      else connections.forget(old)
      if (!others.some((other) => other.project === project)) leaveHome(invocation, project)
    }
    return { plan, patch: patchOf(plan), connection: old, git: NOTHING_SEEN }
  }
  return print ? work() : connections.locked(work)
}

/** Where a file that was written does not name the home, and it is not the usual one, the user's settings do. */
function leadHome(invocation: Invocation, { files, project }: Connection): void {
  const { caller } = callersOf(invocation)
  const silent = files.some(({ file }) => caller(file).portable)
  if (silent && !isUsualHome(invocation.home, invocation.cli.env))
    setWiredHome(invocation.cli.env, project, invocation.home.root)
}

/** The connections of another home lead to that home. */
function leaveHome({ cli, home }: Invocation, project: string): void {
  const places = systemPlaces(home)
  removeWiredHome(cli.env, project, (named) => places.real(named) === places.real(home.root))
}

/** What has to be there for the files to lead anywhere. */
function startedBy({ cli, home }: Invocation, { client }: Subject, { files }: Plan): string[] {
  const { caller } = callersOf({ cli, home })
  const called = files.filter(({ recorded }) => recorded !== null && calls(recorded))
  const words = client === 'claude-code' ? [cli.node] : called.flatMap(({ file }) => caller(file).words)
  const folder = path.join(path.dirname(cli.program), 'adapters', client)
  return [...new Set([...words, ...(client === 'claude-code' || client === 'opencode' ? [folder] : [])])]
}

/** Instructions and agents call nothing. */
const calls = ({ written: { form } }: RecordedFile) => form !== 'markdown' && form !== 'whole'

function gitViewOf(invocation: Invocation, { project }: Subject, { files }: Plan): GitView {
  const { tracking } = callersOf(invocation)
  const { home, cli } = invocation
  const places = [
    home.root,
    path.dirname(cli.program),
    project,
    ...(path.isAbsolute(cli.node) ? [cli.node] : []),
  ]
  const view: GitView = { tracked: [], with_paths: [] }
  for (const { file, recorded } of files) {
    const state = recorded === null ? 'outside' : tracking(file)
    if (state === 'tracked') view.tracked.push(file)
    const written = JSON.stringify(recorded?.written ?? {})
    const names_places = places.some((place) => written.includes(JSON.stringify(place).slice(1, -1)))
    if (names_places && (state === 'tracked' || state === 'untracked')) view.with_paths.push(file)
  }
  return view
}

/** Remembers that Codex was told to trust these. */
export async function rememberTrust(
  invocation: Invocation,
  { client, project }: Connection,
  given: string[],
) {
  const connections = connectionsIn(invocation.home)
  await connections.locked(async () => {
    const connection = connections.of(client, project)
    if (connection === null) return
    const trusted_hooks = [...new Set([...connection.trusted_hooks, ...given])]
    connections.keep({ ...connection, trusted_hooks })
  })
}

/**
 * The directory as it really lies: two ways to the same one are one project. One that is gone can still be
 * disconnected.
 */
export function projectDirectory(
  cwd: string,
  named: string | undefined,
  { gone = false }: { gone?: boolean } = {},
): string {
  const directory = path.resolve(cwd, named ?? '.')
  if (gone && !fs.existsSync(directory)) return directory
  if (fs.statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true)
    return fs.realpathSync(directory)
  throw new TurnbellError('usage_invalid', {
    detail: `--project is no directory: ${directory}`,
    hint: 'Make it first, or correct the path.',
  })
}

/**
 * What another client still needs stays, and is that connection's to take out from now on. A record that only
 * found the lines there knows less than the one of the client that wrote them.
 */
function handOver(connections: Connections, { files }: Connection, others: readonly Connection[]): void {
  for (const recorded of files) {
    const heir = heirOf(recorded, others)
    if (heir === undefined || !isExact(recorded)) continue
    const now = connections.of(heir.client, heir.project) ?? heir
    const theirs = now.files.map((shared) => (shared.file === recorded.file ? recorded : shared))
    connections.keep({ ...now, files: theirs })
  }
}

function write(plan: Plan, undo: () => void = () => {}): void {
  try {
    writeAll(plan.files)
  } catch (error) {
    undo()
    throw error
  }
}

const directoriesOf = (connection: Connection | null) =>
  connection?.files.flatMap(({ directories }) => directories) ?? []

function actsForAnother(old: Connection | null, persona: string | undefined): old is ClientConnection {
  return old !== null && old.client !== 'git' && persona !== undefined && old.persona !== persona
}

function isAnothers({ client, persona, project }: ClientConnection, hint: string): TurnbellError {
  return new TurnbellError('connection_taken', {
    detail: `${client} in ${project} acts for ${persona}.`,
    hint,
  })
}
