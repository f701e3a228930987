import { describe, expect, test } from 'vitest'
import {
  agentGone,
  agentReady,
  promptEnded,
  promptSent,
  startTracking,
  updated,
} from '../../../../adapters/acp/turn-tracker.ts'

const ready = agentReady(startTracking(1_000, 'acp-1'))

describe('a turn', () => {
  test('a turn is unknown before the agent has a session, then idle', () => {
    expect(startTracking(1_000, 'acp-1')).toMatchObject({ turn: 'unknown', turn_seq: 1_000 })
    expect(ready).toMatchObject({ turn: 'idle', turn_seq: 1_000 })
  })

  test('a turn lasts from the prompt to its answer and counts once', () => {
    const running = promptSent(ready, 'bell-1')
    expect(running).toMatchObject({ turn: 'busy', turn_seq: 1_001 })
    expect(promptEnded(running, 'end_turn')).toMatchObject({ turn: 'idle', turn_seq: 1_001 })
  })

  test('a turn ends with its agent, and so does its run', () => {
    const gone = agentGone(promptSent(ready, 'bell-1'), 'acp-2')
    expect(gone).toMatchObject({ turn: 'unknown', turn_seq: 1_001, session_id: 'acp-2', doorbell_id: null })
  })
})

describe('a receipt', () => {
  test.each(['agent_message_chunk', 'agent_thought_chunk', 'tool_call', 'plan'])(
    'a receipt is %s',
    (kind) => {
      expect(updated(promptSent(ready, 'bell-1'), kind).seen_doorbell_id).toBe('bell-1')
    },
  )

  test.each(['available_commands_update', 'usage_update', 'user_message_chunk', 'session_info_update'])(
    'a receipt is not %s, which also arrives without a turn',
    (kind) => expect(updated(promptSent(ready, 'bell-1'), kind).seen_doorbell_id).toBeNull(),
  )

  test('a receipt is the end of a turn without other updates', () => {
    expect(promptEnded(promptSent(ready, 'bell-1'), 'end_turn').seen_doorbell_id).toBe('bell-1')
  })

  test.each(['cancelled', 'refusal'])('a receipt is not the end of a turn with %s', (reason) => {
    expect(promptEnded(promptSent(ready, 'bell-1'), reason).seen_doorbell_id).toBeNull()
  })

  test('updates without a running prompt, as during session/load, are not receipts', () => {
    expect(updated(ready, 'agent_message_chunk')).toEqual(ready)
  })
})
