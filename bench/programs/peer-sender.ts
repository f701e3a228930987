/**
 * The load generator for the other servers, as cheap as `sender.ts`: one connection for each sender, prepared bytes,
 * and responses recognised without parsing.
 */
import net from 'node:net'
import { once } from 'node:events'
import { sendInLoops, type RunResult } from '../closed-loop.ts'
import { PAYLOAD } from '../payload.ts'
import type { Run } from './sender.ts'
import { serve } from '../remote.ts'

export type Protocol = 'redis' | 'nats'

export interface PeerConnect {
  protocol: Protocol
  port: number
  senders: number
  /** Receivers of the messages, in turn. */
  to: string[]
}

export type PeerSenderHandlers = {
  connect(params: PeerConnect): Promise<{ group: number }>
  run(params: Run): Promise<RunResult>
  /** Sends one request in the protocol's format; returns the response. */
  ask(params: { protocol: Protocol; port: number; words: string[] }): Promise<string>
}

const PAYLOAD_TEXT = JSON.stringify(PAYLOAD)
/** The same contents as a signal of `sender.ts`. */
const bodyTo = (to: string) => `{"to":"${to}","intent":"review.request","payload":${PAYLOAD_TEXT}}`

/** One connection with one request in flight at a time. */
abstract class Peer {
  protected readonly socket: net.Socket
  private held = ''
  private answered: (answer: string) => void = () => {}
  private broken: (error: Error) => void = () => {}

  constructor(port: number) {
    this.socket = net.connect({ port, host: '127.0.0.1', noDelay: true })
    // All data is ASCII, so one character is one byte.
    this.socket.setEncoding('latin1')
    this.socket.on('data', (chunk: string) => this.read(chunk))
    this.socket.on('error', (error) => this.broken(error))
    this.socket.on('close', () => this.broken(new Error('the server closed the connection')))
  }

  private read(chunk: string): void {
    this.held = this.held === '' ? chunk : this.held + chunk
    for (;;) {
      const length = this.lengthOf(this.held)
      if (length === null || this.held.length < length) return
      const message = this.held.length === length ? this.held : this.held.slice(0, length)
      this.held = this.held.length === length ? '' : this.held.slice(length)
      if (this.isAnswer(message)) this.answered(message)
    }
  }

  /** Returns the length of the first message in the data; null if it is incomplete. */
  protected abstract lengthOf(held: string): number | null
  /** Returns false for messages that the server sends without a request. */
  protected abstract isAnswer(message: string): boolean
  abstract open(): Promise<void>
  abstract ask(words: readonly string[]): Promise<string>
  abstract send(): Promise<string>

  protected exchange(request: string): Promise<string> {
    return new Promise((resolve, reject) => {
      this.answered = resolve
      this.broken = reject
      this.socket.write(request, 'latin1')
    })
  }

  close(): void {
    this.socket.removeAllListeners('close').destroy()
  }
}

/** RESP2: a request is an array of bulk strings, a response one simple or bulk string. */
class RedisPeer extends Peer {
  private readonly requests: string[]
  private sent: number

  constructor(port: number, to: readonly string[], offset: number) {
    super(port)
    this.requests = to.map((one) => resp(['XADD', `inbox:${one}`, '*', 'signal', bodyTo(one)]))
    this.sent = offset
  }

  async open(): Promise<void> {
    await once(this.socket, 'connect')
  }

  protected lengthOf(held: string): number | null {
    const line = held.indexOf('\r\n')
    if (line === -1) return null
    if (held[0] === '*') return arrayLength(held)
    return held[0] === '$' ? line + 4 + Number(held.slice(1, line)) : line + 2
  }

  protected isAnswer(): boolean {
    return true
  }

  ask(words: readonly string[]): Promise<string> {
    return this.exchange(resp(words))
  }

  send(): Promise<string> {
    this.sent += 1
    return this.exchange(this.requests[this.sent % this.requests.length] ?? '')
  }
}

const resp = (words: readonly string[]) =>
  `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`

/** Returns the length of a flat array of bulk strings. */
function arrayLength(held: string): number | null {
  let at = held.indexOf('\r\n') + 2
  for (let left = Number(held.slice(1, at)); left > 0; left -= 1) {
    const line = held.indexOf('\r\n', at)
    if (line === -1) return null
    at = line + 4 + Number(held.slice(at + 1, line))
  }
  return at
}

/** The text protocol of NATS; JetStream confirms on the reply subject of a message. */
class NatsPeer extends Peer {
  private static inboxes = 0
  private readonly inbox = `_INBOX.${process.pid}.${(NatsPeer.inboxes += 1)}`
  private readonly requests: string[]
  private sent: number

  constructor(port: number, to: readonly string[], offset: number) {
    super(port)
    this.requests = to.map((one) => this.publish(`inbox.${one}`, bodyTo(one)))
    this.sent = offset
  }

  private publish(subject: string, body: string): string {
    return `PUB ${subject} ${this.inbox} ${body.length}\r\n${body}\r\n`
  }

  async open(): Promise<void> {
    await this.exchange(
      `CONNECT {"verbose":false,"pedantic":false,"protocol":1}\r\nSUB ${this.inbox} 1\r\nPING\r\n`,
    )
  }

  protected lengthOf(held: string): number | null {
    const line = held.indexOf('\r\n')
    if (line === -1) return null
    if (!held.startsWith('MSG ')) return line + 2
    return line + 4 + Number(held.slice(held.lastIndexOf(' ', line) + 1, line))
  }

  protected isAnswer(message: string): boolean {
    if (message.startsWith('PING')) this.socket.write('PONG\r\n')
    return !message.startsWith('PING') && !message.startsWith('INFO')
  }

  ask([subject = '', body = '']: readonly string[]): Promise<string> {
    return this.exchange(this.publish(subject, body))
  }

  send(): Promise<string> {
    this.sent += 1
    return this.exchange(this.requests[this.sent % this.requests.length] ?? '')
  }
}

const PEERS = { redis: RedisPeer, nats: NatsPeer }
const CONFIRMED = { redis: /^\$/, nats: /"seq":\s?\d/ }

const groups: { protocol: Protocol; peers: Peer[] }[] = []

serve({
  async connect({ protocol, port, senders, to }) {
    // Each starts at another position in the list, like the senders of `sender.ts`.
    const peers = Array.from(
      { length: senders },
      (_, index) => new PEERS[protocol](port, to, Math.floor((index * to.length) / senders)),
    )
    await Promise.all(peers.map((peer) => peer.open()))
    return { group: groups.push({ protocol, peers }) - 1 }
  },

  run({ group, ...bounds }) {
    const { protocol, peers } = groups[group] ?? { protocol: 'redis', peers: [] }
    const confirmed = CONFIRMED[protocol]
    const check = (answer: string) => {
      if (!confirmed.test(answer)) throw new Error(`this confirms nothing: ${answer}`)
    }
    return sendInLoops(peers, check, bounds)
  },

  async ask({ protocol, port, words }) {
    const peer = new PEERS[protocol](port, [], 0)
    try {
      await peer.open()
      return await peer.ask(words)
    } finally {
      peer.close()
    }
  },
} satisfies PeerSenderHandlers)
