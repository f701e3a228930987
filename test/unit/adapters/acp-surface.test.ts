import { beforeEach, describe, expect, test } from 'vitest'
import { acpSurface, type AcpSurface } from '../../../adapters/acp/acp-surface.ts'
import { PermissionRequest } from '../../../adapters/acp/protocol.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { createIds, systemRandom } from '../../../src/system/random.ts'
import { fakeAcpAgent, type FakeAcpAgent } from '../../support/fake-acp-agent.ts'
import { fakeClock } from '../../support/fake-clock.ts'

let surface: AcpSurface
let agent: FakeAcpAgent
beforeEach(() => {
  const clock = fakeClock()
  surface = acpSurface({
    ...{ kind: 'opencode', policy: 'reject', clock, log: silentLog },
    ids: createIds(systemClock, systemRandom),
    onTurnEnded: () => {},
    onTurnBroke: () => {},
    onWanted: () => {},
  })
  agent = fakeAcpAgent(clock, surface)
})

const OWN = { toolCallId: 'own', title: 'turnbell_signals_pending', kind: 'other' }
const SHELL = { toolCallId: 'shell', title: 'bash', kind: 'execute' }

function answerTo(toolCall: object): string {
  const options = ['allow_once', 'reject_once'].map((kind) => ({ kind, optionId: kind, name: kind }))
  const answer = surface.permission(PermissionRequest.parse({ sessionId: 'ses_1', toolCall, options }))
  return answer.outcome.outcome === 'selected' ? answer.outcome.optionId : answer.outcome.outcome
}

describe('leave for a tool call', () => {
  test("is given for turnbell's own tools, after however long a memory was told", () => {
    for (let n = 0; n < LIMITS.acp_calls_max; n++)
      agent.tells('tool_call', { ...SHELL, toolCallId: `old-${n}` })
    surface.ready(agent.agent())
    agent.tells('tool_call', OWN)
    expect(answerTo(OWN)).toBe('allow_once')
  })

  test('is not given to another call that takes their name later', () => {
    surface.ready(agent.agent())
    agent.tells('tool_call', SHELL)
    agent.tells('tool_call', { ...OWN, toolCallId: 'shell' })
    expect(answerTo({ ...OWN, toolCallId: 'shell', kind: 'execute' })).toBe('reject_once')
  })
})
