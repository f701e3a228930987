/**
 * A Claude Code session without a window, kept for a persona: which session it is outlives the process
 * that keeps it, so that the next one goes on where this one ended.
 *
 * It is no surface. The session's own worker is: it reports the turns, hands over bells at their end and
 * rings the inbox, as in a terminal. What is kept here lends the worker its last way in, the client's
 * stdin, where a bell is a prompt of the user.
 */
import * as z from 'zod'
import { answerTo, StreamLine, userLine } from './protocol.ts'
import type { Permissions } from '../../../src/contracts/config.ts'
import type { Log } from '../../../src/ports/log.ts'
import { jsonAs } from '../../../src/contracts/json.ts'

export const SessionNote = z.object({
  session_id: z.string(),
  /** It has a conversation that can be gone on with; one that was never spoken to has none. */
  begun: z.boolean(),
  pid: z.number().int().positive().nullable(),
  /** Tells the process from a later one with its number. */
  started: z.string().nullable(),
})
export type SessionNote = z.infer<typeof SessionNote>

/** Where the note is kept. */
export interface NoteStore {
  read(): SessionNote | null
  write(note: SessionNote): void
}

export interface ClientProcess {
  pid: number | undefined
  started: string | null
  write(line: object): void
  /** Ends it at once, with all that it started. */
  kill(): void
  onLine(listener: (line: string) => void): void
}

export interface KeptSession {
  /** A bell for the client's stdin. */
  ring(text: string): void
}

/** Throws where no note can be written. The client is killed then, because nobody would ever find it. */
export function keepSession(deps: {
  notes: NoteStore
  newSessionId: () => string
  /** Starts the client with these words. */
  start: (words: readonly string[]) => ClientProcess
  permissions: Permissions
  log: Log
}): KeptSession {
  const { notes, log } = deps
  const former = notes.read()
  const resumes = former?.begun === true
  let note: SessionNote = {
    session_id: resumes ? former.session_id : deps.newSessionId(),
    begun: resumes,
    pid: null,
    started: null,
  }
  const chosen = [resumes ? '--resume' : '--session-id', note.session_id]
  const asks = deps.permissions === 'allow' ? ['--permission-prompt-tool', 'stdio'] : []
  const client = deps.start([...chosen, ...asks])
  try {
    keep({ pid: client.pid ?? null, started: client.started })
  } catch (error) {
    client.kill()
    throw error
  }
  log.info({ client_pid: client.pid, session_id: note.session_id, resumes }, 'a session was started')

  function keep(change: Partial<SessionNote>): void {
    const next = { ...note, ...change }
    notes.write(next)
    note = next
  }

  client.onLine((text) => {
    const line = parsed(text)
    if (line === null) return log.warn({ text: text.slice(0, 200) }, 'the client said what is no line of it')
    const answer = answerTo(line, deps.permissions)
    if (answer !== null) client.write(answer)
    // Said at the beginning of every turn, and so with the first that is worth going on with.
    if (line.type !== 'system' || line.subtype !== 'init') return
    const session_id = line.session_id ?? note.session_id
    if (note.begun && session_id === note.session_id) return
    try {
      keep({ begun: true, session_id })
    } catch (error) {
      log.warn({ err: error }, 'it was not noted that the session began; the next turn tries again')
    }
  })

  return { ring: (text) => client.write(userLine(text)) }
}

/** The conversation is gone, so that the next start must begin another. */
export function forgetsSession(client_says: string): boolean {
  return /No conversation found/i.test(client_says)
}

function parsed(text: string): StreamLine | null {
  return jsonAs(StreamLine, text)
}
