/** Starts and calls hubs, daemons and their clients for a benchmark. */
import fs from 'node:fs'
import path from 'node:path'
import { STEADY_HEAP } from './collect.ts'
import { personaPaths, resolveHome } from '../src/system/config/home.ts'
import { ROOT, startNode, temporaryDirectory, type Started } from './processes.ts'

const HERE = import.meta.dirname
export const TURNBELL = path.join(ROOT, 'dist/turnbell.cjs')
/** Size of a journal sample, for the mean line length. */
const SAMPLE_BYTES = 1_000_000

export interface Hub extends Omit<Started, 'match'> {
  url: string
  home: string
  journal: string
}

/** The product's hub, and variants with another disk or an endpoint for the measurement. */
const HUBS = {
  durable: [TURNBELL, 'hub'],
  'sync off': [path.join(HERE, 'hub-without-sync.js')],
  'blocking sync': [path.join(HERE, 'hub-with-blocking-sync.js')],
  'slow disk': [path.join(HERE, 'hub-on-slow-disk.js')],
  'with gc': [...STEADY_HEAP, path.join(HERE, 'hub-with-gc.js')],
} satisfies Record<string, string[]>
export type HubKind = keyof typeof HUBS

export async function startHub(kind: HubKind, home = temporaryDirectory()): Promise<Hub> {
  const { match, ...hub } = await startNode([...HUBS[kind], '--home', home, '--port', '0'], {
    ready: /^turnbell hub ready (http\S+)$/,
    ipc: kind === 'with gc',
  })
  return {
    ...hub,
    url: match?.[1] ?? '',
    home,
    journal: resolveHome({}, home).hub_journal,
  }
}

/** A server that answers a hello but is not a hub. */
export type BareServer = Pick<Hub, 'child' | 'pid' | 'stop' | 'url'>

/** `bare-hub.ts` also accepts sends. */
export const startBareHub = () => startBareServer(['bare-hub.js', temporaryDirectory()])

export async function startBareServer(
  [program = '', ...args]: readonly string[],
  node_options: readonly string[] = [],
): Promise<BareServer> {
  const { match, ...server } = await startNode([...node_options, path.join(HERE, program), ...args], {
    ready: /^bare ready (http\S+)$/,
    ipc: node_options.includes('--expose-gc'),
  })
  return { ...server, url: match?.[1] ?? '' }
}

export function daemonArgs(home: string, identity: string): string[] {
  return [TURNBELL, 'daemon', '--home', home, '--persona', identity, '--surface', 'mcp']
}

export function socketsOf(home: string, identity: string): { control: string; surface: string } {
  const paths = personaPaths(resolveHome({}, home), 'local', identity, process.env)
  return { control: paths.control_socket, surface: paths.surface_socket }
}

export function operatorToken({ home }: Pick<Hub, 'home'>): string {
  return fs.readFileSync(resolveHome({}, home).operator_token, 'utf8').trim()
}

/** Sends a POST as the operator of that hub's home. */
export async function post<T>(hub: Hub, route: string, body: unknown, token?: string): Promise<T> {
  const response = await fetch(`${hub.url}${route}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token ?? operatorToken(hub)}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${route} answered ${response.status}: ${text}`)
  return JSON.parse(text) as T
}

export async function agentToken(hub: Hub, identity: string, session_id?: string): Promise<string> {
  const request = { identity, kind: 'agent', ...(session_id === undefined ? {} : { session_id }) }
  return (await post<{ token: string }>(hub, '/auth/token', request)).token
}

export async function addPersonas(hub: Hub, identities: readonly string[]): Promise<void> {
  for (const identity of identities) await post(hub, '/api/personas/add', { identity, surface: 'mcp' })
}

/** Returns the mean length of the journal lines that contain a signal: the bytes that one durable send appends. */
export function meanSignalLine(journal: string): number {
  const lines = fs
    .readdirSync(journal)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) =>
      fs.readFileSync(path.join(journal, name)).toString('utf8', 0, SAMPLE_BYTES).split('\n').slice(0, -1),
    )
    .filter((line) => line.includes('"payload"'))
  if (lines.length === 0) throw new Error(`no signal in ${journal}`)
  return Math.round(lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0) / lines.length)
}
