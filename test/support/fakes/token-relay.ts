/**
 * A relay for programs that cannot send a token: it listens on its own port and forwards each request to a hub with a
 * token.
 */
import http from 'node:http'
import type { AddressInfo } from 'node:net'

export async function startTokenRelay(
  hub_url: string,
  token: string,
): Promise<{ url: string; close(): Promise<void> }> {
  const hub = new URL(hub_url)
  const server = http.createServer((request, response) => {
    // Headers are forwarded unchanged, because they are under test; only the host is replaced.
    const headers = request.rawHeaders.map((text, at, all) =>
      all[at - 1]?.toLowerCase() === 'host' && text === own ? hub.host : text,
    )
    headers.push('Authorization', `Bearer ${token}`)
    const { url: path, method } = request
    const to = { hostname: hub.hostname, port: hub.port, path, method, headers }
    const onward = http.request(to, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
      answer.pipe(response)
    })
    onward.on('error', () => response.destroy())
    request.pipe(onward)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const own = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `http://${own}`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}
