import { expect, test } from 'vitest'
import { Hello, type ModEvent } from '../../../../../adapters/claude-code/mod/messages.ts'
import { createUnderWay } from '../../../../../adapters/claude-code/mod/under-way.ts'
import { LIMITS } from '../../../../../src/contracts/limits/limits.ts'
import { HELLO } from '../../../../support/fakes/fake-module.ts'

/** Applies events that are a millisecond apart. */
function after(...events: ModEvent[]) {
  let ms = 0
  const under_way = createUnderWay(() => ms)
  for (const event of events) {
    under_way.note(event)
    ms += 1
  }
  return under_way.state()
}
const calls = (...events: ModEvent[]) => after(...events).waiting.map(({ call }) => call)
const agents = (...events: ModEvent[]) => after(...events).agents.map(({ agent }) => agent)

const began = (turn: string): ModEvent => ({ kind: 'turn_started', turn })
const over = (turn: string): ModEvent => ({ kind: 'turn_ended', turn, reason: 'aborted' })
const ASKS = { kind: 'waiting_started', call: 'c1', tool: 'Bash', why: 'needs approval' } as const
const OF_AGENT = { kind: 'waiting_started', call: 'c2', tool: 'Bash', agent: 'a1' } as const
const SPAWNED = { kind: 'agent_started', agent: 'a1', type: 'Explore' } as const

test('what waits and runs is kept with its fields and the time of its begin', () => {
  expect(after(began('t1'), ASKS, SPAWNED)).toEqual({
    waiting: [{ call: 'c1', tool: 'Bash', why: 'needs approval', at: 1 }],
    agents: [{ agent: 'a1', type: 'Explore', at: 2 }],
  })
})

test.each<[string, ModEvent[], string[]]>([
  ['answered', [{ kind: 'waiting_ended', call: 'c1' }], ['c2']],
  ['closed with its call', [{ kind: 'tool_ended', call: 'c2', ms: 1 }], ['c1']],
  ['closed with the turn', [over('t1')], ['c2']],
  ['closed with a turn whose end was not reported', [began('t2')], ['c2']],
  ['of the next turn when an interrupted turn ends', [began('t2'), ASKS, over('t1')], ['c2', 'c1']],
  ['of a subagent that ended', [{ kind: 'agent_ended', agent: 'a1' }], ['c1']],
  ['of another session', [{ kind: 'session', session_id: 's2' }], ['c2']],
])('a dialog that is %s', (_, events, left) => {
  expect(calls(began('t1'), ASKS, OF_AGENT, ...events)).toEqual(left)
})

test('a subagent runs until its report, and keeps its begin when it continues', () => {
  expect(after(SPAWNED, SPAWNED, over('t1')).agents).toMatchObject([{ agent: 'a1', at: 0 }])
  expect(agents(SPAWNED, { kind: 'agent_ended', agent: 'a1' })).toEqual([])
})

test('a greeting is valid and fits a request, whatever the client reports', () => {
  const long = '\ud800'.repeat(LIMITS.mod_text_length_max - 4)
  const events = Array.from({ length: 40 }, (_, n): ModEvent[] => [
    { kind: 'agent_started', agent: `${n}${long}`, parent: long, type: long, task: long },
    { kind: 'waiting_started', call: `${n}${long}`, tool: long, why: long, agent: long },
  ]).flat()
  const hello = Hello.parse({ ...HELLO, ...after(...events) })
  expect([hello.agents?.length, hello.waiting?.length]).toEqual([
    LIMITS.presence_agents_max,
    LIMITS.presence_waiting_max,
  ])
  expect(Buffer.byteLength(JSON.stringify(hello))).toBeLessThan(LIMITS.mod_body_bytes_max)
})
