/**
 * Keeps a headless Claude Code session for a persona. The session id is stored, so the next process resumes the
 * session.
 *
 * This is not a surface. The session's own worker is: it reports the turns, returns doorbells in Stop responses and
 * rings the inbox, as in a terminal. This process adds the worker's last delivery path: the client's stdin, where a
 * doorbell is a prompt of the user.
 */
import * as z from 'zod'
import { replyTo, StreamLine, userLine } from './protocol.ts'
import type { Permissions } from '../../../src/contracts/config.ts'
import type { Log } from '../../../src/ports/log.ts'
import { parseJsonAs } from '../../../src/contracts/validation/json.ts'

export const SessionNote = z.object({
  session_id: z.string(),
  /** The session has a conversation and can be resumed. */
  begun: z.boolean(),
  pid: z.number().int().positive().nullable(),
  /** Start time of the process, to detect a reused pid. */
  started: z.string().nullable(),
})
export type SessionNote = z.infer<typeof SessionNote>

/** Storage of the session note. */
export interface NoteStore {
  read(): SessionNote | null
  write(note: SessionNote): void
}

export interface ClientProcess {
  pid: number | undefined
  started: string | null
  write(line: object): void
  /** Kills the client and every process it started. */
  kill(): void
  onLine(listener: (line: string) => void): void
}

export interface KeptSession {
  /** Writes a doorbell to the client's stdin. */
  ring(text: string): void
}

/** Starts the client. Throws if the note cannot be written; the client is then killed, as no later process would find it. */
export function keepSession(deps: {
  notes: NoteStore
  newSessionId: () => string
  /** Starts the client with these arguments. */
  start: (args: readonly string[]) => ClientProcess
  permissions: Permissions
  log: Log
}): KeptSession {
  const { notes, log } = deps
  const earlier = notes.read()
  const resumes = earlier?.begun === true
  let note: SessionNote = {
    session_id: resumes ? earlier.session_id : deps.newSessionId(),
    begun: resumes,
    pid: null,
    started: null,
  }
  const session_args = [resumes ? '--resume' : '--session-id', note.session_id]
  const permission_args = deps.permissions === 'allow' ? ['--permission-prompt-tool', 'stdio'] : []
  const client = deps.start([...session_args, ...permission_args])
  try {
    saveNote({ pid: client.pid ?? null, started: client.started })
  } catch (error) {
    client.kill()
    throw error
  }
  log.info({ client_pid: client.pid, session_id: note.session_id, resumes }, 'session started')

  function saveNote(change: Partial<SessionNote>): void {
    const next = { ...note, ...change }
    notes.write(next)
    note = next
  }

  client.onLine((text) => {
    const line = parseLine(text)
    if (line === null) return log.warn({ text: text.slice(0, 200) }, 'invalid line from the client ignored')
    const answer = replyTo(line, deps.permissions)
    if (answer !== null) client.write(answer)
    // Sent at the beginning of every turn, so the first one shows that the session has a conversation.
    if (line.type !== 'system' || line.subtype !== 'init') return
    const session_id = line.session_id ?? note.session_id
    if (note.begun && session_id === note.session_id) return
    try {
      saveNote({ begun: true, session_id })
    } catch (error) {
      log.warn({ err: error }, 'session note could not be written; retrying at the next turn')
    }
  })

  return { ring: (text) => client.write(userLine(text)) }
}

/** Whether the client reports that the conversation no longer exists, so the next start must begin a new one. */
export function isSessionMissing(stderr_line: string): boolean {
  return /No conversation found/i.test(stderr_line)
}

function parseLine(text: string): StreamLine | null {
  return parseJsonAs(StreamLine, text)
}
