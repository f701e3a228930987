/** A fake hub without a network: it responds as the input defines, and otherwise like a real hub. */
import http from 'node:http'
import type { Duplex } from 'node:stream'
import { wireJson } from '../../../src/contracts/validation/json.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { FakeClock } from '../../support/fakes/fake-clock.ts'
import { piecesOf, scriptIn, type Answer, type Answers } from './false-answers.ts'
import { IdleTime } from '../idle-time.ts'
import type { Opened } from '../target.ts'
import { tick, wire } from './wire.ts'

export const FALSE_HUB_URL = 'http://hub.example'

/** Values of the status: no response arrives, the request is cut off, no process listens. */
const SILENT = 'silent'
const GONE = 'gone'
const REFUSED = 'refused'
/** Name for the connection itself, scripted like a request. */
const DIAL = 'dial'
export const FALSE_HUB_WORDS = [SILENT, GONE, REFUSED, DIAL] as const

/**
 * Redirects all connections of Node's HTTP client to `dial` until the returned function is called, because neither the
 * bridge nor a daemon accepts connections from outside.
 */
function diverted(dial: () => Duplex): () => void {
  const agents: { createConnection: unknown } = http.Agent.prototype
  const before = agents.createConnection
  agents.createConnection = dial
  return () => void (agents.createConnection = before)
}

/** A world whose inputs are scripts of fake hubs. `play` selects the hub that receives connections from then on. */
export function behindFalseHubs(
  seeds: readonly string[],
  play: (script: ReturnType<typeof scriptIn>, meet: (hub: FalseHub) => void) => Promise<string>,
): Opened {
  let hub: FalseHub
  const restore = diverted(() => hub.dial())
  return {
    seeds,
    attempt: (input) => play(scriptIn(input), (met) => (hub = met)),
    close: restore,
  }
}

export interface Asked {
  /** The tool with its action (`confirm` if it also confirms a drain), otherwise the MCP method, otherwise the path. */
  name: string
  /** Arguments of a tool call. */
  args: Record<string, unknown>
}

export class FalseHub extends IdleTime {
  readonly answers: Answers
  /** All values that it has sent, completely or partially. */
  readonly said: unknown[] = []
  private readonly otherwise: (asked: Asked) => Answer
  private readonly onAsked: (asked: Asked) => void

  /** `otherwise` answers requests without a scripted response. */
  constructor(
    answers: Answers,
    otherwise: (asked: Asked) => Answer,
    onAsked: (asked: Asked) => void = () => {},
  ) {
    super()
    this.answers = answers
    this.otherwise = otherwise
    this.onAsked = onAsked
  }

  dial(): Duplex {
    this.moved()
    const { ours, theirs } = wire()
    // Like a network socket: it closes when the other end has closed.
    Object.assign(theirs, { allowHalfOpen: false, setTimeout: timeoutOf(theirs, this.clock) })
    const answer = this.answers.next(DIAL)
    if (answer === null) this.listen(ours)
    else {
      Object.assign(theirs, { connecting: true })
      if (answer.status === REFUSED) setImmediate(() => theirs.destroy(new Error('nobody listens')))
    }
    return theirs
  }

  /** Reads requests one after another, by their content length. */
  private listen(stream: Duplex): void {
    let text = ''
    stream.on('data', (chunk: Buffer) => {
      this.moved()
      text += chunk.toString('latin1')
      const [, head = '', length = '', body = ''] =
        /^([^]*?\ncontent-length: *(\d+)[^]*?)\r\n\r\n([^]*)$/i.exec(text) ?? []
      if (head === '' || body.length < Number(length)) return
      text = ''
      void this.answer(stream, askedIn(head, body))
    })
  }

  private async answer(stream: Duplex, asked: Asked): Promise<void> {
    this.onAsked(asked)
    const answer = this.answers.next(asked.name) ?? this.otherwise(asked)
    if (answer.status === SILENT) return
    if (answer.status === GONE) return void stream.destroy()
    this.said.push(...valuesIn(answer))
    const chunked = isChunked(answer)
    stream.write(headOf(answer))
    for (const piece of piecesOf(answer)) {
      stream.write(chunked ? chunkOf(piece) : piece)
      await tick()
      this.moved()
    }
    if (answer.until_bytes !== Infinity) return void stream.destroy()
    if (chunked) stream.write(chunkOf(Buffer.alloc(0)))
    if (has(answer, 'connection: *close')) stream.end()
  }
}

/** A socket's `setTimeout` on the fake clock. */
function timeoutOf(socket: Duplex, clock: FakeClock): (timeout_ms: number) => Duplex {
  return (timeout_ms) => {
    if (timeout_ms > 0) clock.after(timeout_ms, () => socket.emit('timeout'))
    return socket
  }
}

interface Told {
  method?: string
  params?: { name?: string; arguments?: Record<string, unknown> }
}

function askedIn(head: string, body: string): Asked {
  const { method, params } = JSON.parse(body) as Told
  const path = /^POST (\S+)/.exec(head)?.[1] ?? ''
  if (method !== 'tools/call') return { name: method ?? path, args: {} }
  const args = params?.arguments ?? {}
  if ('confirm' in args) return { name: 'confirm', args }
  const action = args['action']
  return { name: `${params?.name}${typeof action === 'string' ? `_${action}` : ''}`, args }
}

/** Whether a client treats it as chunked: declared once, and not combined with another length. */
function isChunked({ fields }: Answer): boolean {
  const told = fields.filter((field) => /^transfer-encoding/i.test(field))
  return told.length === 1 && /^transfer-encoding: *chunked$/i.test(told.join())
}

function has({ fields }: Answer, field: string): boolean {
  return fields.some((one) => new RegExp(`^${field}`, 'i').test(one))
}

/** Adds a content length to a response without its own framing. */
function headOf(answer: Answer): string {
  const { status, fields, body } = answer
  const framed = ['content-length', 'transfer-encoding', 'connection: *close'].some((how) => has(answer, how))
  return [
    `HTTP/1.1 ${status} X`,
    ...fields,
    ...(framed ? [] : [`content-length: ${body.length}`]),
    '\r\n',
  ].join('\r\n')
}

function chunkOf(piece: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')])
}

/** Returns the values that a reader may parse: the body, or the data of each event. */
function valuesIn({ fields, body }: Answer): unknown[] {
  const length = /^content-length: *(\d+)/im.exec(fields.join('\n'))?.[1]
  const text = body.subarray(0, length === undefined ? body.length : Number(length)).toString()
  const whole = valueIn(text)
  if (whole !== null) return [whole]
  const events = text.split(/\r?\n\r?\n/).map((event) =>
    event
      .split(/\r?\n/)
      .flatMap((line) => (line.startsWith('data:') ? [line.slice('data:'.length)] : []))
      .join('\n'),
  )
  return events.map(valueIn).filter((value) => value !== null)
}

/** Returns null for a value that a client rejects. */
function valueIn(text: string): unknown {
  try {
    return wireJson(text, LIMITS.answer_depth_max)
  } catch {
    return null
  }
}
