/**
 * What opencode hands to a plugin, as far as it is used here: a client of the very process that the plugin
 * runs in. No port is needed, and no password. Source: the types of `@opencode-ai/plugin` 1.18.
 */
import type { z } from 'zod'
import { Messages, Session, Statuses, type Prompt } from '../protocol.ts'
import { OpencodeError, type OpencodeServer } from '../server.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import type { Clock, Timer } from '../../../src/ports/clock.ts'
import type { Log } from '../../../src/ports/log.ts'

interface Answer {
  data?: unknown
  response?: { status: number; ok: boolean }
}
interface OfDirectory {
  query: { directory: string }
}
interface OfSession extends OfDirectory {
  path: { id: string }
}
type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export interface PluginClient {
  session: {
    get(of: OfSession): Promise<Answer>
    messages(of: OfSession & { query: { limit: number } }): Promise<Answer>
    status(of: OfDirectory): Promise<Answer>
    promptAsync(of: OfSession & { body: Prompt }): Promise<Answer>
  }
  app: {
    log(entry: {
      body: { service: string; level: LogLevel; message: string; extra?: Record<string, unknown> }
    }): Promise<unknown>
  }
}

/** The same questions as to a server of our own. */
export function ownServer(client: PluginClient, clock: Pick<Clock, 'after'>): OpencodeServer {
  async function ask(what: string, question: () => Promise<Answer>): Promise<Answer> {
    let patience: Timer | null = null
    const tooLate = new Promise<never>((_, reject) => {
      const late = () => reject(new OpencodeError(null, `${what} was not answered`))
      patience = clock.after(LIMITS.opencode_answer_ms, late)
    })
    try {
      const answer = await Promise.race([question(), tooLate])
      const status = answer.response?.status ?? null
      if (answer.response?.ok === true) return answer
      throw new OpencodeError(status, `${what}: ${status}`)
    } catch (cause) {
      if (cause instanceof OpencodeError) throw cause
      throw new OpencodeError(null, `${what} broke`, cause)
    } finally {
      ;(patience as Timer | null)?.cancel()
    }
  }

  return {
    async session({ id, directory }) {
      try {
        const of = { path: { id }, query: { directory } }
        return read(Session, await ask('a session', () => client.session.get(of)))
      } catch (error) {
        if (error instanceof OpencodeError && error.status === 404) return null
        throw error
      }
    },
    async messages({ id, directory }, limit) {
      const of = { path: { id }, query: { directory, limit } }
      return read(Messages, await ask('its messages', () => client.session.messages(of)))
    },
    async isBusy({ id, directory }) {
      const of = { query: { directory } }
      const statuses = read(Statuses, await ask('the status', () => client.session.status(of)))
      return (statuses[id]?.type ?? 'idle') !== 'idle'
    },
    async prompt({ id, directory }, body) {
      const of = { path: { id }, query: { directory }, body }
      await ask('a prompt', () => client.session.promptAsync(of))
    },
    close() {},
  }
}

function read<T>(form: z.ZodType<T>, { data }: Answer): T {
  const answer = form.safeParse(data)
  if (answer.success) return answer.data
  throw new OpencodeError(null, `opencode answered in another form: ${answer.error.message}`)
}

/** opencode's own log: what a plugin prints would stand in the middle of the person's screen. */
export function ownLog(client: PluginClient): Log {
  const line = (level: LogLevel) => (fields: object, message: string) => {
    const { err, ...extra } = fields as { err?: unknown }
    const told = err instanceof Error ? { ...extra, err: err.message } : extra
    const body = { service: 'turnbell', level, message, extra: told }
    // Nothing depends on a line of a log.
    void Promise.resolve(client.app.log({ body })).catch(() => {})
  }
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
}
