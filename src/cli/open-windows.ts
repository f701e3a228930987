/** Windows of agent clients that depend on this home's daemons. */
import { ClientKind } from '../contracts/ids.ts'
import { TurnbellError } from '../contracts/errors.ts'
import { joined } from '../system/joined.ts'
import type { Invocation } from './cli.ts'
import { facts } from './render.ts'

export interface OpenWindow {
  identity: string
  client: ClientKind
  /** Processes of `turnbell run`; empty for a window that was started without it. */
  pids: number[]
}

/** Those of these personas, in their order. */
export async function openWindows(
  invocation: Invocation,
  identities: readonly string[],
): Promise<OpenWindow[]> {
  return (await Promise.all(identities.map((identity) => windowsOf(invocation, identity)))).flat()
}

async function windowsOf(invocation: Invocation, identity: string): Promise<OpenWindow[]> {
  const { run_dir } = invocation.paths(identity)
  const found = ClientKind.options.flatMap((client) => {
    const pids = joined(run_dir, client).pids()
    return pids.length === 0 ? [] : [{ identity, client, pids }]
  })
  return found.length > 0 ? found : attachedWindow(invocation, identity)
}

/** A Claude Code that was started without `turnbell run`, as far as its daemon knows it. */
async function attachedWindow(invocation: Invocation, identity: string): Promise<OpenWindow[]> {
  if (invocation.config().personas[identity]?.headless === true) return []
  try {
    const { surface } = await invocation.control(identity).status()
    const { kind: client, attached } = surface
    return attached && client === 'claude-code' ? [{ identity, client, pids: [] }] : []
  } catch (error) {
    if (!(error instanceof TurnbellError)) throw error
    return []
  }
}

const NAMES: Record<ClientKind, string> = {
  'claude-code': 'Claude Code',
  codex: 'Codex',
  opencode: 'opencode',
}

/** Text for a person, several lines. */
export function describeWindows(windows: readonly OpenWindow[]): string {
  const lines = windows.map(({ identity, client, pids }): [string, string] => {
    const where = pids.length === 0 ? '' : ` (process ${pids.join(', ')})`
    return [identity, `${NAMES[client]}${where}`]
  })
  return `These windows stay open, but get no doorbells until their daemon runs again:\n${facts(lines)}`
}
