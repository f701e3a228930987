import { describe, expect, test } from 'vitest'
import { modWorld, PERSONA, type ModWorldOptions } from '../../../../support/worlds/mod-world.ts'
import { LIMITS } from '../../../../../src/contracts/limits/limits.ts'
import { atRest } from '../../../../support/fakes/fake-clock.ts'

async function started(options: ModWorldOptions = {}) {
  const world = modWorld(options)
  await world.start()
  return world
}
const BELL = { doorbell_id: 'b1', text: 'ring' }

describe('attaching', () => {
  test('the module greets its worker', async () => {
    const { worker, mod, turn } = await started({ worker: false })
    await turn('t1')
    worker.begin()
    await mod.clock.advance(LIMITS.mod_retry_min_ms)
    expect(worker.hellos).toEqual([
      {
        protocol: 1,
        version: '1.2.3',
        client_version: '2.1.332',
        interactive: true,
        session_id: 's1',
        ...{ busy: true, turn: 't1', past: 1 },
        ...{ waiting: [], agents: [] },
      },
    ])
    expect(worker.events()).toMatchObject([{ kind: 'turn_started', turn: 't1', seq: 1 }])
  })

  test('a greeting contains open dialogs and running subagents, also after a restart of the worker', async () => {
    const { worker, mod, turn } = await started()
    const { tools } = mod.mod
    const at = mod.clock.now()
    await turn('t1')
    await tools.agentSpawned({ description: 'look' }, async () => ({ agentId: 'a1' }))
    const ask = { tool: 'Bash', tool_use_id: 'c1' }
    await tools.toolChecked(ask, async () => ({ decision: 'ask', reason: 'r'.repeat(5_000) }))
    await atRest()
    worker.replace()
    await mod.clock.advance(LIMITS.mod_beat_ms)
    expect(worker.hellos).toHaveLength(2)
    expect(worker.hellos.at(-1)).toMatchObject({
      waiting: [{ call: 'c1', tool: 'Bash', why: 'r'.repeat(LIMITS.mod_text_length_max), at }],
      agents: [{ agent: 'a1', task: 'look', at }],
    })
  })

  test('the worker is looked for with increasing delays', async () => {
    const { mod } = await started({ worker: false })
    const looks: number[] = []
    for (let n = 0; n < 6; n++) {
      looks.push(mod.clock.nextIn() ?? 0)
      await mod.clock.advance(mod.clock.nextIn() ?? 0)
    }
    expect(looks).toEqual([500, 1_000, 2_000, 4_000, 5_000, 5_000])
  })

  test('a session without a persona does nothing', async () => {
    const { worker, mod, turn } = await started({ variables: { HOME: '/user', TURNBELL_HOME: '/h' } })
    await turn('t1')
    expect({ requests: worker.requests, reads: mod.reads, timers: mod.clock.armed() }).toEqual({
      requests: [],
      reads: [],
      timers: 0,
    })
  })

  test('the pointer is read in the home of the persona', async () => {
    const { mod } = await started({ variables: PERSONA })
    expect(mod.reads).toEqual(['/h/run/claude-7.mod'])
  })

  test('a module that the configuration switches off is silent', async () => {
    const { worker, mod, turn } = await started({ off: 'configured' })
    await turn('t1')
    await mod.clock.advance(10 * LIMITS.mod_protocol_retry_ms)
    expect(worker.requests).toEqual(['hello'])
  })

  test('a module of another protocol greets again after a minute, and then reports only later events', async () => {
    const { worker, mod, turn } = await started({ off: 'protocol' })
    await turn('t1')
    await mod.clock.advance(LIMITS.mod_protocol_retry_ms - 1)
    expect(worker.requests).toEqual(['hello'])
    worker.accept()
    await mod.clock.advance(1)
    await turn('t2')
    expect(worker.events()).toMatchObject([{ seq: 1, kind: 'turn_started', turn: 't2' }])
  })
})

describe('events', () => {
  test('events are sent in order, with one request at a time', async () => {
    const { worker, turn } = await started()
    const release = worker.hold('events')
    await turn('t1')
    await turn('t2')
    await turn('t3')
    expect(worker.open('events')).toBe(1)
    release()
    await atRest()
    expect(worker.events().map(({ seq, ...event }) => [seq, 'turn' in event && event.turn])).toEqual([
      [1, 't1'],
      [2, 't2'],
      [3, 't3'],
    ])
  })

  test('a hook does not wait for the worker', async () => {
    const { worker, mod } = await started()
    worker.hold('events')
    await expect(mod.mod.turns.turnStarted({ turnId: 't1' }, async () => 'next')).resolves.toBe('next')
  })

  test('the module shows that it lives while nothing happens', async () => {
    const { worker, mod, turn } = await started()
    const before = worker.batches.length
    await mod.clock.advance(LIMITS.mod_beat_ms - 1)
    await turn('t1')
    await mod.clock.advance(LIMITS.mod_beat_ms - 1)
    expect(worker.batches.slice(before).map(({ events }) => events.length)).toEqual([1])
    await mod.clock.advance(1 + LIMITS.mod_beat_ms)
    expect(worker.batches.slice(before).map(({ events }) => events.length)).toEqual([1, 0, 0])
  })

  test('a replaced worker is greeted, and gets the same events under new numbers', async () => {
    const { worker, turn } = await started()
    await turn('t1')
    worker.replace()
    await turn('t2')
    expect(worker.hellos.map(({ busy }) => busy)).toEqual([null, true])
    expect(worker.events()).toMatchObject([
      { seq: 1, turn: 't1' },
      { seq: 1, turn: 't2' },
    ])
    expect(worker.batches.at(-1)).toMatchObject({ epoch: 'e2', lost: 0 })
  })

  test('events that came while the worker was away follow when it returns', async () => {
    const { worker, mod, turn } = await started()
    worker.end()
    await turn('t1')
    await turn('t2')
    worker.begin()
    await mod.clock.advance(2 * LIMITS.mod_retry_min_ms)
    expect(worker.events()).toMatchObject([
      { seq: 1, turn: 't1' },
      { seq: 2, turn: 't2' },
    ])
  })

  test('a batch that the worker cannot read is not repeated', async () => {
    const { worker, turn } = await started()
    worker.refuse(400)
    await turn('t1')
    worker.refuse(null)
    await turn('t2')
    expect(worker.batches.at(-1)).toMatchObject({ lost: 1, events: [{ seq: 1, turn: 't2' }] })
  })

  test('a batch is repeated after an error of the worker', async () => {
    const { worker, mod, turn } = await started()
    worker.refuse(500)
    await turn('t1')
    worker.refuse(null)
    await mod.clock.advance(LIMITS.mod_retry_min_ms)
    expect(worker.events()).toMatchObject([{ seq: 1, turn: 't1' }])
    expect(worker.hellos).toHaveLength(1)
  })

  test('the end of the session is the last event', async () => {
    const { worker, mod, turn } = await started()
    await mod.mod.turns.sessionEnded({ reason: 'other' }, async () => ({}))
    await atRest()
    const requests = worker.requests.length
    await turn('t1')
    worker.replace()
    await mod.clock.advance(10 * LIMITS.mod_beat_ms)
    expect(worker.events()).toMatchObject([{ kind: 'ended', reason: 'other' }])
    expect(worker.requests).toHaveLength(requests)
  })
})

describe('doorbells', () => {
  test('a doorbell is submitted and reported, and the next one is waited for', async () => {
    const { worker, mod } = await started()
    expect(worker.open('wait')).toBe(1)
    worker.ring(BELL)
    await atRest()
    expect({ submitted: mod.submitted, waiting: worker.open('wait') }).toEqual({
      submitted: ['ring'],
      waiting: 0,
    })
    mod.answer({})
    await atRest()
    expect(worker.events()).toMatchObject([{ kind: 'bell', doorbell_id: 'b1' }])
    expect(worker.open('wait')).toBe(1)
  })

  test('a wait names the doorbell whose outcome the worker has not acknowledged', async () => {
    const { worker, mod } = await started()
    const release = worker.hold('events')
    worker.ring(BELL)
    await atRest()
    mod.answer({})
    await atRest()
    release()
    await atRest()
    worker.ring({ ...BELL, doorbell_id: 'b2' })
    await atRest()
    mod.answer({})
    await atRest()
    expect(worker.waits.map(({ holds }) => holds)).toEqual([[], ['b1'], ['b2']])
    expect(worker.events().map((event) => event.kind === 'bell' && event.doorbell_id)).toEqual(['b1', 'b2'])
  })

  test('a doorbell that comes during a turn is dropped as busy', async () => {
    const { worker, mod, turn } = await started()
    await turn('t1')
    worker.ring(BELL)
    await atRest()
    expect(mod.submitted).toEqual([])
    expect(worker.events().at(-1)).toMatchObject({ kind: 'bell', doorbell_id: 'b1', dropped: 'busy' })
  })

  test('the module attaches again when its waiting request breaks', async () => {
    const { worker, mod } = await started()
    worker.end()
    await atRest()
    worker.begin()
    await mod.clock.advance(LIMITS.mod_retry_min_ms)
    expect(worker.hellos).toHaveLength(2)
    expect(worker.open('wait')).toBe(1)
  })

  test('an outcome that came while the worker was away is reported to the next one', async () => {
    const { worker, mod } = await started()
    worker.ring(BELL)
    await atRest()
    worker.replace()
    mod.answer({ drop: 'the session was stopped' })
    await atRest()
    expect(worker.batches.at(-1)).toMatchObject({
      epoch: 'e2',
      events: [{ seq: 1, kind: 'bell', dropped: 'stopped' }],
    })
  })
})

describe('the id of the session', () => {
  test('an id that changes after /clear is reported once', async () => {
    const { worker, mod } = await started()
    await mod.mod.turns.sessionEnded({ reason: 'clear' }, async () => ({}))
    await mod.clock.advance(60)
    mod.session_id = 's2'
    await mod.clock.advance(2_000)
    expect(worker.events()).toMatchObject([{ kind: 'session', session_id: 's2' }])
  })

  test('an id that changed unnoticed is reported with the next turn', async () => {
    const { worker, mod, turn } = await started()
    mod.session_id = 's2'
    await turn('t1')
    expect(worker.events()).toMatchObject([{ kind: 'turn_started' }, { kind: 'session', session_id: 's2' }])
  })
})

describe('the view', () => {
  const view = { persona: 'ada', team: null }
  const statuses = (shown: readonly string[]) => shown.filter((call) => call.startsWith('status'))

  test('a view is shown, and the next wait names its version', async () => {
    const { worker, mod } = await started()
    worker.show({ version: 3, view })
    await atRest()
    expect(statuses(mod.shown)).toEqual(['status ada · hub not reachable'])
    expect(worker.waits.map((wait) => wait.view)).toEqual([0, 3])
  })

  test('a view is removed when the worker is away or replaced, and another worker gets no version of it', async () => {
    const { worker, mod, turn } = await started()
    worker.show({ version: 3, view })
    await atRest()
    worker.replace()
    await turn('t1')
    expect(statuses(mod.shown)).toEqual(['status ada · hub not reachable', 'status undefined'])
    expect(worker.waits.at(-1)).toMatchObject({ epoch: 'e2', view: 0 })
    worker.show({ version: 1, view })
    await atRest()
    worker.end()
    await mod.clock.advance(LIMITS.mod_beat_ms)
    expect(statuses(mod.shown).at(-1)).toBe('status undefined')
  })

  test('a view stays after a single failed wait, and the next wait requests it again', async () => {
    const { worker, mod } = await started()
    worker.show({ version: 3, view })
    await atRest()
    worker.breakRequests()
    await atRest()
    await mod.clock.advance(LIMITS.mod_retry_min_ms)
    expect(statuses(mod.shown)).toEqual(['status ada · hub not reachable'])
    expect(worker.waits.map((wait) => wait.view)).toEqual([0, 3, 0])
  })

  test('a view that was removed because requests failed is requested again from the same worker', async () => {
    const { worker, mod, turn } = await started()
    worker.show({ version: 3, view })
    await atRest()
    worker.refuse(500)
    await turn('t1')
    expect(statuses(mod.shown).at(-1)).toBe('status undefined')
    worker.refuse(null)
    worker.breakRequests()
    await atRest()
    await mod.clock.advance(2 * LIMITS.mod_retry_min_ms)
    expect(worker.waits.at(-1)).toMatchObject({ epoch: 'e1', view: 0 })
  })
})

test('the conversation is read after a compaction, and only while the worker wants events', async () => {
  const compactedAndAnswered = async ({ mod }: Awaited<ReturnType<typeof started>>) => {
    const { turns } = mod.mod
    await turns.compacted({ trigger: 'manual' }, async () => ({ tokensBefore: 9, tokensAfter: 1 }))
    await turns.turnCompleted({ turnId: 't1', reason: 'answer' }, async () => ({}))
    await atRest()
    return mod.conversations
  }
  expect(await compactedAndAnswered(await started({ off: 'configured' }))).toBe(0)
  expect(await compactedAndAnswered(await started({ worker: false }))).toBe(0)
  const attached = await started()
  expect(await compactedAndAnswered(attached)).toBe(1)
  expect(attached.worker.events().at(-1)).toMatchObject({ kind: 'restored', found: false })
})
