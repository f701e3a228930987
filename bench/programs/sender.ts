/**
 * The load generator, a separate process: agents that send over WebSocket in a closed loop, each with one signal in
 * flight. It does as little as possible: frames are concatenated from prepared text, and receipts recognised without
 * parsing.
 */
import WebSocket from 'ws'
import { PROTOCOL_VERSION } from '../../src/contracts/frames.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import { sendInLoops, type Bounds, type RunResult } from '../closed-loop.ts'
import { micros } from '../report/figures.ts'
import { PAYLOAD } from '../payload.ts'
import { serve } from '../remote.ts'

export interface Connect {
  /** http://host:port of the hub. */
  url: string
  senders: { identity: string; token: string }[]
  /** Personas that receive the signals in turn, so that no queue fills up. */
  to: string[]
}

export interface Run extends Bounds {
  group: number
}

export interface SentOnce {
  signal_id: string
  /** Time on the clock that all processes of the machine share. */
  sent_at_us: number
  receipt_us: number
}

export type SenderHandlers = {
  connect(params: Connect): Promise<{ group: number }>
  /** Sends to these personas from now on. */
  aim(params: { group: number; to: string[] }): Promise<void>
  run(params: Run): Promise<RunResult>
  sendOnce(params: { group: number }): Promise<SentOnce>
}

const PAYLOAD_TEXT = JSON.stringify(PAYLOAD)

class Sender {
  readonly #socket: WebSocket
  #to: readonly string[]
  #sent: number
  #answered: (text: string) => void = () => {}
  #broken: (error: Error) => void = () => {}

  constructor(url: string, sender: Connect['senders'][number], to: readonly string[], offset: number) {
    this.#to = to
    this.#sent = offset
    this.#socket = new WebSocket(`${url.replace(/^http/, 'ws')}/ws`, {
      perMessageDeflate: false,
      headers: { authorization: `Bearer ${sender.token}` },
    })
    this.#socket.on('message', (data: Buffer) => {
      const text = data.toString('utf8')
      if (text.startsWith('{"type":"result"')) this.#answered(text)
      else this.#other(text)
    })
    this.#socket.on('error', (error) => this.#broken(error))
    this.#socket.on('close', (code) => this.#broken(new Error(`the hub closed the link: ${code}`)))
  }

  /** Handles anything but a result, and results in which `type` is not first. */
  #other(text: string): void {
    const frame = JSON.parse(text) as { type: string }
    if (frame.type === 'result' || frame.type === 'welcome') this.#answered(text)
    if (frame.type === 'error') this.#broken(new Error(`the hub refused: ${text}`))
  }

  #answer(): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#answered = resolve
      this.#broken = reject
    })
  }

  async hello(identity: string): Promise<void> {
    await new Promise((resolve, reject) => {
      this.#socket.once('open', resolve)
      this.#broken = reject
    })
    const welcome = this.#answer()
    this.#socket.send(
      JSON.stringify({ type: 'hello', protocol: PROTOCOL_VERSION, kind: 'agent', identity, surface: 'mcp' }),
    )
    await welcome
    let seq = 0
    setInterval(() => {
      this.#socket.send(JSON.stringify({ type: 'heartbeat', seq: ++seq }))
    }, LIMITS.heartbeat_interval_ms)
  }

  aim(to: readonly string[]): void {
    this.#to = to
  }

  /** Resolves with the receipt's frame. */
  send(): Promise<string> {
    const id = ++this.#sent
    const to = this.#to[id % this.#to.length]
    const answer = this.#answer()
    this.#socket.send(
      `{"type":"call","id":${id},"facade":"signals","action":"send",` +
        `"params":{"to":"${to}","intent":"review.request","payload":${PAYLOAD_TEXT}}}`,
    )
    return answer
  }
}

const groups: Sender[][] = []

function group(number: number): Sender[] {
  const senders = groups[number]
  if (!senders) throw new Error(`no group ${number}`)
  return senders
}

function checkReceipt(text: string): void {
  if (!text.includes('"durable":true')) throw new Error(`this is no receipt: ${text}`)
}

serve({
  async connect({ url, senders, to }) {
    const connected = senders.map((sender, index) => {
      // Each starts at another position in the list, so that they do not all fill the same queue at once.
      return new Sender(url, sender, to, Math.floor((index * to.length) / senders.length))
    })
    await Promise.all(connected.map((sender, index) => sender.hello(senders[index]?.identity ?? '')))
    return { group: groups.push(connected) - 1 }
  },

  aim({ group: number, to }) {
    for (const sender of group(number)) sender.aim(to)
    return Promise.resolve()
  },

  run: ({ group: number, ...bounds }) => sendInLoops(group(number), checkReceipt, bounds),

  async sendOnce({ group: number }) {
    const [sender] = group(number)
    if (!sender) throw new Error('an empty group')
    const sent_at_us = micros()
    const text = await sender.send()
    const receipt_us = micros() - sent_at_us
    const signal_id = /"signal_id":"([^"]+)"/.exec(text)?.[1]
    if (signal_id === undefined) throw new Error(`this is no receipt: ${text}`)
    return { signal_id, sent_at_us, receipt_us }
  },
} satisfies SenderHandlers)
