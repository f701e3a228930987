/**
 * Follows an answer over HTTP until the caller has it. The lease of a drain depends on the outcome.
 *
 * A successful write proves little: the caller may have closed its end earlier, for example while this process was
 * suspended, and the event loop has not read that yet. So an answer counts as written only after the loop has polled the
 * connection again, and as received only after the caller has sent something or closed with nothing unread.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { afterATick } from '../after-a-tick.ts'
import type { SentAnswer } from '../../ports/sent-answer.ts'

/** Responses that wait for earlier ones on their connection. One listener per connection serves all of them. */
const queued = new WeakMap<Socket, Set<() => void>>()

/** Answers that were sent over this connection, after which nothing was received over it. */
const unconfirmed = new WeakMap<Socket, Set<() => void>>()

/**
 * Calls `closed` once the response is closed, by itself or with its connection. A response that waits for an earlier one
 * has no socket yet, and Node.js does not notify it when the connection closes.
 */
export function whenClosed(response: ServerResponse, closed: () => void): void {
  const { socket } = response.req
  let waiting: Set<() => void> | undefined
  const over = () => {
    response.off('close', over)
    waiting?.delete(over)
    closed()
  }
  response.on('close', over)
  if (response.socket !== null) return
  waiting = queued.get(socket)
  if (waiting === undefined) {
    const all = new Set<() => void>()
    queued.set(socket, (waiting = all))
    socket.once('close', () => {
      for (const one of [...all]) one()
    })
  }
  waiting.add(over)
}

/** Call for each request: it shows that the caller has read the earlier answers on this connection. */
export function heardFrom(socket: Socket): void {
  for (const heard of unconfirmed.get(socket) ?? []) heard()
}

/** Watches the response only once an outcome is requested. */
export function answerOf(response: ServerResponse): SentAnswer {
  let watched: Watched | null = null
  const watch = () => (watched ??= watchAnswer(response))
  return { written: () => watch().written, received: () => watch().received }
}

interface Watched {
  written: Promise<'written' | 'broken'>
  received: Promise<'received' | 'broken'>
}

function watchAnswer(response: ServerResponse): Watched {
  // Read now, because the response has no socket before its turn and after it has finished.
  const socket = response.socket ?? response.req.socket
  let settleWritten!: (how: 'written' | 'broken') => void
  let settleReceived!: (how: 'received' | 'broken') => void
  const written = new Promise<'written' | 'broken'>((resolve) => (settleWritten = resolve))
  const received = new Promise<'received' | 'broken'>((resolve) => (settleReceived = resolve))
  const broke = () => {
    settleWritten('broken')
    settleReceived('broken')
  }
  if (response.destroyed || response.writableFinished || socket.destroyed) {
    broke()
    return { written, received }
  }
  lingerOnClose(response, socket)
  // Read now, because a connection that was reset has no remote address.
  const tells_reset = isOnThisMachine(socket) && !('encrypted' in socket)
  response.on('finish', () => {
    // Node.js emits `finish` also if the last write failed, just before it destroys the socket; only the state of the
    // socket shows the difference.
    if (socket.errored !== null || socket.destroyed) broke()
    else watchConnection(socket, tells_reset, { broke, written: settleWritten, received: settleReceived })
  })
  // `close` counts only without `finish`; after `finish` it always follows at once.
  whenClosed(response, () => {
    if (!response.writableFinished) broke()
  })
  return { written, received }
}

interface Outcome {
  broke: () => void
  written: (how: 'written') => void
  received: (how: 'received') => void
}

/**
 * `tells_reset`: on this machine, a closed peer has answered the bytes with a reset before the write returned. On another
 * machine, an `end` that arrives this early was sent before the bytes arrived; and TLS cannot write zero bytes.
 */
function watchConnection(socket: Socket, tells_reset: boolean, { broke, written, received }: Outcome): void {
  let looked = false
  const over = (settle: () => void) => {
    socket.off('end', ended)
    socket.off('error', reset)
    socket.off('close', closed)
    waiting.delete(heard)
    settle()
  }
  const heard = () => over(() => received('received'))
  const reset = () => over(broke)
  const closed = heard
  const ended = () => {
    if (!tells_reset || !socket.writable) return looked ? heard() : reset()
    // Only a write reports a reset that followed the end. A write of zero bytes sends nothing.
    socket.write('', (error) => (error ? reset() : heard()))
  }
  const waiting = unconfirmed.get(socket) ?? new Set()
  unconfirmed.set(socket, waiting)
  waiting.add(heard)
  // Before the listener of Node.js, which also ends this side.
  socket.prependListener('end', ended)
  socket.on('error', reset)
  socket.on('close', closed)
  afterATick(() => {
    looked = true
    written('written')
  })
}

function isOnThisMachine({ remoteAddress = '', localAddress }: Socket): boolean {
  return remoteAddress === localAddress || LOOPBACK.test(remoteAddress)
}

const LOOPBACK = /^(::ffff:)?127\.|^::1$/

/**
 * Node.js closes a connection without keep-alive together with the answer, so its outcome would stay unknown. This ends
 * only our side and waits for the end of the caller's side.
 */
function lingerOnClose(response: ServerResponse, socket: Socket): void {
  if (response.shouldKeepAlive) return
  socket.destroySoon = () =>
    afterATick(() => {
      socket.setTimeout(LIMITS.http_linger_ms, () => socket.destroy())
      socket.end()
    })
}
