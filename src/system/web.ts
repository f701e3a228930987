/** Makes HTTP requests for steps: one at a time, to exactly the address that was judged. */
import http from 'node:http'
import https from 'node:https'
import { TurnbellError } from '../contracts/errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { Web, WebAnswer, WebRequest } from '../ports/web.ts'

export function createWeb({ clock }: { clock: Pick<Clock, 'after'> }): Web {
  return { request: (asked) => request(asked, clock) }
}

function request(asked: WebRequest, clock: Pick<Clock, 'after'>): Promise<WebAnswer> {
  const url = new URL(asked.url)
  // What a query says may be meant for the server alone.
  const where = `${asked.method} ${url.origin}${url.pathname}`
  const body = asked.body === undefined ? undefined : Buffer.from(asked.body)
  return new Promise((resolve, reject) => {
    const sent = prepared(url, where, {
      method: asked.method,
      headers: {
        'user-agent': 'turnbell',
        'accept-encoding': 'identity',
        ...asked.headers,
        ...(body === undefined ? {} : { 'content-length': body.length }),
      },
      // A connection of its own, that nobody has to wait for.
      agent: false,
    })
    const deadline = clock.after(asked.timeout_ms, () =>
      fail(
        new TurnbellError('timed_out', {
          detail: `${where}: no complete answer in ${asked.timeout_ms} ms.`,
          hint: 'Try again, or give it a longer timeout_ms.',
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
    // Who listens for it must end the connection; who does not hears nothing at all.
    sent.once('upgrade', (_, socket) => {
      socket.destroy()
      broken(new Error('the answer switches to another protocol'))
    })
    sent.once('response', (response) => {
      const chunks: Buffer[] = []
      let bytes = 0
      const answer = (cut: boolean) =>
        done(() =>
          resolve({
            status: response.statusCode ?? 0,
            headers: headersOf(response),
            body: textOf(Buffer.concat(chunks).subarray(0, asked.answer_bytes_max), cut),
            cut,
          }),
        )
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        bytes += chunk.length
        if (bytes > asked.answer_bytes_max) answer(true)
      })
      response.once('end', () => answer(false))
      response.on('error', broken)
    })
    sent.end(body)
  })
}

/** Refused already where a header holds what none can. */
function prepared(url: URL, where: string, options: http.RequestOptions): http.ClientRequest {
  try {
    return (url.protocol === 'https:' ? https : http).request(url, options)
  } catch (cause) {
    throw new TurnbellError('request_failed', {
      detail: `${where}: ${cause instanceof Error ? cause.message : 'it cannot be sent'}`,
      hint: 'Look at the headers: no line breaks, and only what HTTP allows in a name.',
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

/** Not up to the middle of a character. */
function textOf(bytes: Buffer, cut: boolean): string {
  return new TextDecoder().decode(bytes, { stream: cut })
}
