/**
 * Follows the hub's event stream across restarts. Events that a killed hub had written to the stream still arrive, in
 * order.
 */
import http from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { HubEvent } from '../../src/contracts/events.ts'

const RETRY_MS = 50

export interface EventStreamOptions {
  url(): string | null
  token(): string
  onEvent(event: HubEvent): void
  /** Called before every connection, and after it has ended. */
  onBreak(): void
  /** Called when events were forgotten before this reader received them. */
  onGap(): void
}

export class EventStream {
  private last_seq = 0
  private closing = false
  private request: http.ClientRequest | null = null
  private readonly whole: Promise<void>
  private readonly options: EventStreamOptions

  constructor(options: EventStreamOptions) {
    this.options = options
    this.whole = this.follow()
  }

  async close(): Promise<void> {
    this.closing = true
    this.request?.destroy()
    await this.whole
  }

  private async follow(): Promise<void> {
    while (!this.closing) {
      const url = this.options.url()
      this.options.onBreak()
      if (url !== null) await this.once(url)
      this.options.onBreak()
      if (!this.closing) await pause(RETRY_MS)
    }
  }

  private once(url: string): Promise<void> {
    return new Promise((resolve) => {
      const headers = { authorization: `Bearer ${this.options.token()}`, accept: 'text/event-stream' }
      const request = http.get(
        `${url}/events?since=${this.last_seq}`,
        { headers, agent: false },
        (response) => {
          if (response.statusCode !== 200) {
            response.resume()
            return resolve()
          }
          let held = ''
          response.setEncoding('utf8')
          response.on('data', (chunk: string) => {
            const parts = (held + chunk).split('\n\n')
            held = parts.pop() ?? ''
            for (const part of parts) this.hear(part)
          })
          response.on('error', () => {})
          response.on('close', resolve)
        },
      )
      this.request = request
      request.on('error', () => resolve())
    })
  }

  private hear(part: string): void {
    const data = part.split('\n').find((line) => line.startsWith('data: '))
    if (data === undefined) return
    const event = JSON.parse(data.slice(6)) as HubEvent
    if (event.seq !== this.last_seq + 1) this.options.onGap()
    this.last_seq = event.seq
    this.options.onEvent(event)
  }
}
