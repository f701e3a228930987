/**
 * Load generators in a closed loop with minimal cost: prepared bytes are written to a socket or a pipe, and a response
 * is recognised by its length or its end without parsing. The caller checks the correctness of responses beforehand.
 */
import net from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { micros } from './report/figures.ts'

export interface Called {
  calls_per_s: number
  /** Latency of each call, unordered; empty if responses cannot be assigned to requests. */
  latencies_ms: number[]
}

/** Returns the bytes of a request with a JSON body. */
export function requestOf(
  url: string,
  route: string,
  token: string,
  body: string,
  more: string[] = [],
): Buffer {
  const head = [
    `POST ${route} HTTP/1.1`,
    `host: ${new URL(url).host}`,
    `authorization: Bearer ${token}`,
    'content-type: application/json',
    ...more,
    `content-length: ${Buffer.byteLength(body)}`,
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
}

/** Opens one keep-alive connection for each caller; the next request is sent when the response is complete. */
export async function callHttp(url: string, request: Buffer, callers: number, ms: number): Promise<Called> {
  const { hostname, port } = new URL(url)
  const until = performance.now() + ms
  const began = micros()
  const latencies = await Promise.all(
    Array.from({ length: callers }, () => caller(net.connect(Number(port), hostname), request, until)),
  )
  return { ...rate(latencies.flat().length, began), latencies_ms: latencies.flat() }
}

function caller(socket: net.Socket, request: Buffer, until: number): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const latencies: number[] = []
    let sent = 0
    let held: Buffer = Buffer.alloc(0)
    socket.setNoDelay(true)
    // A settled promise ignores this, so it has no effect after the last response.
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('the server closed the connection')))
    const send = () => {
      sent = performance.now()
      socket.write(request)
    }
    socket.once('connect', send)
    socket.on('data', (chunk: Buffer) => {
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk])
      const size = sizeOf(held)
      if (size === null || held.length < size) return
      if (Number.isNaN(size) || !held.subarray(0, 12).equals(OK)) {
        reject(new Error(held.toString('utf8', 0, 400)))
        socket.destroy()
        return
      }
      held = held.subarray(size)
      const now = performance.now()
      latencies.push(now - sent)
      if (now < until) send()
      else socket.end(() => resolve(latencies))
    })
  })
}

const OK = Buffer.from('HTTP/1.1 200')
const END = Buffer.from('\r\n\r\n')

/** Returns the size of a whole response; null while its head is incomplete, and NaN if the head has no length. */
function sizeOf(held: Buffer): number | null {
  const head = held.indexOf(END)
  if (head < 0) return null
  const length = /content-length: (\d+)/i.exec(held.toString('latin1', 0, head))?.[1]
  return head + END.length + Number(length)
}

/** Keeps this many requests in flight through one pair of pipes; every line is a response. */
export async function callStdio(
  { input, output }: { input: Writable; output: Readable },
  request: (id: number) => string,
  callers: number,
  ms: number,
): Promise<Called> {
  const until = performance.now() + ms
  const began = micros()
  let answered = 0
  let open = 0
  let id = 0
  const ask = () => {
    open += 1
    input.write(request((id += 1)))
  }
  return await new Promise((resolve, reject) => {
    const onEnd = () => reject(new Error('the process closed its output'))
    const onData = (chunk: Buffer) => {
      for (const byte of chunk) {
        if (byte !== 0x0a) continue
        answered += 1
        open -= 1
        if (performance.now() < until) ask()
      }
      if (open > 0) return
      output.off('data', onData).off('end', onEnd).off('error', reject)
      resolve({ ...rate(answered, began), latencies_ms: [] })
    }
    output.on('data', onData)
    output.once('error', reject).once('end', onEnd)
    for (let count = 0; count < callers; count += 1) ask()
  })
}

function rate(calls: number, began_us: number): { calls_per_s: number } {
  return { calls_per_s: (calls * 1e6) / (micros() - began_us) }
}
