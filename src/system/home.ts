/** Where everything of one user on one machine lives: `TURNBELL_HOME`, and the paths inside it. */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { TurnbellError } from '../contracts/turnbell-error.ts'
import { LIMITS } from '../contracts/limits.ts'
import { makeDurableDirectory } from './durable-directory.ts'
import { shellWord } from './shell-word.ts'

export interface Home {
  root: string
  config: string
  operator_token: string
  signing_key: string
  hub_dir: string
  hub_lock: string
  hub_pid: string
  /** The port that the last hub listened on, where it was neither configured nor the usual one. */
  hub_port: string
  hub_journal: string
  hub_snapshot: string
  hub_records: string
  logs_dir: string
  hub_log: string
  dispatch_log: string
  spool: string
}

/**
 * `flag` wins over `TURNBELL_HOME`, which wins over `~/.turnbell`. A variable that is empty is none.
 *
 * @throws `usage_invalid` for an empty flag, as a script's unset variable makes it
 */
export function resolveHome(env: NodeJS.ProcessEnv, flag?: string): Home {
  if (flag === '') {
    throw new TurnbellError('usage_invalid', {
      detail: '--home is empty.',
      hint: 'Name a directory, or leave it out.',
    })
  }
  const root = path.resolve(flag ?? (env['TURNBELL_HOME'] || path.join(userDirectory(), '.turnbell')))
  const hub_dir = path.join(root, 'hub')
  const logs_dir = path.join(root, 'logs')
  return {
    root,
    config: path.join(root, 'config.yaml'),
    operator_token: path.join(root, 'secrets', 'operator.token'),
    signing_key: path.join(root, 'secrets', 'signing.key'),
    hub_dir,
    hub_lock: path.join(hub_dir, 'lock'),
    hub_pid: path.join(hub_dir, 'hub.pid'),
    hub_port: path.join(hub_dir, 'port'),
    hub_journal: path.join(hub_dir, 'journal'),
    hub_snapshot: path.join(hub_dir, 'snapshot'),
    hub_records: path.join(hub_dir, 'records'),
    logs_dir,
    hub_log: path.join(logs_dir, 'hub.log'),
    dispatch_log: path.join(logs_dir, 'dispatch.jsonl'),
    spool: path.join(root, 'spool'),
  }
}

/** Where programs keep what a person has set. An empty variable counts as unset, says the XDG specification. */
export function settingsDirectory({ XDG_CONFIG_HOME, HOME }: NodeJS.ProcessEnv): string {
  return XDG_CONFIG_HOME || path.join(userDirectory(HOME), '.config')
}

/** Of whoever runs this. A HOME that is empty is none: what is a person's must not lie wherever they stand. */
export function userDirectory(named = os.homedir()): string {
  if (named !== '') return named
  try {
    return os.userInfo().homedir
  } catch (cause) {
    throw new TurnbellError('home_not_permitted', {
      detail: 'HOME is empty, and the system knows of no directory of this user.',
      hint: 'Set HOME, or TURNBELL_HOME.',
      cause,
    })
  }
}

/** Makes the home where it is missing; refuses one that others can read or that is not ours. */
export function prepareHome(home: Home): void {
  for (const directory of privateDirectories(home)) ensurePrivateDirectory(directory)
}

/** Whether the directory is a turnbell home: it has `secrets` or `config.yaml`. */
export function isHome(home: Home): boolean {
  return fs.existsSync(path.dirname(home.operator_token)) || fs.existsSync(home.config)
}

/** What nobody else may reach into, the home itself first. */
export function privateDirectories(home: Home): string[] {
  return [home.root, path.dirname(home.operator_token), home.hub_dir, home.logs_dir, home.spool]
}

/** A directory of mode 0700 that belongs to us, or `home_not_permitted`. Makes it where it is missing. */
export function ensurePrivateDirectory(directory: string): void {
  try {
    makeDurableDirectory(directory, 0o700)
  } catch (cause) {
    throw new TurnbellError('home_not_permitted', {
      detail: `${directory} cannot be made: ${(cause as Error).message}`,
      hint: 'Name a home that you can make: --home DIR or TURNBELL_HOME.',
      cause,
    })
  }
  if (process.platform === 'win32') return
  const stat = fs.statSync(directory)
  if (!stat.isDirectory()) {
    throw new TurnbellError('home_not_permitted', { detail: `${directory} is not a directory` })
  }
  if (stat.uid !== process.getuid?.()) {
    throw new TurnbellError('home_not_permitted', {
      detail: `${directory} belongs to user ${stat.uid}, not to ${process.getuid?.()}`,
      hint: 'Use a home of your own: --home DIR or TURNBELL_HOME.',
    })
  }
  if ((stat.mode & 0o077) !== 0) {
    throw new TurnbellError('home_not_permitted', {
      detail: `${directory} has mode ${(stat.mode & 0o777).toString(8)}; others could reach into it`,
      hint: `chmod 700 ${shellWord(directory)}`,
    })
  }
}

export interface PersonaPaths {
  run_dir: string
  control_socket: string
  surface_socket: string
  /** Holds the two sockets; differs from run_dir only where the path would be too long. */
  socket_dir: string
  /** Where the persona's Codex app-server listens, if it has one. */
  codex_socket: string
  daemon_lock: string
  daemon_pid: string
  /** What the daemon remembers over its own restart. */
  daemon_state: string
  metrics_file: string
  log: string
}

/** Paths of one persona. Both sockets move together when either would be longer than the platform allows. */
export function personaPaths(
  home: Home,
  tenant_id: string,
  identity: string,
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): PersonaPaths {
  const run_dir = path.join(home.root, 'run', tenant_id, identity)
  const rest = {
    run_dir,
    daemon_lock: path.join(run_dir, 'daemon.lock'),
    daemon_pid: path.join(run_dir, 'daemon.pid'),
    daemon_state: path.join(run_dir, 'daemon.state.json'),
    metrics_file: path.join(run_dir, 'metrics.prom'),
    log: path.join(home.logs_dir, `${identity}.log`),
  }
  if (platform === 'win32') {
    const who = createHash('sha256').update(os.userInfo().username).digest('hex').slice(0, 12)
    const pipe = (name: string) => `\\\\.\\pipe\\turnbell-${tenant_id}-${identity}-${who}${name}`
    const sockets = { control_socket: pipe(''), surface_socket: pipe('-surface') }
    return { ...rest, ...sockets, socket_dir: run_dir, codex_socket: pipe('-codex') }
  }
  const at = (directory: string) => ({
    socket_dir: directory,
    control_socket: path.join(directory, 'control.sock'),
    surface_socket: path.join(directory, 'surface.sock'),
    codex_socket: path.join(directory, 'codex.sock'),
  })
  const usual = at(run_dir)
  // The bound counts the terminating zero; Node would cut a longer path silently.
  const longest = Buffer.byteLength(usual.surface_socket) + 1
  if (
    longest <= (platform === 'darwin' ? LIMITS.socket_path_bytes_max : LIMITS.socket_path_bytes_max_linux)
  ) {
    return { ...rest, ...usual }
  }
  const base = env['XDG_RUNTIME_DIR']
    ? path.join(env['XDG_RUNTIME_DIR'], 'turnbell')
    : path.join('/tmp', `turnbell-${process.getuid?.() ?? 0}`)
  const name = createHash('sha256')
    .update(`${home.root}\0${tenant_id}\0${identity}`)
    .digest('hex')
    .slice(0, 16)
  return { ...rest, ...at(path.join(base, name)) }
}

/** The log of a client's own worker. No identity holds a `~`, so it is no persona's log. */
export function workerLog(home: Home, identity: string, client: string): string {
  return path.join(home.logs_dir, `${identity}~${client}.log`)
}

/**
 * Makes the directory of both sockets. Outside the home its parent lies where everybody may write, so
 * that one must be ours too, and no link: who owns it could put other sockets in place of ours.
 */
export function ensureSocketDirectory({ run_dir, socket_dir }: PersonaPaths): void {
  if (socket_dir !== run_dir) {
    const parent = path.dirname(socket_dir)
    if (fs.lstatSync(parent, { throwIfNoEntry: false })?.isSymbolicLink()) {
      throw new TurnbellError('home_not_permitted', {
        detail: `${parent} is a link; it could lead anywhere`,
        hint: `Remove ${parent}; it is made anew.`,
      })
    }
    ensurePrivateDirectory(parent)
  }
  ensurePrivateDirectory(socket_dir)
}
