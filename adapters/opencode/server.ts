/** A client of an opencode server: plain HTTP on loopback, and its stream of events. */
import type { z } from 'zod'
import {
  Asked,
  Envelope,
  Event,
  Health,
  Messages,
  Open,
  Session,
  Statuses,
  type StoredMessage,
  type PermissionReply,
  type Prompt,
} from './protocol.ts'
import { opencodeVersionFault } from '../../src/contracts/client-versions.ts'
import { jsonIn } from '../../src/contracts/json.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

export interface Place {
  id: string
  directory: string
}

export class OpencodeError extends Error {
  readonly status: number | null

  /** `status` is HTTP's; null where the server did not answer at all. */
  constructor(status: number | null, message: string, cause?: unknown) {
    super(message, { cause })
    this.status = status
  }
}

/** The server speaks another version of its API than this shim. */
export class OpencodeVersionError extends Error {}

/** @throws OpencodeError, from each of them. */
export interface OpencodeServer {
  /** Null where there is none of that id. */
  session(place: Place): Promise<Session | null>
  /** The newest messages with their parts, oldest first; at most `limit`. */
  messages(place: Place, limit: number): Promise<StoredMessage[]>
  isBusy(place: Place): Promise<boolean>
  /** The server has it; whether it is ever answered is told by events. */
  prompt(place: Place, prompt: Prompt): Promise<void>
  /** Deletes a stored message. Absent where the client of the server offers no such call. */
  removeMessage?(place: Place, message_id: string): Promise<void>
  close(): void
}

/** What may be done besides on a server that is the persona's own. */
export interface OwnedServer extends OpencodeServer {
  /** Nothing is heard of it any more. */
  isGone(): boolean
  begin(directory: string): Promise<Place>
  /** What its sessions ask of a person at the moment. */
  open(directory: string): Promise<Asked[]>
  /** `asked` is what asks, with the directory it works in. */
  permit(asked: Place, reply: PermissionReply): Promise<void>
  rejectQuestion(asked: Place): Promise<void>
}

export interface OpencodeHandlers {
  onEvent: (event: Event) => void
  onAsked: (asked: Asked) => void
  onClose: () => void
}

/** Connects and listens. Rejects where no server answers. */
export async function connectOpencode(
  at: { url: string; authorization: string },
  options: { clock: Pick<Clock, 'after'>; log: Log },
  handlers: OpencodeHandlers,
): Promise<OwnedServer> {
  const { clock, log } = options
  const headers = { authorization: at.authorization, 'content-type': 'application/json' }

  async function ask(
    route: string,
    init: RequestInit = {},
    patience_ms: number = LIMITS.opencode_answer_ms,
  ): Promise<Response> {
    const abort = new AbortController()
    const patience = clock.after(patience_ms, () => abort.abort())
    try {
      const response = await fetch(`${at.url}${route}`, { ...init, headers, signal: abort.signal })
      // Read here, so that the patience covers the body too.
      const body = await response.arrayBuffer()
      return new Response(response.status === 204 ? null : body, { status: response.status })
    } catch (cause) {
      throw new OpencodeError(null, `${route} was not answered`, cause)
    } finally {
      patience.cancel()
    }
  }

  async function read<T>(route: string, form: z.ZodType<T>): Promise<T> {
    const response = await ask(route)
    if (!response.ok) throw new OpencodeError(response.status, `${route}: ${response.status}`)
    return formed(route, response, form)
  }

  async function formed<T>(route: string, response: Response, form: z.ZodType<T>): Promise<T> {
    const answer = form.safeParse(jsonIn(await response.text()))
    if (answer.success) return answer.data
    throw new OpencodeError(null, `${route} was answered in another form: ${answer.error.message}`)
  }

  await requireVersion()
  const stream = new AbortController()
  // Only until its headers: the stream itself goes on for ever.
  const patience = clock.after(LIMITS.opencode_answer_ms, () => stream.abort())
  const response = await fetch(`${at.url}/global/event`, { headers, signal: stream.signal })
    .catch((cause: unknown) => {
      throw new OpencodeError(null, '/global/event was not answered', cause)
    })
    .finally(() => patience.cancel())
  if (!response.ok || response.body === null)
    throw new OpencodeError(response.status, `/global/event: ${response.status}`)
  void follow(response.body)

  async function requireVersion(): Promise<void> {
    const { version } = await read('/global/health', Health).catch((error: unknown) => {
      if (!(error instanceof OpencodeError) || error.status !== 404) throw error
      return { version: 'of an unknown version' }
    })
    const fault = opencodeVersionFault(version)
    if (fault !== null) throw new OpencodeVersionError(fault)
  }

  async function follow(body: AsyncIterable<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder()
    // The server says something every ten seconds; one that says nothing is gone.
    const watch = () => clock.after(LIMITS.opencode_silence_ms, () => stream.abort())
    let silence = watch()
    /** Of a line that has not ended yet. Put together once: a long one comes in thousands. */
    let pieces: string[] = []
    let length = 0
    try {
      for await (const chunk of body) {
        silence.cancel()
        silence = watch()
        const [piece = '', ...begun] = decoder.decode(chunk, { stream: true }).split('\n')
        pieces.push(piece)
        length += piece.length
        if (length > LIMITS.opencode_event_length_max) throw new Error('an event without end')
        if (begun.length === 0) continue
        const rest = begun.pop() ?? ''
        const lines = [pieces.join(''), ...begun]
        pieces = [rest]
        length = rest.length
        for (const line of lines) if (line.startsWith('data:')) received(line.slice('data:'.length))
      }
    } catch (error) {
      log.debug({ err: error }, 'the stream of events broke')
    } finally {
      silence.cancel()
      stream.abort()
      handlers.onClose()
    }
  }

  function received(text: string): void {
    const envelope = Envelope.safeParse(jsonIn(text))
    if (!envelope.success) return log.warn({}, 'the server sent what is no event')
    const event = Event.safeParse(envelope.data.payload)
    if (event.success) return handlers.onEvent(event.data)
    const asked = Asked.safeParse(envelope.data.payload)
    if (asked.success) handlers.onAsked(asked.data)
  }

  async function post(route: string, body: object, patience_ms?: number): Promise<Response> {
    const response = await ask(route, { method: 'POST', body: JSON.stringify(body) }, patience_ms)
    if (!response.ok) throw new OpencodeError(response.status, `${route}: ${response.status}`)
    return response
  }

  return {
    async session({ id, directory }) {
      try {
        return await read(`/session/${encoded(id)}${inDirectory(directory)}`, Session)
      } catch (error) {
        if (error instanceof OpencodeError && error.status === 404) return null
        throw error
      }
    },
    messages: ({ id, directory }, limit) =>
      read(`/session/${encoded(id)}/message${inDirectory(directory)}&limit=${limit}`, Messages),
    async removeMessage({ id, directory }, message_id) {
      const route = `/session/${encoded(id)}/message/${encoded(message_id)}${inDirectory(directory)}`
      const response = await ask(route, { method: 'DELETE' })
      // One that is gone already is as good.
      if (!response.ok && response.status !== 404)
        throw new OpencodeError(response.status, `${route}: ${response.status}`)
    },
    async isBusy({ id, directory }) {
      const statuses = await read(`/session/status${inDirectory(directory)}`, Statuses)
      return (statuses[id]?.type ?? 'idle') !== 'idle'
    },
    async prompt({ id, directory }, prompt) {
      const route = `/session/${encoded(id)}/prompt_async${inDirectory(directory)}`
      await post(route, prompt)
    },
    async begin(directory) {
      const route = `/session${inDirectory(directory)}`
      // Given up and asked again, there would be two sessions.
      const response = await post(route, {}, LIMITS.opencode_first_answer_ms)
      const { id } = await formed(route, response, Session)
      return { id, directory }
    },
    async open(directory) {
      const [permissions, questions] = await Promise.all([
        read(`/permission${inDirectory(directory)}`, Open),
        read(`/question${inDirectory(directory)}`, Open),
      ])
      return [
        ...permissions.map((properties) => ({ type: 'permission.asked' as const, properties })),
        ...questions.map((properties) => ({ type: 'question.asked' as const, properties })),
      ]
    },
    async permit({ id, directory }, reply) {
      await post(`/permission/${encoded(id)}/reply${inDirectory(directory)}`, reply)
    },
    async rejectQuestion({ id, directory }) {
      await post(`/question/${encoded(id)}/reject${inDirectory(directory)}`, {})
    },
    isGone: () => stream.signal.aborted,
    close: () => stream.abort(),
  }
}

/** Every directory has an instance of its own in the server. */
function inDirectory(directory: string): string {
  return `?directory=${encoded(directory)}`
}

/**
 * For a URL, which holds no half of a character. What file systems and URLs make of one stands in its place:
 * https://webidl.spec.whatwg.org/#idl-USVString
 */
function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}
