/** The home of a user on one machine: `TURNBELL_HOME` and the paths inside it. */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { makeDurableDirectory } from '../files/durable-directory.ts'
import { obstacleAt, moveAwayCommand } from '../files/in-place.ts'
import { shellWord } from '../process/shell-word.ts'
import { diskHint, isFullDisk } from '../files/system-error.ts'

export interface Home {
  root: string
  config: string
  operator_token: string
  signing_key: string
  hub_dir: string
  hub_lock: string
  hub_pid: string
  /** Port of the last hub, if it was neither configured nor the default. */
  hub_port: string
  hub_journal: string
  hub_snapshot: string
  hub_records: string
  hub_activity: string
  logs_dir: string
  hub_log: string
  dispatch_log: string
  spool: string
}

/**
 * Precedence: `flag`, `TURNBELL_HOME`, `~/.turnbell`. An empty variable counts as unset.
 *
 * @throws `usage_invalid` for an empty flag, which an unset variable in a script produces
 */
export function resolveHome(env: NodeJS.ProcessEnv, flag?: string): Home {
  if (flag === '') {
    throw new TurnbellError('usage_invalid', {
      detail: '--home is empty.',
      hint: 'Pass a directory, or omit --home.',
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
    hub_activity: path.join(hub_dir, 'activity.db'),
    logs_dir,
    hub_log: path.join(logs_dir, 'hub.log'),
    dispatch_log: path.join(logs_dir, 'dispatch.jsonl'),
    spool: path.join(root, 'spool'),
  }
}

/** Returns the directory of user settings. By the XDG specification an empty variable counts as unset. */
export function settingsDirectory({ XDG_CONFIG_HOME, HOME }: NodeJS.ProcessEnv): string {
  return XDG_CONFIG_HOME || path.join(userDirectory(HOME), '.config')
}

/** Returns the home directory of the user. An empty HOME would resolve to the working directory. */
export function userDirectory(named = os.homedir()): string {
  if (named !== '') return named
  try {
    return os.userInfo().homedir
  } catch (cause) {
    throw new TurnbellError('home_not_permitted', {
      detail: 'HOME is empty, and the system has no home directory for this user.',
      hint: 'Set HOME, or TURNBELL_HOME.',
      cause,
    })
  }
}

/** Creates a missing home; rejects one that others can read or that belongs to another user. */
export function prepareHome(home: Home): void {
  for (const directory of privateDirectories(home)) ensurePrivateDirectory(directory)
}

/** Whether the directory is a turnbell home: it contains `secrets` or `config.yaml`. */
export function isHome(home: Home): boolean {
  return fs.existsSync(path.dirname(home.operator_token)) || fs.existsSync(home.config)
}

/** Directories that must be closed to other users, the home itself first. */
export function privateDirectories(home: Home): string[] {
  return [home.root, path.dirname(home.operator_token), home.hub_dir, home.logs_dir, home.spool]
}

/** Creates or checks a directory: mode 0700 and owned by this user. Throws `home_not_permitted`. */
export function ensurePrivateDirectory(directory: string): void {
  try {
    makeDurableDirectory(directory, 0o700)
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    const obstacle = obstacleAt(directory)
    const is_disk = code === 'EROFS' || isFullDisk(code)
    throw new TurnbellError('home_not_permitted', {
      detail: `${directory} cannot be created: ${message}`,
      hint:
        obstacle !== null
          ? `Move away the entry in its place: \`${moveAwayCommand(obstacle)}\`.`
          : is_disk
            ? `${diskHint(code)}.`
            : 'Name a home that you can make: --home DIR or TURNBELL_HOME.',
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
  /** Directory of the two sockets; differs from run_dir only if the path would be too long. */
  socket_dir: string
  /** Socket of the persona's Codex app-server, if it has one. */
  codex_socket: string
  daemon_lock: string
  daemon_pid: string
  /** State that a daemon keeps across restarts. */
  daemon_state: string
  metrics_file: string
  log: string
}

/** Returns the paths of one persona. Both sockets move if the path of either would exceed the limit of the platform. */
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
  // The limit includes the terminating zero; Node.js would truncate a longer path silently.
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

/** Log of a client's own worker. Identities cannot contain `~`, so it cannot be a persona's log. */
export function workerLog(home: Home, identity: string, client: string): string {
  return path.join(home.logs_dir, `${identity}~${client}.log`)
}

/**
 * Creates the directory of both sockets. Outside the home its parent is in a world-writable directory, so it must
 * belong to this user and not be a link: its owner could replace the sockets.
 */
export function ensureSocketDirectory({ run_dir, socket_dir }: PersonaPaths): void {
  if (socket_dir !== run_dir) {
    const parent = path.dirname(socket_dir)
    if (fs.lstatSync(parent, { throwIfNoEntry: false })?.isSymbolicLink()) {
      throw new TurnbellError('home_not_permitted', {
        detail: `${parent} is a symbolic link`,
        hint: `Remove ${parent}; it is recreated.`,
      })
    }
    ensurePrivateDirectory(parent)
  }
  ensurePrivateDirectory(socket_dir)
}
