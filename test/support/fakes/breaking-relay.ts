/** A relay to a hub that can lose requests and responses: the hub acts, but its client never receives the response. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'

/** Decides on a request with this body, or on its response. Call neither function to delay it. */
export type Fate = (body: string, pass: () => void, cut: () => void) => void

export interface Relay {
  url: string
  close(): Promise<void>
}

export interface BreakingRelay extends Relay {
  /** Returns the number of lost responses. */
  broken(): number
}

export async function relayTo(url: string, answer: Fate, ask: Fate = (_, pass) => pass()): Promise<Relay> {
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const { host: _, ...headers } = request.headers
      const onward = { method: request.method ?? 'GET', headers }
      const cut = () => void response.destroy()
      const pass = () => {
        const asked = http.request(`${url}${request.url}`, onward, (answered) => {
          const parts: Buffer[] = []
          answered.on('data', (part: Buffer) => parts.push(part))
          answered.on('end', () => {
            const send = () =>
              response.writeHead(answered.statusCode ?? 500, answered.headers).end(Buffer.concat(parts))
            answer(body, send, cut)
          })
        })
        // The hub has closed the connection.
        asked.on('error', cut)
        asked.end(body)
      }
      ask(body, pass, cut)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

/** `breaks` is called with each request's body; `nth` is the number of the next lost response, counted from one. */
export async function breakingRelay(
  url: string,
  breaks: (body: string, nth: number) => boolean,
): Promise<BreakingRelay> {
  let broken = 0
  const relay = await relayTo(url, (body, pass, cut) => {
    if (!breaks(body, broken + 1)) return pass()
    broken += 1
    cut()
  })
  return { ...relay, broken: () => broken }
}
