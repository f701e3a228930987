/** Windows of agent clients that depend on this home's daemons. */
import { ClientKind, type SessionId } from '../contracts/ids.ts'
import type { DaemonStatus } from '../contracts/control.ts'
import { TurnbellError } from '../contracts/errors/errors.ts'
import { attachedUsers } from '../system/clients/attached-users.ts'
import type { Invocation } from './cli.ts'
import { facts } from './render.ts'

export interface OpenWindow {
  identity: string
  client: ClientKind
  /** Processes of `turnbell run`; empty for a window started without it. */
  pids: number[]
  /** Session that the daemon rings in a window started without `turnbell run`; null if unknown. */
  session_id: SessionId | null
}

/** Returns the open windows of these personas, in their order. */
export async function openWindows(
  invocation: Invocation,
  identities: readonly string[],
): Promise<OpenWindow[]> {
  return (await Promise.all(identities.map((identity) => windowsOf(invocation, identity)))).flat()
}

async function windowsOf(invocation: Invocation, identity: string): Promise<OpenWindow[]> {
  const { run_dir } = invocation.paths(identity)
  const started = ClientKind.options.flatMap((client) => {
    const pids = attachedUsers(run_dir, client).pids()
    return pids.length === 0 ? [] : [{ identity, client, pids, session_id: null }]
  })
  return started.length > 0 ? started : attachedWindow(invocation, identity)
}

/** Returns the window of a client started without `turnbell run`. A daemon knows at most one of them. */
async function attachedWindow(invocation: Invocation, identity: string): Promise<OpenWindow[]> {
  if (invocation.config().personas[identity]?.headless === true) return []
  try {
    const status = await invocation.control(identity).status()
    const client = ClientKind.safeParse(status.surface.kind)
    if (!client.success || !hasWindow(status)) return []
    return [{ identity, client: client.data, pids: [], session_id: status.surface.session_id }]
  } catch (error) {
    if (!(error instanceof TurnbellError)) throw error
    return []
  }
}

function hasWindow({ surface, delivery_reason }: DaemonStatus): boolean {
  if (!surface.attached || delivery_reason === 'no_window') return false
  // The server that a daemon keeps for Codex or opencode is attached without a session while no window is open.
  return surface.kind === 'claude-code' || surface.session_id !== null
}

const NAMES: Record<ClientKind, string> = {
  'claude-code': 'Claude Code',
  codex: 'Codex',
  opencode: 'opencode',
}

/** Text for a person, several lines. */
export function describeWindows(windows: readonly OpenWindow[]): string {
  const lines = windows.map((window): [string, string] => {
    const where = describePlace(window)
    return [window.identity, `${NAMES[window.client]}${where === null ? '' : ` (${where})`}`]
  })
  return `These windows stay open, but get no doorbells until their daemon runs again:\n${facts(lines)}`
}

function describePlace({ client, pids, session_id }: OpenWindow): string | null {
  if (pids.length > 0) return `process ${pids.join(', ')}`
  if (session_id === null) return null
  return `${client === 'codex' ? 'thread' : 'session'} ${session_id}`
}
