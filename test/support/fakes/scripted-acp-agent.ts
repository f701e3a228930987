/** The other end of an agent's standard streams: answers by script, and sends the messages that the test requests. */
import { AgentError, type AgentPipe } from '../../../adapters/acp/wire.ts'

type Result = Readonly<Record<string, unknown>>
type Answer = Result | AgentError

/** By method: the result, an error, a function that returns either, or null for no response yet. */
export type Script = Record<string, Answer | ((params: { protocolVersion?: number }) => Answer) | null>

/**
 * Answers `initialize` like an agent that supports these versions: with the requested one, otherwise with its latest, in
 * the form of that version.
 */
export function speaks(...versions: number[]): Script {
  return {
    initialize({ protocolVersion: requested = 0 }) {
      const protocolVersion = versions.includes(requested) ? requested : Math.max(...versions)
      if (protocolVersion === 1) return { protocolVersion }
      return {
        protocolVersion,
        info: { name: 'agent', version: '2' },
        capabilities: {},
        authMethods: [{ id: 'a' }],
      }
    },
  }
}

interface Message {
  id?: number
  method?: string
  params?: object
  result?: object
  error?: { code: number }
}

const USUAL: Record<string, Result> = {
  initialize: { protocolVersion: 1 },
  'session/new': { sessionId: 'new' },
  'session/resume': {},
  'session/load': {},
}

export function playedAgent(script: Script) {
  const received: Message[] = []
  const waiting = new Map<number, (message: Message) => void>()
  let taker: Parameters<AgentPipe['read']>[0] | null = null
  let asked = 0

  const send = (message: object) => taker?.onLine(JSON.stringify({ jsonrpc: '2.0', ...message }))
  const reply = (id: number | undefined, answer: Answer) =>
    answer instanceof AgentError
      ? send({ id, error: { code: answer.code, message: answer.message, data: answer.data } })
      : send({ id, result: answer })
  /** Default responses of an agent. */
  function scripted(method: string, params: object): Answer | null {
    const said = script[method]
    const own = typeof said === 'function' ? said(params) : said
    if (own === undefined) return USUAL[method] ?? {}
    return own === null || own instanceof AgentError ? own : { ...USUAL[method], ...own }
  }

  return {
    pipe: {
      write(line) {
        const message = JSON.parse(line) as Message
        if (message.method === undefined) return waiting.get(message.id as number)?.(message)
        received.push(message)
        const answer = scripted(message.method, message.params ?? {})
        if (answer !== null) reply(message.id, answer)
      },
      read: (reader) => void (taker = reader),
    } satisfies AgentPipe,
    /** Returns the parameters of a received request, undefined without one. */
    asked: (method: string) => received.find((message) => message.method === method)?.params,
    answers: (method: string, answer: Answer) =>
      reply(received.find((message) => message.method === method)?.id, answer),
    tells: (update: object) => send({ method: 'session/update', params: { sessionId: 'new', update } }),
    writes: (line: string) => taker?.onLine(line),
    end: () => taker?.onEnd(),
    /** Sends a request to its client; resolves with the complete response. */
    asks(method: string, params: object): Promise<Pick<Message, 'result' | 'error'>> {
      const id = 1_000 + ++asked
      const answer = new Promise<Message>((resolve) => waiting.set(id, resolve))
      send({ id, method, params })
      return answer.then(({ result, error }) => ({ ...(result && { result }), ...(error && { error }) }))
    },
  }
}
