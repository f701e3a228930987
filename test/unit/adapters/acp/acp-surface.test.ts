import { beforeEach, describe, expect, test } from 'vitest'
import { acpSurface, type AcpSurface } from '../../../../adapters/acp/acp-surface.ts'
import { PermissionRequest } from '../../../../adapters/acp/protocol.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { systemClock } from '../../../../src/system/clock.ts'
import { createIds, systemRandom } from '../../../../src/system/random.ts'
import { doorbell } from '../../../support/doorbells.ts'
import { fakeAcpAgent, type FakeAcpAgent } from '../../../support/fakes/fake-acp-agent.ts'
import { atRest, fakeClock, type FakeClock } from '../../../support/fakes/fake-clock.ts'

let surface: AcpSurface
let agent: FakeAcpAgent
let clock: FakeClock
beforeEach(() => {
  clock = fakeClock()
  surface = acpSurface({
    ...{ kind: 'opencode', policy: 'reject', clock, log: silentLog },
    ids: createIds(systemClock, systemRandom),
    onTurnEnded: () => {},
    onTurnFailed: () => {},
    onResumeRequested: () => {},
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

describe('a permission', () => {
  test("a permission for turnbell's own tools is given after a long conversation was repeated", () => {
    for (let n = 0; n < LIMITS.acp_calls_max; n++)
      agent.tells('tool_call', { ...SHELL, toolCallId: `old-${n}` })
    surface.ready(agent.agent())
    agent.tells('tool_call', OWN)
    expect(answerTo(OWN)).toBe('allow_once')
  })

  test("a permission is not given to a call that takes the tool's name in a later update", () => {
    surface.ready(agent.agent())
    agent.tells('tool_call', SHELL)
    agent.tells('tool_call', { ...OWN, toolCallId: 'shell' })
    expect(answerTo({ ...OWN, toolCallId: 'shell', kind: 'execute' })).toBe('reject_once')
  })
})

describe('a doorbell', () => {
  /** The agent has the prompt and has shown no work on it. */
  async function prompted() {
    surface.ready(agent.agent())
    agent.quiet = true
    const bell = doorbell()
    const answer = surface.notify_surface(bell)
    await clock.advance(LIMITS.acp_receipt_ms)
    expect(await answer).toEqual({ accepted: true, proof: 'sent' })
    return { bell, outstanding: { turn: 'busy', outstanding_doorbell_id: bell.doorbell_id } }
  }

  test('a doorbell is outstanding until the agent works on its prompt, without a time limit', async () => {
    const { bell, outstanding } = await prompted()
    await clock.advance(10 * 60_000)
    expect(await surface.status()).toMatchObject(outstanding)
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    agent.works()
    const status = await surface.status()
    expect(status).toMatchObject({ turn: 'busy', seen_doorbell_id: bell.doorbell_id })
    expect(status).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('a doorbell stays outstanding after updates that do not show work', async () => {
    const { outstanding } = await prompted()
    agent.tells('available_commands_update')
    expect(await surface.status()).toMatchObject(outstanding)
  })

  test.each(['cancelled', 'refusal'])(
    'a doorbell is neither outstanding nor seen if its prompt ended with %s',
    async (reason) => {
      await prompted()
      agent.ends(reason)
      await atRest()
      const status = await surface.status()
      expect(status).toMatchObject({ turn: 'idle' })
      expect(status).not.toHaveProperty('outstanding_doorbell_id')
      expect(status).not.toHaveProperty('seen_doorbell_id')
    },
  )

  test('a doorbell is not outstanding after its agent has exited', async () => {
    await prompted()
    agent.dies()
    await atRest()
    expect(await surface.status()).not.toHaveProperty('outstanding_doorbell_id')
    surface.ready(agent.agent())
    expect(await surface.status()).toMatchObject({ turn: 'idle' })
    expect(await surface.status()).not.toHaveProperty('outstanding_doorbell_id')
  })
})
