/** Converts errors of requests to problem responses. */
import { STATUS_CODES, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { redactUrl } from './guard.ts'
import { toProblem, TurnbellError, type Problem } from '../../contracts/errors/errors.ts'
import type { HubApi } from '../hub-api.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { inBytes } from '../../contracts/text/units.ts'

export const PROBLEM_TYPE = 'application/problem+json'

/** Details of fastify's request errors by code. Other errors are bugs. */
const REQUEST_ERRORS: Record<string, string> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'The body has another content type than application/json.',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'The body does not have the length of its Content-Length.',
  FST_ERR_CTP_INVALID_JSON_BODY: 'The body is not valid JSON.',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'The body is empty.',
  FST_ERR_BAD_URL: 'The path is not a valid URL.',
  FST_ERR_MAX_PARAM_LENGTH: 'A part of the path is too long.',
}

/** Logs bugs with the instance that the problem contains. */
export function problemOf(error: unknown, api: Pick<HubApi, 'ids' | 'log'>, url: string): Problem {
  const instance = api.ids.next()
  const problem = toProblem(asRefusal(error), instance)
  if (problem.code === 'internal')
    api.log.error({ err: error, instance, url: redactUrl(url) }, 'request failed')
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
  // An error of the body parser: invalid JSON, or a forbidden prototype key.
  if (statusCode === 400) return new TurnbellError('request_invalid', { detail: error.message, cause: error })
  return error
}

/** Answers on the raw response, for routes outside fastify. */
export function sendProblem(response: ServerResponse, problem: Problem): void {
  if (response.headersSent || response.destroyed) return
  const body = JSON.stringify(problem)
  response.writeHead(problem.status, {
    'content-type': PROBLEM_TYPE,
    'content-length': Buffer.byteLength(body),
    ...(problem.status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
    // Otherwise the unread rest of the body would be parsed as the next request.
    ...(response.req.complete ? {} : { connection: 'close' }),
  })
  response.end(body)
}

const CLIENT_ERROR_STATUS: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

/** Answers bytes that are not a valid request. Without a response object, the answer is written to the socket. */
export function answerClientError(
  error: Error & { code?: string },
  socket: Socket,
  api: Pick<HubApi, 'ids' | 'log'>,
): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const refused = new TurnbellError('request_invalid', {
    detail: 'The bytes are not an HTTP request.',
    cause: error,
  })
  const status = CLIENT_ERROR_STATUS[error.code ?? ''] ?? 400
  const body = JSON.stringify({ ...problemOf(refused, api, ''), status })
  if (socket.writable) {
    socket.write(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: ${PROBLEM_TYPE}\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    )
  }
  socket.destroy(error)
}
