import { describe, expect, test } from 'vitest'
import {
  agentGone,
  agentReady,
  promptEnded,
  promptSent,
  startTracking,
  updated,
} from '../../../adapters/acp/turn-tracker.ts'

const ready = agentReady(startTracking(1_000, 'acp-1'))

describe('a turn', () => {
  test('is unknown before the agent has a session, then idle', () => {
    expect(startTracking(1_000, 'acp-1')).toMatchObject({ turn: 'unknown', turn_seq: 1_000 })
    expect(ready).toMatchObject({ turn: 'idle', turn_seq: 1_000 })
  })

  test('lasts from the prompt to its answer, and counts once', () => {
    const running = promptSent(ready, 'bell-1')
    expect(running).toMatchObject({ turn: 'busy', turn_seq: 1_001 })
    expect(promptEnded(running, 'end_turn')).toMatchObject({ turn: 'idle', turn_seq: 1_001 })
  })

  test('breaks off with its agent, and the run it belonged to is over', () => {
    const gone = agentGone(promptSent(ready, 'bell-1'), 'acp-2')
    expect(gone).toMatchObject({ turn: 'unknown', turn_seq: 1_001, session_id: 'acp-2', bell: null })
  })
})

describe('a receipt', () => {
  test.each(['agent_message_chunk', 'agent_thought_chunk', 'tool_call', 'plan'])('is %s', (kind) => {
    expect(updated(promptSent(ready, 'bell-1'), kind).seen_doorbell_id).toBe('bell-1')
  })

  test.each(['available_commands_update', 'usage_update', 'user_message_chunk', 'session_info_update'])(
    'is not %s, which comes without a turn too',
    (kind) => expect(updated(promptSent(ready, 'bell-1'), kind).seen_doorbell_id).toBeNull(),
  )

  test('is the end of a turn of which nothing else was told', () => {
    expect(promptEnded(promptSent(ready, 'bell-1'), 'end_turn').seen_doorbell_id).toBe('bell-1')
  })

  test.each(['cancelled', 'refusal'])('is not a turn that ended as %s', (reason) => {
    expect(promptEnded(promptSent(ready, 'bell-1'), reason).seen_doorbell_id).toBeNull()
  })

  test('is nothing that is told while no prompt runs, as when a session is loaded', () => {
    expect(updated(ready, 'agent_message_chunk')).toEqual(ready)
  })
})
