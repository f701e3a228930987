/** `turnbell connect` and `turnbell disconnect`: makes a plan, then prints it, or applies and records it. */
import fs from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { ClientKind } from '../../contracts/ids.ts'
import { timestamp } from '../../ports/clock.ts'
import { homeIsNoProject } from '../../ports/path-inspector.ts'
import type { Invocation } from '../cli.ts'
import { filesForClaudeCode } from './claude-code.ts'
import { filesForCodex } from './codex.ts'
import { removeEmpty, writeAll } from './files.ts'
import { filesForOpencode } from './opencode.ts'
import { callersOf, targetOf, type ConnectionTarget } from './connection-target.ts'
import { filesForGit } from './git.ts'
import { heirOf, isExact, patchOf, planConnect, planDisconnect, type Plan } from './plan.ts'
import {
  connectionsIn,
  type ClientConnection,
  type Connectable,
  type Connection,
  type Connections,
  type RecordedFile,
} from './connection-record.ts'
import type { DesiredFile } from './desired-config.ts'
import { isDefaultHome, removeWiredHome, setWiredHome } from '../../system/clients/wired-home.ts'
import { systemPathInspector } from '../../system/files/path-inspector.ts'
import { shellWord } from '../../system/process/shell-word.ts'

const DESIRED: Record<ClientKind, (place: ConnectionTarget) => DesiredFile[]> = {
  'claude-code': filesForClaudeCode,
  codex: filesForCodex,
  opencode: filesForOpencode,
}

export interface Outcome {
  plan: Plan
  /** The changes in the format of `diff -u`. */
  patch: string
  /** Null if there is or was no connection. */
  connection: Connection | null
  /** State of the written files in git. Empty after a disconnect. */
  git: GitView
}

export interface GitView {
  /** Written files that git tracks. */
  tracked: string[]
  /** Files with paths of this machine that git tracks, or would track after `git add`. */
  with_paths: string[]
}

const NO_GIT_VIEW: GitView = { tracked: [], with_paths: [] }

/** The client, its persona and its project. */
export type Subject =
  | { client: ClientKind; persona: string; project: string }
  | { client: 'git'; project: string }

export type ConnectRequest = Subject & {
  /** Changes nothing. */
  print: boolean
}

/** Plans a connect. `old` is the record of the previous one. */
export function planFor(invocation: Invocation, subject: Subject, old: Connection | null): Plan {
  const desired =
    subject.client === 'git'
      ? filesForGit(invocation, subject.project)
      : DESIRED[subject.client](targetOf(invocation, subject.persona, subject.project))
  return planConnect(desired, old)
}

/**
 * Throws `connection_taken` if the project's client already acts for another persona, and `project_unknown` for a
 * directory that contains a home.
 */
export async function connect(
  invocation: Invocation,
  { print, ...subject }: ConnectRequest,
): Promise<Outcome> {
  const { client, project } = subject
  if (systemPathInspector(invocation.home).hasHome(project)) throw homeIsNoProject(project)
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
      // The record is written first, so that `disconnect` finds everything that is written after it.
      connections.keep(connection)
      write(plan, () => (old === null ? connections.forget(connection) : connections.keep(old)))
      recordHome(invocation, connection)
      removeEmpty(directoriesOf(old).filter((directory) => !directoriesOf(connection).includes(directory)))
    }
    return { plan, patch: patchOf(plan), connection, git }
  }
  return print ? work() : connections.locked(async () => work())
}

/** `beforehand` removes what is not in a file of the project, while the record still exists. */
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
      return { plan: { files: [], changed: false }, patch: '', connection: null, git: NO_GIT_VIEW }
    if (actsForAnother(old, persona)) {
      throw isAnothers(old, `To disconnect it, use --persona ${old.persona}, or omit --persona.`)
    }
    // An unreadable record does not stop the others from being disconnected.
    const others = connections
      .each()
      .flatMap((other) => (other instanceof TurnbellError ? [] : [other]))
      .filter((other) => other.client !== client || other.project !== project)
    let plan = planDisconnect(old, others)
    if (!print) {
      await beforehand(old)
      // The files may have changed in the meantime.
      plan = planDisconnect(old, others)
      write(plan)
      transferShared(connections, old, others)
      removeEmpty(directoriesOf(old))
      const files = plan.files.flatMap(({ left, recorded }) => (left === undefined ? [] : (recorded ?? [])))
      if (files.length > 0) connections.keep({ ...old, files, trusted_hooks: [] })
      else connections.forget(old)
      if (!others.some((other) => other.project === project)) forgetHome(invocation, project)
    }
    return { plan, patch: patchOf(plan), connection: old, git: NO_GIT_VIEW }
  }
  return print ? work() : connections.locked(work)
}

/** Records the home of the project in the user's settings, if a written file does not name it and it is not the default. */
function recordHome(invocation: Invocation, { files, project }: Connection): void {
  const { caller } = callersOf(invocation)
  const has_portable = files.some(({ file }) => caller(file).portable)
  if (has_portable && !isDefaultHome(invocation.home, invocation.cli.env))
    setWiredHome(invocation.cli.env, project, invocation.home.root)
}

/** Removes the recorded home of the project, unless it is another home. */
function forgetHome({ cli, home }: Invocation, project: string): void {
  const places = systemPathInspector(home)
  removeWiredHome(cli.env, project, (named) => places.realPath(named) === places.realPath(home.root))
}

/** Returns the programs and folders that the entries refer to. */
function startedBy({ cli, home }: Invocation, { client }: Subject, { files }: Plan): string[] {
  const { caller } = callersOf({ cli, home })
  const calling = files.filter(({ recorded }) => recorded !== null && calls(recorded))
  const words = client === 'claude-code' ? [cli.node] : calling.flatMap(({ file }) => caller(file).words)
  const folder = path.join(path.dirname(cli.program), 'adapters', client)
  return [...new Set([...words, ...(client === 'claude-code' || client === 'opencode' ? [folder] : [])])]
}

/** Returns false for instructions and agent definitions, which start no program. */
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

/** Records the hooks that were marked as trusted in Codex. */
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

/** Returns the real path of the directory. With `gone`, also returns a path that does not exist. */
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
    detail: `--project is not a directory: ${directory}`,
    hint: 'Create the directory, or correct the path.',
  })
}

/**
 * Transfers the record of shared lines to another connection that still needs them. Only the record of the connection
 * that wrote the lines can restore the file byte for byte.
 */
function transferShared(
  connections: Connections,
  { files }: Connection,
  others: readonly Connection[],
): void {
  for (const recorded of files) {
    const heir = heirOf(recorded, others)
    if (heir === undefined || !isExact(recorded)) continue
    const current = connections.of(heir.client, heir.project) ?? heir
    const files_of_heir = current.files.map((shared) => (shared.file === recorded.file ? recorded : shared))
    connections.keep({ ...current, files: files_of_heir })
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
