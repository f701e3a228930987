/** A fake opencode server with one session; the test controls the user and the turns. */
import type {
  Event,
  MessageInfo,
  Prompt,
  Session,
  StoredMessage,
} from '../../../adapters/opencode/protocol.ts'
import { OpencodeError, type OpencodeServer, type SessionRef } from '../../../adapters/opencode/server.ts'
import type { PlaceMode } from '../../suites/surface.suite.ts'
import type { FakeClock } from './fake-clock.ts'

export const session = (id: string, change: Partial<Session> = {}): Session => ({
  ...{ id, directory: '/project', time: { created: 0 } },
  ...change,
})

export function fakeOpencode(clock: FakeClock, sessions: Session[] = [session('ses_1')]) {
  let messages = 0
  const id = () => `msg_${String(++messages).padStart(4, '0')}`
  const world = {
    sessions,
    mode: 'takes' as PlaceMode,
    /** Whether the server reports a busy session. */
    busy: false,
    prompts: [] as Prompt[],
    /** Newest message of each session. */
    kept: new Map<string, MessageInfo>(),
    /** Older messages with their parts. */
    stored: [] as StoredMessage[],
    /** Ids of deleted messages. */
    removed: [] as string[],
    /** Metadata of the reported parts, by message. */
    metadata: new Map<string, Record<string, string>>(),
    withParts: (info: MessageInfo): StoredMessage => {
      const metadata = world.metadata.get(info.id)
      return { info, parts: [{ type: 'text', messageID: info.id, ...(metadata && { metadata }) }] }
    },
    /** Texts that the model was shown. */
    shown: [] as string[],
    /** Accepted prompts that are not reported yet. */
    taken: [] as Prompt[],

    server: {
      async session({ id }: SessionRef): Promise<Session | null> {
        return world.sessions.find((known) => known.id === id) ?? null
      },
      async messages({ id }: SessionRef, limit: number): Promise<StoredMessage[]> {
        const newest = world.kept.get(id)
        const stored = world.stored.filter(({ info }) => info.id !== newest?.id)
        return (newest === undefined ? stored : [...stored, world.withParts(newest)]).slice(-limit)
      },
      async removeMessage(_place: SessionRef, message_id: string): Promise<void> {
        world.removed.push(message_id)
        world.stored = world.stored.filter(({ info }) => info.id !== message_id)
        for (const [id, message] of world.kept) if (message.id === message_id) world.kept.delete(id)
      },
      async isBusy(): Promise<boolean> {
        return world.busy
      },
      async prompt(_place: SessionRef, prompt: Prompt): Promise<void> {
        if (world.mode === 'breaks') throw new OpencodeError(500, 'the session broke')
        if (world.mode === 'delays') await new Promise<void>((resolve) => clock.after(1_500, resolve))
        world.prompts.push(prompt)
        if (world.mode === 'swallows') return
        world.shown.push(prompt.parts[0].text)
        world.taken.push(...(world.mode === 'duplicates' ? [prompt, prompt] : [prompt]))
      },
      close() {},
    } satisfies OpencodeServer,

    /** Stores a message of the user or of a doorbell, and starts its turn. */
    begins(sessionID = 'ses_1'): Event[] {
      const taken: (Prompt | null)[] = world.taken.splice(0)
      const asked = (taken.length > 0 ? taken : [null]).map((prompt) => ({ message_id: id(), prompt }))
      return [
        ...asked.flatMap(({ message_id, prompt }) => [
          world.message(message_id, sessionID),
          world.part(message_id, prompt?.parts[0].metadata, sessionID),
        ]),
        world.says('busy', sessionID),
        ...asked.map(({ message_id }) => world.answer(message_id, sessionID)),
        world.says('busy', sessionID),
      ]
    },
    ends(sessionID = 'ses_1'): Event[] {
      return [world.says('idle', sessionID), { type: 'session.idle', properties: { sessionID } }]
    },
    breaks(sessionID = 'ses_1', name = 'MessageAbortedError'): Event[] {
      const error = { name }
      return [{ type: 'session.error', properties: { sessionID, error } }, ...world.ends(sessionID)]
    },
    /** The user denies a permission request of the session. */
    refuses: (sessionID = 'ses_1', reply = 'reject'): Event => ({
      type: 'permission.replied',
      properties: { sessionID, reply },
    }),
    dismisses: (sessionID = 'ses_1'): Event => ({ type: 'question.rejected', properties: { sessionID } }),
    says: (type: string, sessionID = 'ses_1'): Event => ({
      type: 'session.status',
      properties: { sessionID, status: { type } },
    }),
    message: (id: string, sessionID = 'ses_1', change: object = {}): Event =>
      world.keeps(sessionID, { id, role: 'user', ...change }),
    part(messageID: string, metadata?: Record<string, string>, sessionID = 'ses_1'): Event {
      if (metadata) world.metadata.set(messageID, metadata)
      return {
        type: 'message.part.updated',
        properties: { sessionID, part: { type: 'text', messageID, ...(metadata && { metadata }) } },
      }
    },
    answer: (parentID: string, sessionID = 'ses_1'): Event =>
      world.keeps(sessionID, { id: id(), role: 'assistant', parentID }),
    keeps(sessionID: string, message: Omit<MessageInfo, 'time'>): Event {
      const info = { ...message, time: { created: clock.now() } } as MessageInfo
      const before = world.kept.get(sessionID)
      if (before !== undefined && before.id !== info.id) world.stored.push(world.withParts(before))
      world.kept.set(sessionID, info)
      return { type: 'message.updated', properties: { sessionID, info } }
    },
    created: (info: Session): Event => ({
      type: 'session.created',
      properties: { sessionID: info.id, info },
    }),
    updated: (info: Session): Event => ({
      type: 'session.updated',
      properties: { sessionID: info.id, info },
    }),
  }
  return world
}
