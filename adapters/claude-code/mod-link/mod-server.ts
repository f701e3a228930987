/**
 * Serves the module inside Claude Code: HTTP on a Unix socket of the worker. The socket is accessible to its user only,
 * so no token is needed.
 */
import http from 'node:http'
import type { Server } from 'node:net'
import type * as z from 'zod'
import { Batch, Hello, Wait } from '../mod/messages.ts'
import type { ModLink } from './mod-link.ts'
import { toProblem, TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { describeParams } from '../../../src/contracts/validation/describe-issues.ts'
import { parseJsonOrNull } from '../../../src/contracts/validation/json.ts'
import type { Ids } from '../../../src/ports/random.ts'
import type { Log } from '../../../src/ports/log.ts'

type Link = Pick<ModLink, 'hello' | 'events' | 'wait'>

/** Returns a server that does not listen yet. */
export function createModServer(link: Link, ids: Pick<Ids, 'next'>, log: Log): Server {
  const server = http.createServer((request, response) => {
    answerOf(link, request, response).then(
      ({ status, body }) => send(response, status, body),
      (error: unknown) => {
        const problem = toProblem(error, ids.next())
        log.warn({ err: error, instance: problem.instance }, 'request of the module rejected')
        send(response, problem.status, problem)
      },
    )
  })
  server.maxConnections = LIMITS.mod_connections_max
  // The module keeps no connection open, and an idle one would delay the end of the worker.
  server.keepAliveTimeout = 1
  return server
}

interface Answer {
  status: number
  body: object
}

const done = (body: object): Answer => ({ status: 200, body })
const UNKNOWN_EPOCH: Answer = { status: 409, body: { greet: true } }

async function answerOf(
  link: Link,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<Answer> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const body = await bodyOf(request)
  switch (`${request.method} ${request.url}`) {
    case 'POST /hello':
      return done(link.hello(parsed(Hello, body)))
    case 'POST /events':
      return link.events(parsed(Batch, body)) ? done({}) : UNKNOWN_EPOCH
    case 'POST /wait': {
      const found = await link.wait(parsed(Wait, body), gone.signal)
      return found === null ? UNKNOWN_EPOCH : done(found)
    }
    default:
      throw new TurnbellError('unknown_verb', {
        detail: `${request.method} ${request.url} is not a request of the module.`,
      })
  }
}

async function bodyOf(request: http.IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > LIMITS.mod_body_bytes_max)
      throw new TurnbellError('payload_too_large', {
        detail: `A request may have ${LIMITS.mod_body_bytes_max} bytes.`,
      })
    chunks.push(chunk)
  }
  return parseJsonOrNull(Buffer.concat(chunks).toString())
}

function parsed<T>(schema: z.ZodType<T>, body: unknown): T {
  const { success, data, error } = schema.safeParse(body)
  if (!success)
    throw new TurnbellError('request_invalid', { detail: describeParams(schema, body, error, 'body') })
  return data
}

function send(response: http.ServerResponse, status: number, body: object): void {
  if (response.destroyed || response.headersSent) return
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  })
  response.end(text)
}
