/**
 * The load generator, a process of its own: agents that send over WebSocket in a closed loop, each
 * its next signal when the receipt of the last one is there. It does as little as it can besides: frames are
 * concatenated from prepared text, receipts recognised without being parsed.
 */
import WebSocket from 'ws'
import { PROTOCOL_VERSION } from '../src/contracts/frames.ts'
import { LIMITS } from '../src/contracts/limits.ts'
import { median, micros, percentile } from './figures.ts'
import { PAYLOAD } from './payload.ts'
import { serve } from './remote.ts'

export interface Connect {
  /** http://host:port of the hub. */
  url: string
  senders: { identity: string; token: string }[]
  /** Personas that the signals go to, in turn, so that no queue fills up. */
  to: string[]
}

export interface Run {
  group: number
  /** Ends after this long, or after so many sends of all its senders together. */
  ms: number
  sends?: number
}

export interface RunResult {
  elapsed_us: number
  sends_per_s: number
  p50_us: number
  p99_us: number
  /** How busy this process was, in percent of one core. */
  cpu_percent: number
}

export interface SentOnce {
  signal_id: string
  /** On the clock that all processes of the machine share. */
  sent_at_us: number
  receipt_us: number
}

export type SenderHandlers = {
  connect(params: Connect): Promise<{ group: number }>
  run(params: Run): Promise<RunResult>
  sendOnce(params: { group: number }): Promise<SentOnce>
}

const PAYLOAD_TEXT = JSON.stringify(PAYLOAD)

class Sender {
  readonly #socket: WebSocket
  readonly #to: readonly string[]
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

  /** Anything but a result, and results that spell `type` later than first. */
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

  /** Resolves with the receipt's frame once it has come. */
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

async function loop(sender: Sender, end: number, sends: number, latencies: number[]): Promise<void> {
  for (let started = micros(); started < end && latencies.length < sends;) {
    const text = await sender.send()
    const now = micros()
    latencies.push(now - started)
    if (!text.includes('"durable":true')) throw new Error(`this is no receipt: ${text}`)
    started = now
  }
}

serve({
  async connect({ url, senders, to }) {
    const connected = senders.map((sender, index) => {
      // Each starts elsewhere in the list, so that they do not all fill the same queue at once.
      return new Sender(url, sender, to, Math.floor((index * to.length) / senders.length))
    })
    await Promise.all(connected.map((sender, index) => sender.hello(senders[index]?.identity ?? '')))
    return { group: groups.push(connected) - 1 }
  },

  async run({ group: number, ms, sends = Infinity }) {
    const latencies: number[] = []
    const cpu = process.cpuUsage()
    const started = micros()
    const end = started + ms * 1000
    await Promise.all(group(number).map((sender) => loop(sender, end, sends, latencies)))
    const elapsed_us = micros() - started
    const { user, system } = process.cpuUsage(cpu)
    return {
      elapsed_us,
      sends_per_s: (latencies.length * 1e6) / elapsed_us,
      p50_us: median(latencies),
      p99_us: percentile(latencies, 0.99),
      cpu_percent: (100 * (user + system)) / elapsed_us,
    }
  },

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
