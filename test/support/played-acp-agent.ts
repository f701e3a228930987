/** The other end of an agent's standard streams: answers by script, and tells or asks what the test says. */
import { AgentError, type AgentPipe } from '../../adapters/acp/wire.ts'

/** By method: what is answered, an error, or null for no answer yet. */
export type Script = Record<string, object | AgentError | null>

interface Message {
  id?: number
  method?: string
  params?: object
  result?: object
  error?: { code: number }
}

const USUAL: Record<string, object> = {
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
  const reply = (id: number | undefined, answer: object | AgentError) =>
    answer instanceof AgentError
      ? send({ id, error: { code: answer.code, message: answer.message } })
      : send({ id, result: answer })
  /** One who is not scripted answers as agents do. */
  function scripted(method: string): object | AgentError | null {
    const own = script[method]
    if (own === undefined) return USUAL[method] ?? {}
    return own === null || own instanceof AgentError ? own : { ...USUAL[method], ...own }
  }

  return {
    pipe: {
      write(line) {
        const message = JSON.parse(line) as Message
        if (message.method === undefined) return waiting.get(message.id as number)?.(message)
        received.push(message)
        const answer = scripted(message.method)
        if (answer !== null) reply(message.id, answer)
      },
      read: (reader) => void (taker = reader),
    } satisfies AgentPipe,
    /** What it was asked, undefined where it was not. */
    asked: (method: string) => received.find((message) => message.method === method)?.params,
    answers: (method: string, answer: object) =>
      reply(received.find((message) => message.method === method)?.id, answer),
    tells: (update: object) => send({ method: 'session/update', params: { sessionId: 'new', update } }),
    writes: (line: string) => taker?.onLine(line),
    end: () => taker?.onEnd(),
    /** Asks of its client; resolves with the whole answer. */
    asks(method: string, params: object): Promise<Pick<Message, 'result' | 'error'>> {
      const id = 1_000 + ++asked
      const answer = new Promise<Message>((resolve) => waiting.set(id, resolve))
      send({ id, method, params })
      return answer.then(({ result, error }) => ({ ...(result && { result }), ...(error && { error }) }))
    },
  }
}
