/**
 * An MCP server that only parses JSON-RPC and responds with an object: the upper limit of speed. Over HTTP on a free
 * port, or with `--stdio` one message per line. Without protocol, schema or kernel.
 */
import http from 'node:http'
import { createInterface } from 'node:readline'

/** The same size as the response of the measured tool call. */
const TEXT = process.argv[2] ?? ''

function answerTo(text: string): string {
  const { id } = JSON.parse(text) as { id: number }
  const result = { content: [{ type: 'text', text: TEXT }], structuredContent: JSON.parse(TEXT) as object }
  return JSON.stringify({ jsonrpc: '2.0', id, result })
}

if (process.argv.includes('--stdio')) {
  createInterface({ input: process.stdin }).on('line', (line) => process.stdout.write(`${answerTo(line)}\n`))
} else {
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = answerTo(Buffer.concat(chunks).toString('utf8'))
      response.writeHead(200, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      })
      response.end(body)
    })
  })
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as { port: number }
    process.stdout.write(`echo ready http://127.0.0.1:${port}\n`)
  })
}
