/** Sends a request given as text, with run-specific values filled in, and returns the response. */
import { Problem } from '../../../src/contracts/errors/errors.ts'
import type { HubWorld } from './hub-world.ts'
import { insist } from '../target.ts'
import { Heard } from './wire.ts'

export interface Answered {
  /** Null without a response, because the request was never complete. */
  status: number | null
  type: string
  body: string
}

const EMPTY: Answered = { status: null, type: '', body: '' }

/**
 * `input` is a head with bare newlines, an empty line, and the body; Content-Length is added if the head lacks it.
 * Throws if the response is not valid HTTP, or if the hub logged a bug.
 */
export async function exchange(world: HubWorld, input: Buffer): Promise<Answered> {
  const stream = world.dial()
  const heard = new Heard(stream)
  stream.write(requestOf(world, input))
  await heard.until(() => false)
  stream.destroy()
  world.sound()
  return heard.bytes === 0 ? EMPTY : answerIn(heard.all())
}

function requestOf(world: HubWorld, input: Buffer): Buffer {
  const text = world.filled(input.toString('latin1'))
  const cut = text.indexOf('\n\n')
  const head = (cut === -1 ? text : text.slice(0, cut)).split('\n')
  const body = Buffer.from(cut === -1 ? '' : text.slice(cut + 2), 'latin1')
  const told = head.join('\n').toLowerCase()
  head[0] = `${head[0]} HTTP/1.1`
  if (!told.includes('content-length') && !told.includes('transfer-encoding') && body.length > 0)
    head.push(`content-length: ${body.length}`)
  head.push('connection: close')
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body])
}

function answerIn(bytes: Buffer): Answered {
  const text = bytes.toString('latin1')
  const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(text) ?? []
  insist(status !== undefined, () => `no answer of HTTP: ${text.slice(0, 100)}`)
  const from = text.indexOf('\r\n\r\n')
  insist(from !== -1, () => 'an answer without an end of its head')
  const head = text.slice(0, from)
  const type = /^content-type: *([^\r;]*)/im.exec(head)?.[1] ?? ''
  const raw = text.slice(from + 4)
  // Text after an empty line in the head is a separate request with its own response.
  const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? raw.length)
  const own = /^transfer-encoding: chunked/im.test(head) ? joined(raw) : raw.slice(0, length)
  const body = Buffer.from(own, 'latin1').toString()
  return { status: Number(status), type, body }
}

function joined(chunks: string): string {
  let at = 0
  let text = ''
  for (;;) {
    const end = chunks.indexOf('\r\n', at)
    const length = Number.parseInt(chunks.slice(at, end), 16)
    if (end === -1 || !(length > 0)) return text
    text += chunks.slice(end + 2, end + 2 + length)
    at = end + 4 + length
  }
}

/** Responses of Node itself, without a body: 417, and 400 if a Host is missing (RFC 9112, section 3.2). */
const NODES_OWN = [400, 417]

/** Throws unless an error response is a turnbell problem and not an internal error. Returns the name of the outcome. */
export function judgeProblem({ status, type, body }: Answered): string {
  if (status === null) return 'unanswered'
  if (status < 400 || (NODES_OWN.includes(status) && body === '')) return String(status)
  insist(type === 'application/problem+json', () => `${status} came as ${type}: ${body.slice(0, 200)}`)
  const problem = Problem.safeParse(JSON.parse(body))
  insist(problem.success, () => `${status} is no problem: ${body.slice(0, 200)}`)
  insist(problem.data.code !== 'internal' && status !== 500, () => `${status} ${problem.data.code}`)
  return `${status} ${problem.data.code}`
}
