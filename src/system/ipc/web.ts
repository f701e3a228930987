/** HTTP client for steps: one request at a time, to exactly the address that was checked. */
import http from 'node:http'
import https from 'node:https'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Web, WebResponse, WebRequest } from '../../ports/web.ts'

export function createWeb({ clock }: { clock: Pick<Clock, 'after'> }): Web {
  return { request: (asked) => request(asked, clock) }
}

function request(asked: WebRequest, clock: Pick<Clock, 'after'>): Promise<WebResponse> {
  const url = new URL(asked.url)
  // The query is omitted because it may contain secrets.
  const where = `${asked.method} ${url.origin}${url.pathname}`
  const body = asked.body === undefined ? undefined : Buffer.from(asked.body)
  return new Promise((resolve, reject) => {
    const sent = createRequest(url, where, {
      method: asked.method,
      headers: {
        'user-agent': 'turnbell',
        'accept-encoding': 'identity',
        ...asked.headers,
        ...(body === undefined ? {} : { 'content-length': body.length }),
      },
      // A separate connection, which does not keep the process alive.
      agent: false,
    })
    const deadline = clock.after(asked.timeout_ms, () =>
      fail(
        new TurnbellError('timed_out', {
          detail: `${where}: no complete response in ${asked.timeout_ms} ms.`,
          hint: 'Try again, or use a longer timeout_ms.',
        }),
      ),
    )
    const done = (settle: () => void) => {
      deadline.cancel()
      settle()
      sent.destroy()
    }
    const fail = (error: Error) => done(() => reject(error))
    const broken = (cause: Error) =>
      fail(new TurnbellError('request_failed', { detail: `${where}: ${cause.message}`, cause }))

    sent.on('error', broken)
    // Without a listener the request would never end; with one the connection must be closed.
    sent.once('upgrade', (_, socket) => {
      socket.destroy()
      broken(new Error('the response switches to another protocol'))
    })
    sent.once('response', (response) => {
      const chunks: Buffer[] = []
      let bytes = 0
      const answer = (cut: boolean) =>
        done(() =>
          resolve({
            status: response.statusCode ?? 0,
            headers: headersOf(response),
            body: textOf(Buffer.concat(chunks).subarray(0, asked.response_bytes_max), cut),
            truncated: cut,
          }),
        )
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        bytes += chunk.length
        if (bytes > asked.response_bytes_max) answer(true)
      })
      response.once('end', () => answer(false))
      response.on('error', broken)
    })
    sent.end(body)
  })
}

/** Node.js throws for headers with invalid characters. */
function createRequest(url: URL, where: string, options: http.RequestOptions): http.ClientRequest {
  try {
    return (url.protocol === 'https:' ? https : http).request(url, options)
  } catch (cause) {
    throw new TurnbellError('request_failed', {
      detail: `${where}: ${cause instanceof Error ? cause.message : 'it cannot be sent'}`,
      hint: 'Check the headers for line breaks and invalid names.',
      cause,
    })
  }
}

function headersOf({ headers }: http.IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  )
}

/** Does not split a character. */
function textOf(bytes: Buffer, cut: boolean): string {
  return new TextDecoder().decode(bytes, { stream: cut })
}
