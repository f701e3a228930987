/** The requests of a Codex thread: each turn of the main agent, recorded with its prompt. */
import { endStatus, failureWord, given, word, type Item, type Turn } from './messages.ts'
import type { RecordFact } from './place.ts'
import { parseBellName } from '../thread-tracker.ts'
import type { Identity } from '../../../src/contracts/ids.ts'
import * as z from 'zod'

/** The newest turn whose begin was recorded. */
export interface RecordedTurn {
  turn_id: string
  ended: boolean
}

export interface ThreadTurnsDeps {
  identity: Identity
  record: RecordFact
  /** The newest turn that was recorded before, perhaps by another process. */
  recorded: RecordedTurn | null
  /** The begin or the end of a turn was recorded. */
  onTurn: (turn: RecordedTurn) => void
}

interface OpenTurn {
  turn_id: string
  /** Number of the request; undefined for the last one. */
  turn_seq: number | undefined
  /** The event of its begin waits for the prompt. */
  unrecorded: boolean
  started_at: string | undefined
}

/** Items that may precede the prompt. */
const BEFORE_PROMPT: ReadonlySet<string> = new Set(['hookPrompt'])

export function threadTurns({ identity, record, recorded, onTurn }: ThreadTurnsDeps) {
  let newest = recorded
  let open: OpenTurn | null = null
  if (newest?.ended === false)
    open = { turn_id: newest.turn_id, turn_seq: undefined, unrecorded: false, started_at: undefined }

  function noteRecorded(turn: RecordedTurn): void {
    newest = turn
    onTurn(turn)
  }

  function recordBegin(about: { prompt?: string; prompt_type?: string }): void {
    if (open === null || !open.unrecorded) return
    const { turn_id, started_at } = open
    const data = { request_id: word(turn_id), ...about }
    const place = { agent: undefined, turn_seq: undefined, at: started_at }
    open = { ...open, turn_seq: record({ kind: 'request.started', data }, place), unrecorded: false }
    noteRecorded({ turn_id, ended: false })
  }

  /** Notes that the turn runs, if it is a new one. */
  function begin(turn_id: string, at: string | undefined): void {
    // An ended turn may still contain running calls. Ids of later turns are greater.
    if (open?.turn_id === turn_id || (newest !== null && turn_id <= newest.turn_id)) return
    recordBegin({})
    open = { turn_id, turn_seq: undefined, unrecorded: true, started_at: at }
  }

  return {
    begin,
    recorded: () => newest,
    isOpen: (turn_id: string) => open?.turn_id === turn_id,
    /** Number of the running request; undefined for the last one. */
    turnSeq: () => open?.turn_seq,

    /** Records the request with the first item of its turn. A later prompt was typed while the turn ran. */
    itemSeen(item: Item, turn_id: string, at: string | undefined): void {
      begin(turn_id, at)
      if (open?.turn_id !== turn_id || BEFORE_PROMPT.has(item.type)) return
      if (item.type === 'contextCompaction') return recordBegin({ prompt_type: 'compaction' })
      if (item.type !== 'userMessage') return recordBegin({})
      const { clientId, content } = UserMessage.parse(item)
      const is_bell = parseBellName(clientId, identity) !== null
      recordBegin({ prompt: promptOf(content), prompt_type: is_bell ? 'doorbell' : 'person' })
    },

    /** Records the end of a turn that was not recorded. `before` is called before that. */
    end(turn: Turn, at: string | undefined, before: () => void): void {
      begin(turn.id, at)
      if (open?.turn_id !== turn.id) return
      recordBegin({})
      before()
      const { error } = turn
      const about = given({
        reason: error == null ? undefined : failureWord(error),
        error: error?.message || undefined,
      })
      const data = { request_id: word(turn.id), status: endStatus(turn), ...about }
      record({ kind: 'request.ended', data }, { agent: undefined, turn_seq: open.turn_seq, at })
      open = null
      noteRecorded({ turn_id: turn.id, ended: true })
    },
  }
}

const UserMessage = z.looseObject({
  /** The id that the sender gave the message. */
  clientId: z.string().nullish().catch(undefined),
  content: z.array(z.looseObject({ type: z.string() })).catch([]),
})

/** Returns the texts of a prompt, and a word for each part that is not a text. */
function promptOf(content: z.infer<typeof UserMessage>['content']): string {
  return content
    .map(({ type, text, name, path }) => {
      if (type === 'text' && typeof text === 'string') return text
      const named = [name, path].find((field) => typeof field === 'string')
      return `[${[type, named].filter(Boolean).join(' ')}]`
    })
    .join('\n')
}
