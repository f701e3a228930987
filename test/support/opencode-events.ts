/** Builds the events of opencode 1.18 as it sends them, shortened, in the order that was recorded from the client. */

export interface ClientPayload {
  type: string
  properties: Record<string, unknown> & { sessionID: string }
}

export const TOKENS = { total: 120, input: 100, output: 15, reasoning: 5, cache: { read: 7, write: 0 } }
const ZERO = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }
/** 2026-03-01T12:00:00.000Z */
const AT = 1_772_366_400_000

/** Events of one session. Ids of messages are ascending over all sessions. */
export function opencodeEvents(sessionID = 'ses_1') {
  let answer = { id: '', parentID: '' }
  const event = (type: string, properties: object = {}): ClientPayload => ({
    type,
    properties: { sessionID, ...properties },
  })
  const info = (more: object) => ({
    ...{ id: sessionID, directory: '/project', title: 'New session', time: { created: AT, updated: AT } },
    ...{ model: { id: 'small', providerID: 'local' } },
    ...more,
  })
  const part = (type: string, more: object) =>
    event('message.part.updated', {
      part: { id: nextId('prt'), sessionID, messageID: answer.id, type, ...more },
    })
  const answerWith = (more: object) =>
    event('message.updated', {
      info: {
        ...{ ...answer, role: 'assistant', agent: 'build', providerID: 'local', modelID: 'small', cost: 0 },
        ...{ tokens: ZERO, time: { created: AT } },
        ...more,
      },
    })

  const session = {
    event,
    created: (more: object = {}) => event('session.created', { info: info(more) }),
    updated: (more: object = {}) => event('session.updated', { info: info(more) }),
    status: (type: string, more: object = {}) => event('session.status', { status: { type, ...more } }),
    idle: () => [session.status('idle'), event('session.idle')],
    failed: (name: string, message: string) => event('session.error', { error: { name, data: { message } } }),

    /** A stored prompt, which is reported before its text. */
    prompt(text: string | null, more: object = {}): ClientPayload[] {
      const id = nextId('msg')
      answer = { id: '', parentID: id }
      const message = { id, role: 'user', agent: 'build', time: { created: AT } }
      const texts = text === null ? [] : [part('text', { messageID: id, text, ...more })]
      return [event('message.updated', { info: message }), ...texts]
    },
    part,
    /** An answer to the last prompt begins. */
    answers(more: object = {}): ClientPayload[] {
      answer = { id: nextId('msg'), parentID: answer.parentID }
      return [session.status('busy'), answerWith(more)]
    },
    answer: answerWith,
    text: (text: string) => part('text', { text, time: { start: AT } }),
    /** The answer is complete. opencode reports that twice. */
    answered: (more: object = {}) => {
      const done = answerWith({
        tokens: TOKENS,
        cost: 0.25,
        time: { created: AT, completed: AT + 9 },
        ...more,
      })
      return [done, done]
    },

    /** A call of a tool; each of its states is reported as the whole part. */
    call(tool: string, input: object, id = nextId('call')) {
      const part_id = nextId('prt')
      const state = (status: string, more: object, named = tool) =>
        part('tool', { id: part_id, callID: id, tool: named, state: { status, ...more } })
      const time = { start: AT + 1, end: AT + 6 }
      return {
        id,
        pending: () => state('pending', { input: {}, raw: '' }),
        running: (metadata?: object) => state('running', { input, metadata, time: { start: AT + 1 } }),
        completed: (output: string, metadata: object = {}, named = tool) =>
          state('completed', { input, output, metadata, title: '', time }, named),
        failed: (error: string) => state('error', { input, error, time }),
        compacted: () =>
          state('completed', { input, output: '', metadata: {}, time: { ...time, compacted: AT + 9 } }),
      }
    },
    asked: (id: string, callID: string) =>
      event('permission.asked', {
        id,
        permission: 'bash',
        patterns: ['*'],
        tool: { messageID: answer.id, callID },
      }),
    replied: (requestID: string, reply: string) => event('permission.replied', { requestID, reply }),
    questioned: (id: string, callID: string, question: string) =>
      event('question.asked', {
        id,
        questions: [{ question, header: 'Choice' }],
        tool: { messageID: answer.id, callID },
      }),
  }
  return session
}

let ids = 0
function nextId(kind: string): string {
  return `${kind}_${String(++ids).padStart(6, '0')}`
}
