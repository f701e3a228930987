/** The prompts of one opencode session that are not answered yet. opencode reports a message first, and then its parts. */
import type { Message, Part } from './client-events.ts'
import { remembered } from './recorded-thread.ts'

/** What an answer replies to. */
export interface Prompted {
  /** Absent if only the client wrote it. */
  text: string | undefined
  /** Who prompted. */
  by: 'person' | 'doorbell'
  at: number | undefined
  /** The message asks for a compaction; the answer is its summary. */
  is_compaction: boolean
}

interface Prompt {
  id: string
  at: number | undefined
  /** By id of the part; a text may be reported again when it changes. */
  texts: Map<string, string>
  /** Whether each text is a doorbell. */
  bells: Map<string, boolean>
  is_compaction: boolean
}

export interface Prompts {
  /** Returns false for a message that is known or answered already. */
  add(message: Message): boolean
  addPart(part: Exclude<Part, { type: 'tool' }>): void
  remove(message_id: string): void
  /** Removes and returns the messages up to this one: the model is shown all of them. Null if none waits. */
  takeUntil(message_id: string): Prompted | null
  /** Id of the newest one; null if none waits. */
  newest(): string | null
}

/** `isBell` recognizes turnbell's own prompts by the metadata of their text. */
export function unansweredPrompts(
  isBell: (metadata: Record<string, unknown> | undefined) => boolean,
): Prompts {
  const prompts = remembered<Prompt>()
  // Ids are ascending. A message is reported again when the changes of its turn are known.
  let answered_id = ''

  return {
    add({ id, time }) {
      if (id <= answered_id || prompts.get(id) !== undefined) return false
      prompts.set(id, { id, at: time.created, texts: new Map(), bells: new Map(), is_compaction: false })
      return true
    },
    addPart(part) {
      const prompt = prompts.get(part.messageID)
      if (prompt === undefined) return
      if (part.type === 'compaction') prompt.is_compaction = true
      else if (part.type === 'subtask') prompt.texts.set(part.id, part.prompt)
      else if (part.synthetic !== true && part.text !== '') {
        prompt.texts.set(part.id, part.text)
        prompt.bells.set(part.id, isBell(part.metadata))
      }
    },
    remove: (message_id) => prompts.delete(message_id),
    takeUntil(message_id) {
      if (message_id > answered_id) answered_id = message_id
      const taken = prompts.values().filter(({ id }) => id <= message_id)
      for (const { id } of taken) prompts.delete(id)
      taken.sort((a, b) => (a.id < b.id ? -1 : 1))
      const last = taken.at(-1)
      return last === undefined ? null : { ...mergedOf(taken), is_compaction: last.is_compaction }
    },
    newest: () =>
      prompts
        .values()
        .reduce<string | null>((best, { id }) => (best === null || id > best ? id : best), null),
  }
}

function mergedOf(prompts: readonly Prompt[]): Omit<Prompted, 'is_compaction'> {
  const texts = prompts.flatMap((one) => [...one.texts.values()])
  const written = prompts.filter((one) => one.texts.size > 0)
  const only_bells = written.length > 0 && written.every((one) => [...one.bells.values()].includes(true))
  return {
    text: texts.length === 0 ? undefined : texts.join('\n\n'),
    by: only_bells ? 'doorbell' : 'person',
    at: (written[0] ?? prompts[0])?.at,
  }
}
