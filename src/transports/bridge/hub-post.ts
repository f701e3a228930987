/** One POST to the hub over a kept connection, telling apart what never left from what may have. */
import http from 'node:http'
import https from 'node:https'
import { LIMITS } from '../../contracts/limits.ts'
import type { Clock } from '../../ports/clock.ts'

export interface HubAnswer {
  status: number
  content_type: string
  body: string
}

/** The hub gave no complete answer. */
export class HubAway extends Error {
  /** True when the hub cannot have acted on it: the connection was never made. */
  readonly unsent: boolean

  constructor(unsent: boolean, cause: Error) {
    super(cause.message, { cause })
    this.unsent = unsent
  }
}

export interface HubPost {
  /** @throws HubAway, or the reason of the abort. */
  post(url: string, headers: Record<string, string>, body: unknown, abort?: AbortSignal): Promise<HubAnswer>
  close(): void
}

export function hubPost(clock: Pick<Clock, 'after'>): HubPost {
  // A hub that was restarted has closed these; Node then opens new ones by itself.
  const agents = {
    'http:': new http.Agent({ keepAlive: true }),
    'https:': new https.Agent({ keepAlive: true }),
  }

  return {
    post(url, headers, body, abort) {
      const text = JSON.stringify(body)
      const secure = url.startsWith('https:')
      const request = (secure ? https : http).request(url, {
        method: 'POST',
        agent: agents[secure ? 'https:' : 'http:'],
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(text),
          ...headers,
        },
        ...(abort === undefined ? {} : { signal: abort }),
      })
      return new Promise((resolve, reject) => {
        const timeout = clock.after(LIMITS.bridge_answer_ms, () =>
          request.destroy(new Error('no answer in time')),
        )
        let connected = false
        const failed = (error: Error) => {
          timeout.cancel()
          if (abort?.aborted === true) reject(error)
          else reject(new HubAway(!connected, error))
        }
        request.on('socket', (socket) => {
          if (!socket.connecting) connected = true
          else socket.once(secure ? 'secureConnect' : 'connect', () => (connected = true))
        })
        request.on('error', failed)
        request.on('response', (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('error', failed)
          response.on('end', () => {
            timeout.cancel()
            if (!response.complete) return failed(new Error('the answer broke off'))
            resolve({
              status: response.statusCode ?? 0,
              content_type: response.headers['content-type'] ?? '',
              body: Buffer.concat(chunks).toString('utf8'),
            })
          })
        })
        request.end(text)
      })
    },
    close() {
      for (const agent of Object.values(agents)) agent.destroy()
    },
  }
}
