/** Everything that can go wrong on the way in, as a problem on the way out. */
import { STATUS_CODES, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { redactUrl } from './guard.ts'
import { toProblem, TurnbellError, type Problem } from '../../contracts/errors.ts'
import type { Doors } from '../doors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { inBytes } from '../units.ts'

export const PROBLEM_TYPE = 'application/problem+json'

/** Fastify's own errors, by their codes, as ours. Others are bugs. */
const REQUEST_ERRORS: Record<string, string> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'The body has another content type than application/json.',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'The body is not as long as its Content-Length says.',
  FST_ERR_CTP_INVALID_JSON_BODY: 'The body is not valid JSON.',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'The body is empty.',
  FST_ERR_BAD_URL: 'The path is not a valid URL.',
  FST_ERR_MAX_PARAM_LENGTH: 'A part of the path is too long.',
}

/** Tells the log of bugs, under the instance that the caller is told. */
export function problemOf(error: unknown, doors: Pick<Doors, 'ids' | 'log'>, url: string): Problem {
  const instance = doors.ids.next()
  const problem = toProblem(asRefusal(error), instance)
  if (problem.code === 'internal')
    doors.log.error({ err: error, instance, url: redactUrl(url) }, 'a request broke')
  return problem
}

function asRefusal(error: unknown): unknown {
  if (error instanceof TurnbellError || !(error instanceof Error)) return error
  const { code, statusCode } = error as { code?: string; statusCode?: number }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return new TurnbellError('body_too_large', {
      detail: `The body is over ${inBytes(LIMITS.body_bytes_max)}.`,
      cause: error,
    })
  }
  const detail = REQUEST_ERRORS[code ?? '']
  if (detail !== undefined) return new TurnbellError('request_invalid', { detail, cause: error })
  // What the body parser throws for text that is no JSON, or that tries to reach a prototype.
  if (statusCode === 400) return new TurnbellError('request_invalid', { detail: error.message, cause: error })
  return error
}

/** Answers on the bare response, for the doors that fastify does not hold. */
export function sendProblem(response: ServerResponse, problem: Problem): void {
  if (response.headersSent || response.destroyed) return
  const body = JSON.stringify(problem)
  response.writeHead(problem.status, {
    'content-type': PROBLEM_TYPE,
    'content-length': Buffer.byteLength(body),
    ...(problem.status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    // The rest of a body that was refused unread must not be taken for the next request.
    ...(response.req.complete ? {} : { connection: 'close' }),
  })
  response.end(body)
}

const CLIENT_ERROR_STATUS: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

/** Bytes that never became a request. There is no response object yet, so the answer is written by hand. */
export function answerClientError(
  error: Error & { code?: string },
  socket: Socket,
  doors: Pick<Doors, 'ids' | 'log'>,
): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const refused = new TurnbellError('request_invalid', {
    detail: 'The bytes are no HTTP request.',
    cause: error,
  })
  const status = CLIENT_ERROR_STATUS[error.code ?? ''] ?? 400
  const body = JSON.stringify({ ...problemOf(refused, doors, ''), status })
  if (socket.writable) {
    socket.write(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: ${PROBLEM_TYPE}\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    )
  }
  socket.destroy(error)
}
