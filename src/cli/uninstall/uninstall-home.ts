/** Removes everything of a home that is outside it, and the home itself with `purge`. Idempotent. */
import fs from 'node:fs'
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { isNamedPipe } from '../../system/ipc/unix-socket.ts'
import type { Invocation } from '../cli.ts'
import { personasOfHome } from '../personas/of-home.ts'
import { disconnectAll, type Disconnected } from '../connect/disconnect-all.ts'
import { endProcess, stopHome } from '../down/stop-home.ts'
import { managerOf, uninstall, unitOnDisk } from '../service/service.ts'
import { runningServers, type ClientServer } from './client-servers.ts'
import type { Service } from '../service/unit.ts'

export interface UninstalledHome {
  /** True if nothing remains that starts or calls turnbell. */
  ok: boolean
  disconnected: Disconnected['disconnected']
  /** Names of units at their manager. */
  services: string[]
  daemons: string[]
  hub_pid: number | null
  /** Servers of open windows that `purge` stopped, because nothing else could stop them without their pid files. */
  servers: ClientServer[]
  sockets: string[]
  /** The home was deleted. */
  purged: boolean
  /** Names in the home that are not turnbell's and keep it from being deleted. */
  left: string[]
  failed: { detail: string; hint: string }[]
}

export async function uninstallHome(
  invocation: Invocation,
  { purge }: { purge: boolean },
): Promise<UninstalledHome> {
  const { home } = invocation
  const personas = fs.existsSync(home.root)
    ? personasOfHome(invocation)
    : Object.keys(invocation.config().personas)
  const wiring = fs.existsSync(home.root)
    ? await disconnectAll(invocation)
    : { ok: true, disconnected: [], failed: [] }
  const failed: UninstalledHome['failed'] = [...wiring.failed]
  const services = await uninstallServices(invocation, personas, failed)
  const stopped = await stopHome(invocation, { keep_hub: false })
  failed.push(
    ...stopped.failed.map(({ name, detail }) => ({
      detail: `${name}: ${detail}`,
      hint: 'Stop it, then try again.',
    })),
  )
  if (stopped.stand_in_pid !== null) {
    failed.push({
      detail: `Process ${stopped.stand_in_pid}, part of an agent's client, contains the hub.`,
      hint: 'Close that client, then try again.',
    })
  }
  const servers = purge && failed.length === 0 ? await endServers(invocation, personas, failed) : []
  const sockets = failed.length === 0 ? removeSockets(invocation, personas) : []
  const left = purge && failed.length === 0 ? removeHome(home.root) : []
  return {
    ok: failed.length === 0 && left.length === 0,
    disconnected: wiring.disconnected,
    services,
    servers,
    sockets,
    left,
    failed,
    daemons: stopped.daemons.map(({ identity }) => identity),
    hub_pid: stopped.hub?.pid ?? null,
    purged: purge && !fs.existsSync(home.root),
  }
}

async function uninstallServices(
  invocation: Invocation,
  personas: readonly string[],
  failed: UninstalledHome['failed'],
): Promise<string[]> {
  if (!['linux', 'darwin', 'win32'].includes(invocation.cli.platform)) return []
  const manager = managerOf(invocation)
  // Daemons first, so that they can close their connection to the hub.
  const all: Service[] = [
    ...personas.map((identity): Service => ({ kind: 'persona', identity })),
    { kind: 'hub' },
  ]
  const names: string[] = []
  for (const service of all) {
    const unit = manager.unit(service)
    if (!manager.isEnabled(unit) || unitOnDisk(manager, unit)?.includes(unit.home) !== true) continue
    try {
      names.push((await uninstall(invocation, manager, unit)).unit)
    } catch (error) {
      if (!(error instanceof TurnbellError)) throw error
      failed.push({ detail: error.detail, hint: error.hint })
    }
  }
  return names
}

async function endServers(
  invocation: Invocation,
  personas: readonly string[],
  failed: UninstalledHome['failed'],
): Promise<ClientServer[]> {
  const ended: ClientServer[] = []
  for (const server of runningServers(invocation, personas)) {
    try {
      await endProcess(invocation.cli, server.pid, 'Stop it, then try again.')
      ended.push(server)
    } catch (error) {
      if (!(error instanceof TurnbellError)) throw error
      failed.push({ detail: error.detail, hint: error.hint })
    }
  }
  return ended
}

/** Called only after every daemon of the home has stopped. */
function removeSockets(invocation: Invocation, personas: readonly string[]): string[] {
  return personas.flatMap((identity) => {
    const { control_socket, surface_socket, codex_socket, socket_dir, run_dir } = invocation.paths(identity)
    const existing = [control_socket, surface_socket, codex_socket].filter(
      (socket) => !isNamedPipe(socket) && fs.existsSync(socket),
    )
    for (const socket of existing) fs.rmSync(socket, { force: true })
    // The folder is outside the home if the path of the home is too long for a socket.
    if (socket_dir !== run_dir && isEmpty(socket_dir)) fs.rmdirSync(socket_dir)
    return existing
  })
}

const isEmpty = (directory: string) => fs.existsSync(directory) && fs.readdirSync(directory).length === 0

/** Entries that turnbell creates in a home. Other files are kept, because --home may be wrong. */
const OWN: readonly string[] = [
  'config.yaml',
  'secrets',
  'hub',
  'logs',
  'run',
  'spool',
  'services',
  'backups',
  'connections',
  'connections.lock',
]

/** Returns the names that remain. */
function removeHome(root: string): string[] {
  if (!fs.existsSync(root)) return []
  const names = fs.readdirSync(root)
  // A directory without secrets or a configuration was never a home.
  if (!names.includes('secrets') && !names.includes('config.yaml'))
    return names.filter((name) => !OWN.includes(name))
  for (const name of names.filter((one) => OWN.includes(one)))
    fs.rmSync(path.join(root, name), { recursive: true, force: true })
  const left = fs.readdirSync(root)
  if (left.length === 0) fs.rmdirSync(root)
  return left
}
