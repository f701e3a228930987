/** Which hooks can be told without the command line, and how. Nothing here may need zod; see `main.ts`. */
import fs from 'node:fs'
import type net from 'node:net'
import { parseArgs } from 'node:util'
import type { Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Home } from '../../system/home.ts'
import { programAlive } from '../../system/program.ts'
import { readOperatorToken } from '../../system/secrets.ts'
import { hookPersona } from './hook-call.ts'

export interface QuickHook {
  event: string
  client: string
  /** Whose client it is; null for one that acts for nobody, of which there is nothing to tell. */
  identity: string | null
  home: string | undefined
}

/** What has more to it than telling the hub. */
const UNUSUAL_EVENTS = ['statusline', 'post-commit', 'SubagentStop', 'PreCompact']
const UNUSUAL_CLIENTS = ['codex']

/** Null for what only the long way can tell, or refuse. */
export function quickHook(argv: readonly string[], env: NodeJS.ProcessEnv): QuickHook | null {
  if (env['TURNBELL_HUB_URL']) return null
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        ...{ persona: { type: 'string' }, client: { type: 'string' }, home: { type: 'string' } },
        'own-server': { type: 'boolean' },
      },
    })
    const [event, ...more] = positionals
    const { client = 'claude-code', persona, home } = values
    if (event === undefined || more.length > 0 || home === '') return null
    // The shim watches the persona's own server itself.
    const is_usual = values['own-server'] === true || !UNUSUAL_CLIENTS.includes(client)
    if (UNUSUAL_EVENTS.includes(event) || !is_usual) return null
    return { event, client, identity: hookPersona(persona, env), home }
  } catch {
    return null
  }
}

/** Whether the hub is the one that runs in this home, if any does, and is called without TLS. */
export function hasUsualHub({ config, hub_pid }: Home): boolean {
  return !mayHold(config, 'url') && !mayHold(hub_pid, 'https:')
}

function mayHold(file: string, word: string): boolean {
  try {
    return fs.readFileSync(file, 'utf8').includes(word)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
}

/**
 * As the long way asks it: first for a token of the persona's, then with that. Rejects wherever that fails. `telling`
 * is called before the event itself is on its way, and keeps it from going by a throw.
 */
export async function tellHub(
  { event, client, identity }: QuickHook,
  home: Home,
  body: object,
  telling: () => void = () => {},
): Promise<Json> {
  const { hostname, port, host } = new URL(hubUrl(home))
  // Loaded only where somebody is to be called, and not by an import, which would have node start its loader of modules.
  const { connect } = process.getBuiltinModule('node:net')
  const socket = connect({
    port: Number(port || 80),
    host: hostname.replace(/^\[|\]$/g, ''),
    noDelay: true,
  })
  const ask = createAsk(socket, host)
  try {
    const { token } = (await ask('/auth/token', readOperatorToken(home), { identity, kind: 'agent' })) as {
      token: string
    }
    telling()
    return (await ask(`/hook/${encodeURIComponent(client)}`, token, {
      ...body,
      hook_event_name: event,
    })) as Json
  } finally {
    socket.destroy()
  }
}

function hubUrl({ hub_pid }: Home): string {
  const { pid, url, started } = JSON.parse(fs.readFileSync(hub_pid, 'utf8')) as Record<string, unknown>
  const since = typeof started === 'string' ? started : null
  const there = typeof pid === 'number' && Number.isInteger(pid) && pid > 0 && programAlive(pid, since)
  if (!there || typeof url !== 'string') throw new Error('no hub runs in this home')
  return url
}

/** The connection ended before an answer: what was asked for last may have been heard. */
export class Unanswered extends Error {}

type Ask = (path: string, token: string | null, body: object) => Promise<unknown>

/**
 * HTTP/1.1 over a socket, one request at a time; loading `node:http` would take longer than both requests. Only an
 * answer as the hub gives it is understood, 200 with a length: for any other the line in the spool is there.
 */
function createAsk(socket: net.Socket, host: string): Ask {
  let held: Buffer = Buffer.alloc(0)
  let onData = () => {}
  let onEnd = (_error: Error) => {}
  socket.on('data', (chunk: Buffer) => {
    held = Buffer.concat([held, chunk])
    onData()
  })
  socket.on('error', (cause) => onEnd(new Unanswered('the connection broke', { cause })))
  socket.on('close', () => onEnd(new Unanswered('the hub closed the connection')))

  return (path, token, body) =>
    new Promise((resolve, reject) => {
      onEnd = reject
      onData = () => {
        try {
          const answer = takeAnswer(held)
          if (answer === null) return
          held = held.subarray(answer.bytes)
          resolve(JSON.parse(answer.text))
        } catch (error) {
          reject(new Error('no answer of a hub', { cause: error }))
        }
      }
      const bytes = Buffer.from(JSON.stringify(body))
      const head = [
        `POST ${path} HTTP/1.1`,
        `host: ${host}`,
        'accept: application/json',
        'content-type: application/json',
        `content-length: ${bytes.length}`,
        ...(token === null ? [] : [`authorization: Bearer ${token}`]),
      ]
      socket.write(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), bytes]))
    })
}

/** Null while it is not complete. Throws for one that is none of a hub's. */
function takeAnswer(held: Buffer): { bytes: number; text: string } | null {
  if (held.length > LIMITS.body_bytes_max) throw new Error('an answer without an end')
  const head_end = held.indexOf('\r\n\r\n')
  if (head_end === -1) return null
  const head = held.toString('latin1', 0, head_end)
  const length = /^content-length: *(\d+)\r?$/im.exec(head)?.[1]
  if (!head.startsWith('HTTP/1.1 200 ') || length === undefined) throw new Error('no answer to build on')
  const bytes = head_end + 4 + Number(length)
  return held.length < bytes ? null : { bytes, text: held.toString('utf8', head_end + 4, bytes) }
}
