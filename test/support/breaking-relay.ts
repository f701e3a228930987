/** A way to a hub on which answers are lost: the hub has acted, and its client is never told. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'

export interface BreakingRelay {
  url: string
  /** How many answers were lost. */
  broken(): number
  close(): Promise<void>
}

/** `breaks` is asked with each request's body; `nth` is the answer to be lost next, counted from one. */
export async function breakingRelay(
  url: string,
  breaks: (body: string, nth: number) => boolean,
): Promise<BreakingRelay> {
  let broken = 0
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const { host: _, ...headers } = request.headers
      const onward = { method: request.method ?? 'GET', headers }
      const asked = http.request(`${url}${request.url}`, onward, (answered) => {
        const parts: Buffer[] = []
        answered.on('data', (part: Buffer) => parts.push(part))
        answered.on('end', () => {
          if (breaks(body, broken + 1)) {
            broken += 1
            response.destroy()
          } else response.writeHead(answered.statusCode ?? 500, answered.headers).end(Buffer.concat(parts))
        })
      })
      asked.end(body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    broken: () => broken,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
