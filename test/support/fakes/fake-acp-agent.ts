/** A fake agent behind the Agent Client Protocol; the test controls its turns. */
import type { Agent } from '../../../adapters/acp/agent.ts'
import { AgentError, AgentGoneError } from '../../../adapters/acp/wire.ts'
import type { AcpSurface } from '../../../adapters/acp/acp-surface.ts'
import type { PlaceMode } from '../../suites/surface.suite.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { FakeClock } from './fake-clock.ts'

export interface FakeAcpAgent {
  mode: PlaceMode
  /** Texts that the agent received. */
  shown: string[]
  /** Whether it accepts every prompt without doing any work or reading it. */
  quiet: boolean
  /** Maximum number of concurrent prompts. */
  at_once: number
  agent(): Agent
  tells(kind: string, more?: object): void
  works(): void
  prompted(): boolean
  ends(stop_reason?: string): void
  dies(): void
  /** Restarts the agent, as its keeper does after a broken turn. */
  restarts(): void
  /** Triggers pending timeouts immediately. */
  comesToRest(): void
}

export function fakeAcpAgent(clock: FakeClock, surface: AcpSurface): FakeAcpAgent {
  let answer: ((stop_reason: string) => void) | null = null
  let breakOff: ((error: Error) => void) | null = null
  /** A pending event: a prompt is abandoned, or the agent returns. */
  let coming: (() => void) | null = null
  function soon(delay_ms: number, happen: () => void): void {
    const once = () => {
      if (coming === once) coming = null
      timer.cancel()
      happen()
    }
    const timer = clock.after(delay_ms, once)
    coming = once
  }
  const world: FakeAcpAgent = {
    mode: 'takes',
    shown: [],
    quiet: false,
    at_once: 0,
    agent: () => agent,

    tells: (kind, more = {}) => surface.updated({ sessionUpdate: kind, ...more }),
    works: () => world.tells('agent_message_chunk'),
    prompted: () => answer !== null,
    ends(stop_reason = world.quiet ? 'cancelled' : 'end_turn') {
      answer?.(stop_reason)
      answer = null
      world.quiet = false
    },
    restarts() {
      world.dies()
      soon(LIMITS.shim_restart_min_ms, () => surface.ready(agent))
    },
    comesToRest: () => coming?.(),
    dies() {
      breakOff?.(new AgentGoneError('the agent went away'))
      answer = null
      surface.gone()
    },
  }
  const agent: Agent = {
    session_id: 'ses_1',
    prompt(text: string): Promise<string> {
      if (!world.quiet && world.mode === 'breaks')
        return Promise.reject(new AgentError(-32_603, 'the model is away'))
      // The client cannot know that a running prompt will never be answered.
      if (!world.quiet && world.mode === 'swallows')
        return new Promise((resolve) => soon(500, () => resolve('cancelled')))
      world.at_once = Math.max(world.at_once, answer === null ? 1 : 2)
      const answered = new Promise<string>((resolve, reject) => {
        answer = resolve
        breakOff = reject
      })
      if (world.quiet) return answered
      world.shown.push(text)
      if (world.mode === 'delays') clock.after(1_500, () => world.works())
      else world.works()
      if (world.mode === 'duplicates') world.works()
      return answered
    },
  }
  return world
}
