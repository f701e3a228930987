/**
 * The used part of the client that opencode passes to a plugin. It calls the plugin's own process, so it needs neither
 * a port nor a password. Source: the types of `@opencode-ai/plugin` 1.18.
 */
import type { z } from 'zod'
import { Messages, Session, Statuses, type Prompt } from '../protocol.ts'
import { OpencodeError, type OpencodeServer } from '../server.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
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

/** Returns the operations of the persona's own server, carried out by the client. */
export function serverOfClient(client: PluginClient, clock: Pick<Clock, 'after'>): OpencodeServer {
  async function send(request_name: string, request: () => Promise<Answer>): Promise<Answer> {
    let timeout: Timer | null = null
    const timedOut = new Promise<never>((_, reject) => {
      const onTimeout = () => reject(new OpencodeError(null, `${request_name} timed out`))
      timeout = clock.after(LIMITS.opencode_answer_ms, onTimeout)
    })
    try {
      const answer = await Promise.race([request(), timedOut])
      const status = answer.response?.status ?? null
      if (answer.response?.ok === true) return answer
      throw new OpencodeError(status, `${request_name}: ${status}`)
    } catch (cause) {
      if (cause instanceof OpencodeError) throw cause
      throw new OpencodeError(null, `${request_name} failed`, cause)
    } finally {
      ;(timeout as Timer | null)?.cancel()
    }
  }

  return {
    async session({ id, directory }) {
      try {
        const of = { path: { id }, query: { directory } }
        return read(Session, await send('a session', () => client.session.get(of)))
      } catch (error) {
        if (error instanceof OpencodeError && error.status === 404) return null
        throw error
      }
    },
    async messages({ id, directory }, limit) {
      const of = { path: { id }, query: { directory, limit } }
      return read(Messages, await send('its messages', () => client.session.messages(of)))
    },
    async isBusy({ id, directory }) {
      const of = { query: { directory } }
      const statuses = read(Statuses, await send('the status', () => client.session.status(of)))
      return (statuses[id]?.type ?? 'idle') !== 'idle'
    },
    async prompt({ id, directory }, body) {
      const of = { path: { id }, query: { directory }, body }
      await send('a prompt', () => client.session.promptAsync(of))
    },
    close() {},
  }
}

function read<T>(form: z.ZodType<T>, { data }: Answer): T {
  const answer = form.safeParse(data)
  if (answer.success) return answer.data
  throw new OpencodeError(null, `opencode answered in an unknown format: ${answer.error.message}`)
}

/** Returns opencode's own log, because output of a plugin would appear in the middle of the person's screen. */
export function logOfClient(client: PluginClient): Log {
  const line = (level: LogLevel) => (fields: object, message: string) => {
    const { err, ...extra } = fields as { err?: unknown }
    const fields_out = err instanceof Error ? { ...extra, err: err.message } : extra
    const body = { service: 'turnbell', level, message, extra: fields_out }
    // A failed log call is ignored.
    void Promise.resolve(client.app.log({ body })).catch(() => {})
  }
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
}
