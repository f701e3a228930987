/** Tests the verdict of the demo: for each promise, a run that breaks it must be detected. */
import { describe, expect, test } from 'vitest'
import type { Agent, Turn } from '../../../src/cli/demo/agent.ts'
import type { Run, Sent } from '../../../src/cli/demo/scenario.ts'
import { directions, judge } from '../../../src/cli/demo/verdict.ts'
import type { Doorbell } from '../../../src/contracts/doorbell.ts'
import type { DrainedSignal, SignalView } from '../../../src/contracts/signal.ts'

const QUESTION = 'ada-1'

function sent(from: string, n: number, more: Partial<Sent> = {}): Sent {
  const to = from === 'ada' ? 'bob' : 'ada'
  return {
    ...{ signal_id: `${from}-${n}`, seq: n * 2 + (from === 'ada' ? 0 : 1), from, to },
    ...{ intent: 'word', payload: `text ${n} of ${from}`, mid_turn: n > 1 },
    ...more,
  }
}
const drained = (one: Sent, more: Partial<DrainedSignal> = {}): DrainedSignal => ({
  ...{ signal_id: one.signal_id, from: one.from, origin: 'agent', to: one.to, intent: one.intent },
  ...{ payload: one.payload, priority: 3, created_at: '2026-01-01T00:00:00.000Z', deliveries: 1 },
  ...more,
})
const bell = (signal_id: string, text = 'Signals wait.'): Doorbell => ({
  ...{ doorbell_id: `bell-${signal_id}`, identity: 'x', pending_count: 1, signal_id, from: 'y' },
  ...{ intent: 'word', priority: 3, reason: 'signal', text },
})
const turn = (turn_seq: number, signals: DrainedSignal[]): Turn => ({
  ...{ turn_seq, started_by: 'doorbell', drained: signals },
  bells: [bell(signals[0]?.signal_id ?? '')],
})
const agent = (identity: string, turns: Turn[]): Agent =>
  ({ identity, diary: { turns, bells_mid_turn: [] } }) as unknown as Agent

/** Returns a run in which all promises held. */
function goodRun(): Run {
  const numbers = [1, 2, 3, 4, 5]
  const fromAda = numbers.map((n) => sent('ada', n))
  const fromBob = numbers.map((n) => sent('bob', n))
  const reply = drained(sent('bob', 9, { signal_id: 'reply' }), { in_reply_to: QUESTION })
  const kept = [...fromAda, ...fromBob, { signal_id: 'reply' }].map(
    () => ({ status: 'acked', stages: { confirmed_at: 'then' } }) as unknown as SignalView,
  )
  return {
    sent: [...fromAda, ...fromBob],
    agents: {
      ada: agent('ada', [
        turn(
          1,
          fromBob.map((one) => drained(one)),
        ),
        turn(2, [reply]),
      ]),
      bob: agent('bob', [
        turn(1, [drained(fromAda[0] as Sent)]),
        turn(
          2,
          fromAda.slice(1).map((one) => drained(one)),
        ),
      ]),
    },
    question: QUESTION,
    hub: {
      ...{ first_pid: 1, second_pid: 2, killed_by: 'SIGKILL', killed_at_ms: 10, ready_again_ms: 20 },
      ...{ pending_before: { ada: 3, bob: 3 }, pending_after: { ada: 3, bob: 3 } },
      refused_while_down: 'hub_unreachable',
    },
    kept,
    rung_by_daemon: { ada: 2, bob: 2 },
    pending_at_end: { ada: 0, bob: 0 },
  }
}

const failing = (run: Run) => judge(run).flatMap(({ name, held }) => (held ? [] : [name]))

test('a correct run passes every check', () => {
  expect(failing(goodRun())).toEqual([])
  expect(directions(goodRun())).toEqual([
    { from: 'ada', to: 'bob', sent: 5, drained: 5, drained_twice: 0, sent_mid_turn: 4 },
    { from: 'bob', to: 'ada', sent: 6, drained: 6, drained_twice: 0, sent_mid_turn: 4 },
  ])
})

describe('a faulty run', () => {
  const bobs = (run: Run) => run.agents.bob.diary
  const planted: [string, string, (run: Run) => void][] = [
    [
      'a lost signal',
      'every signal was drained exactly once',
      (run) => void bobs(run).turns[1]?.drained.pop(),
    ],
    [
      'a signal drained twice',
      'every signal was drained exactly once',
      (run) => bobs(run).turns[1]?.drained.push(drained(run.sent[0] as Sent)),
    ],
    [
      'a signal that was not sent',
      'every signal was drained exactly once',
      (run) => bobs(run).turns[1]?.drained.push(drained(sent('ada', 6))),
    ],
    [
      'a second delivery',
      'no signal was delivered twice',
      (run) => {
        const [first] = bobs(run).turns[0]?.drained ?? []
        if (first) first.deliveries = 2
      },
    ],
    [
      'a wrong order',
      'signals of each sender and priority were drained in order',
      (run) => void bobs(run).turns[1]?.drained.reverse(),
    ],
    [
      'two doorbells in a turn',
      'at most one doorbell per turn',
      (run) => bobs(run).turns[0]?.bells.push(bell('ada-1')),
    ],
    [
      'a doorbell in a running turn',
      'no doorbell rang in the middle of a turn',
      (run) => bobs(run).bells_mid_turn.push(bell('ada-2')),
    ],
    [
      'that no signal was sent during a turn',
      'no doorbell rang in the middle of a turn',
      (run) => run.sent.forEach((one) => (one.mid_turn = false)),
    ],
    [
      'a doorbell without its signal',
      'every doorbell was followed by a drain of its signal',
      (run) => {
        const [first] = bobs(run).turns
        if (first) first.bells = [bell('another')]
      },
    ],
    [
      'a doorbell that the agent did not receive',
      'every doorbell was followed by a drain of its signal',
      (run) => (run.rung_by_daemon['ada'] = 3),
    ],
    [
      'a doorbell with a payload',
      'no doorbell contained a payload',
      (run) => {
        const [first] = bobs(run).turns
        if (first) first.bells = [bell('ada-1', 'ada says: text 1 of ada')]
      },
    ],
    [
      'a hub that was not killed',
      'the hub was killed and restarted on the same home',
      (run) => (run.hub.killed_by = null),
    ],
    [
      'a hub that did not restart',
      'the hub was killed and restarted on the same home',
      (run) => (run.hub.second_pid = 1),
    ],
    [
      'a journal that lost signals',
      'no accepted signal was lost by the kill',
      (run) => (run.hub.pending_after = { ada: 3, bob: 2 }),
    ],
    [
      'that no signal was pending when the hub was killed',
      'no accepted signal was lost by the kill',
      (run) => (run.hub.pending_before = run.hub.pending_after = { ada: 0, bob: 0 }),
    ],
    [
      'a send that was accepted without a hub',
      'no accepted signal was lost by the kill',
      (run) => (run.hub.refused_while_down = 'accepted'),
    ],
    [
      'a question without an answer',
      'the question was answered',
      (run) => void run.agents.ada.diary.turns.pop(),
    ],
    [
      'signals that are still pending',
      'no signal is pending and every drain is final',
      (run) => (run.pending_at_end = { ada: 1, bob: 0 }),
    ],
    [
      'an unconfirmed drain',
      'no signal is pending and every drain is final',
      (run) => {
        const [first] = run.kept
        if (first) first.stages.confirmed_at = null
      },
    ],
    [
      'a hub with fewer signals',
      'no signal is pending and every drain is final',
      (run) => void run.kept.pop(),
    ],
    ['too few signals', 'at least five signals each way', (run) => void run.sent.shift()],
  ]
  test.each(planted)('the demo detects %s', (_, promise, plant) => {
    const run = goodRun()
    plant(run)
    expect(failing(run)).toContain(promise)
  })
})
