/** Reports that only show another presence decide nothing: with and without them the daemon does the same. */
import { expect, test } from 'vitest'
import type { Presence } from '../../../src/contracts/presence.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { machineWorld, readyWorld, type MachineWorld } from '../../support/worlds/machine-world.ts'

let shown = 0
const presence = (): Presence => ({
  ...{ waiting: [], agents: [], tokens: ++shown, window: null, cost_usd: null },
  ...{ compacting_since: null, last_compaction: null },
})

type Step = (world: MachineWorld) => unknown
/** The client holds the last doorbell, or no longer; a probe is answered alike. */
const holds =
  (held: boolean): Step =>
  (world) => {
    world.surfaceHolds = held
    world.reports(held ? { outstanding_doorbell_id: world.bells.at(-1)?.doorbell.doorbell_id } : {})
  }
/** Waits second by second. */
const wait = (ms: number): Step[] => Array.from({ length: ms / 1_000 }, () => (world) => world.pass(1_000))

const SCRIPTS: Record<string, Step[]> = {
  'an idle agent is rung and drains': [
    (world) => world.pushes(),
    (world) => world.turnBegins(true),
    (world) => world.drains(),
    (world) => world.turnEnds(),
    (world) => world.pushes(),
  ],
  'the hub answers a check late': [
    (world) => (world.hubAnswers = false),
    (world) => world.pushes(),
    (world) => world.hubAnswersNow(),
  ],
  'a turn runs': [
    (world) => world.turnBegins(),
    (world) => world.pushes(),
    ...wait(60_000),
    (world) => world.turnEnds(),
  ],
  'a doorbell waits in the client, and then is lost': [
    (world) => world.pushes(),
    holds(true),
    ...wait(LIMITS.reminders_ms[0]),
    holds(false),
    ...wait(5_000),
    ...wait(30_000),
  ],
  'turns end without a drain': [
    (world) => world.pushes(),
    (world) => world.turnBegins(true),
    (world) => world.turnEnds(),
    ...wait(20_000),
    ...wait(20_000),
    ...wait(600_000),
  ],
  'a person interrupts': [
    (world) => world.turnBegins(),
    (world) => world.reports({ turn: 'idle', interrupted: true }),
    (world) => world.pushes(),
    ...wait(LIMITS.interrupt_hold_ms / 2),
    ...wait(LIMITS.interrupt_hold_ms),
  ],
  'a backlog waits after a reconnect': [
    (world) => world.linkLost(),
    (world) => world.accepts(),
    (world) => world.connects(),
    ...wait(10_000),
    ...wait(10_000),
  ],
}

/** Runs the script, with a report of another presence after each step if `noisy`; returns what the daemon did. */
function run(script: readonly Step[], noisy: boolean) {
  const world = readyWorld()
  const story: unknown[] = []
  for (const step of script) {
    step(world)
    const { seen_doorbell_id, outstanding_doorbell_id } = world.report
    if (noisy) world.reports({ presence: presence(), seen_doorbell_id, outstanding_doorbell_id })
    story.push([world.now, world.state, world.bells.length, world.delivery_reason])
  }
  return {
    story,
    bells: world.bells,
    deadline: world.deadline,
    effects: world.effects.filter(({ type }) => type !== 'answerReport' && type !== 'probe'),
  }
}

test.each(Object.entries(SCRIPTS))('%s, the same with reports of presence between', (_, script) => {
  expect(run(script, true)).toEqual(run(script, false))
})

test('the presence of the last report is in the status, and none without a surface', () => {
  const world = machineWorld()
  const given = presence()
  world.reports({ presence: given })
  expect(world.context.history.surface.presence).toEqual(given)
  world.reports({ presence: undefined })
  expect(world.context.history.surface.presence).toBeNull()
  world.reports({ presence: given })
  world.surfaceLeaves()
  expect(world.context.history.surface.presence).toBeNull()
})

test('an invalid presence does not make a report invalid', () => {
  const world = readyWorld()
  world.reports({ turn: 'busy', presence: { waiting: 'no' } as unknown as Presence })
  expect(world.context.history.surface).toMatchObject({ turn: 'busy', presence: null })
})
