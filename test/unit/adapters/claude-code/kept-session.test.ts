/** A headless session: its id, its permission answers, and its note. */
import { beforeEach, describe, expect, test } from 'vitest'
import {
  isSessionMissing,
  keepSession,
  type SessionNote,
} from '../../../../adapters/claude-code/headless/kept-session.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import type { Permissions } from '../../../../src/contracts/config.ts'

let note: SessionNote | null
let words: readonly string[]
let written: object[]
let say: (line: unknown) => void
/** Whether a note can be written. */
let disk_full: boolean
let killed: number

beforeEach(() => {
  note = null
  written = []
  disk_full = false
  killed = 0
})

function keep(permissions: Permissions = 'reject') {
  return keepSession({
    notes: {
      read: () => note,
      write(next) {
        if (disk_full) throw new Error('ENOSPC')
        note = next
      },
    },
    newSessionId: () => 'new-session',
    start(given) {
      words = given
      return {
        pid: 4_711,
        started: 'then',
        write: (line) => written.push(line),
        kill: () => (killed += 1),
        onLine: (listener) => {
          say = (line) => listener(typeof line === 'string' ? line : JSON.stringify(line))
        },
      }
    },
    permissions,
    log: silentLog,
  })
}

const init = (session_id: string) => ({ type: 'system', subtype: 'init', session_id, tools: [] })
const mayUse = (tool_name: string, input: object = {}) => ({
  type: 'control_request',
  request_id: 'request-1',
  request: { subtype: 'can_use_tool', tool_name, input },
})

describe('the id of a headless session', () => {
  test('the id is new if there was no session, and is stored with its process', () => {
    keep()
    expect(words).toEqual(['--session-id', 'new-session'])
    expect(note).toEqual({ session_id: 'new-session', begun: false, pid: 4_711, started: 'then' })
  })

  test('the id is new if the former session has no conversation', () => {
    note = { session_id: 'former', begun: false, pid: 1, started: null }
    keep()
    expect(words).toEqual(['--session-id', 'new-session'])
  })

  test('the id is that of the former session if it has a conversation', () => {
    note = { session_id: 'former', begun: true, pid: 1, started: null }
    keep()
    expect(words).toEqual(['--resume', 'former'])
    expect(note).toMatchObject({ session_id: 'former', begun: true, pid: 4_711 })
  })

  test('the id follows the client, and the session can be resumed after its first turn', () => {
    keep()
    say({ type: 'system', subtype: 'hook_started', session_id: 'new-session' })
    expect(note).toMatchObject({ begun: false })
    say(init('new-session'))
    expect(note).toMatchObject({ session_id: 'new-session', begun: true })
    say(init('another'))
    expect(note).toMatchObject({ session_id: 'another', begun: true, pid: 4_711 })
  })

  test.each([
    ['No conversation found with session ID: 1', true],
    ['Error: the API key is invalid', false],
  ])('the stderr line %j means a missing session: %s', (text, forgotten) => {
    expect(isSessionMissing(text)).toBe(forgotten)
  })
})

describe('a note that cannot be written', () => {
  test('a note that cannot be written kills the started client', () => {
    disk_full = true
    expect(() => keep()).toThrow('ENOSPC')
    expect(killed).toBe(1)
  })

  test('a note that cannot be written during a session is written at the next turn', () => {
    keep()
    disk_full = true
    say(init('new-session'))
    expect([killed, note?.begun]).toEqual([0, false])
    disk_full = false
    say(init('new-session'))
    expect(note).toMatchObject({ begun: true, pid: 4_711 })
  })
})

describe('a permission request', () => {
  test('permission requests are enabled only if the persona allows', () => {
    keep('reject')
    expect(words).not.toContain('--permission-prompt-tool')
    keep('allow')
    expect(words.join(' ')).toContain('--permission-prompt-tool stdio')
  })

  test('a permission request is granted with its input', () => {
    keep('allow')
    say(mayUse('Bash', { command: 'ls' }))
    const response = { behavior: 'allow', updatedInput: { command: 'ls' } }
    expect(written).toEqual([
      { type: 'control_response', response: { subtype: 'success', request_id: 'request-1', response } },
    ])
  })

  test('a permission request is denied if the persona rejects, even if requests were not enabled', () => {
    keep('reject')
    say(mayUse('Bash', { command: 'ls' }))
    expect(written).toMatchObject([{ response: { response: { behavior: 'deny' } } }])
  })

  test.each(['AskUserQuestion', 'ExitPlanMode'])('a question to a person (%s) is denied', (tool) => {
    keep('allow')
    say(mayUse(tool))
    expect(written).toMatchObject([{ response: { response: { behavior: 'deny' } } }])
  })

  test('another control request gets an error', () => {
    keep('allow')
    say({ type: 'control_request', request_id: 'request-2', request: { subtype: 'elicitation' } })
    expect(written).toMatchObject([{ response: { subtype: 'error', request_id: 'request-2' } }])
  })
})

test.each(['', 'no json', '[]', '{"type":7}', '{"type":"control_request"}', '{"type":"result"}'])(
  'the line %j changes nothing and is not answered',
  (line) => {
    keep('allow')
    const before = note
    say(line)
    expect(written).toEqual([])
    expect(note).toEqual(before)
  },
)

test('a doorbell is a prompt of the user', () => {
  keep().ring('ring')
  expect(written).toEqual([{ type: 'user', message: { role: 'user', content: 'ring' } }])
})
