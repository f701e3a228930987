import { describe, expect, test } from 'vitest'
import { callingAgent, provenIdentity } from '../../../../src/modules/lib/calling-agent.ts'

const calls = (kind: 'agent' | 'operator', agent_id: string) => ({
  caller: { identity: kind === 'agent' ? 'ada' : 'operator', kind },
  context: { agent_id },
})

describe('the agent that a call acts for', () => {
  test('a call may name its agent, and the persona of the token is stored with it', () => {
    const call = calls('agent', 'reviewer')
    expect(callingAgent(call)).toBe('reviewer')
    expect(provenIdentity(call.caller, 'reviewer')).toEqual({ identity: 'ada' })
    expect(provenIdentity(call.caller, 'ada/reviewer')).toEqual({})
  })

  test.each(['human', 'Operator', 'hu man', 'ｈｕｍａｎ', 'hum\u0430n', 'h\u200buman', 'system'])(
    'an agent may not use the reserved name %j in any spelling, and the operator may',
    (name) => {
      expect(callingAgent(calls('agent', name))).toBe('ada')
      expect(callingAgent(calls('operator', name))).toBe(name)
    },
  )
})
