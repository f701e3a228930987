/** An agent behind the Agent Client Protocol, as the shim sees it: the test plays its turns. */
import type { Agent } from '../../adapters/acp/agent.ts'
import { AgentError, AgentGoneError } from '../../adapters/acp/wire.ts'
import type { AcpSurface } from '../../adapters/acp/acp-surface.ts'
import type { PlaceMode } from '../suites/surface.suite.ts'
import type { FakeClock } from './fake-clock.ts'

export function fakeAcpAgent(clock: FakeClock, surface: AcpSurface) {
  let answer: ((stop_reason: string) => void) | null = null
  let breakOff: ((error: Error) => void) | null = null
  const world = {
    mode: 'takes' as PlaceMode,
    /** Texts that came through. */
    shown: [] as string[],
    /** Most prompts that ever ran at once. */
    at_once: 0,

    agent: {
      session_id: 'ses_1',
      prompt(text: string): Promise<string> {
        if (world.mode === 'breaks') return Promise.reject(new AgentError(-32_603, 'the model is away'))
        world.at_once = Math.max(world.at_once, answer === null ? 1 : 2)
        const answered = new Promise<string>((resolve, reject) => {
          answer = resolve
          breakOff = reject
        })
        if (world.mode === 'swallows') return answered
        world.shown.push(text)
        if (world.mode === 'delays') clock.after(1_500, () => world.works())
        else world.works()
        if (world.mode === 'duplicates') world.works()
        return answered
      },
    } satisfies Agent,

    tells: (kind: string, more: object = {}) => surface.updated({ sessionUpdate: kind, ...more }),
    works: () => world.tells('agent_message_chunk'),
    prompted: () => answer !== null,
    ends(stop_reason = 'end_turn') {
      answer?.(world.mode === 'swallows' ? 'cancelled' : stop_reason)
      answer = null
    },
    dies() {
      breakOff?.(new AgentGoneError('the agent went away'))
      answer = null
      surface.gone()
    },
  }
  return world
}
