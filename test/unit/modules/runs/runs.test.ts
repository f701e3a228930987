import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import { KNOWN_RUN_EVENTS, LogEventInput, RunEvent } from '../../../../src/contracts/runs/run-events.ts'
import { CreateRunInput, CompleteRunInput, type TraceNode } from '../../../../src/contracts/runs/runs.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import type { RecordBody } from '../../../../src/ports/record-store.ts'
import { createMemoryRecordStore } from '../../../../src/storage/memory/record-store.ts'
import { as, runWorld, type RunWorld } from '../../../support/worlds/run-world.ts'
import { agent, daemon, observer, OPERATOR } from '../../../support/worlds/signal-world.ts'

const NOWHERE = '01JZ0000000000000000000000'
const codeOf = async (attempt: () => unknown): Promise<string> => {
  try {
    await attempt()
  } catch (error) {
    return error instanceof TurnbellError ? error.code : `bug: ${String(error)}`
  }
  return 'accepted'
}
const types = (world: RunWorld, run_id: string) => world.told(run_id).map(({ type }) => type)

describe('a run', () => {
  test('a run begins open, under the name that its agent uses', async () => {
    const world = runWorld()
    const run = await world.create(
      'Split the parser.',
      { assumptions: ['nobody imports it by its path'] },
      as('ada/2'),
    )
    expect(run).toEqual({
      run_id: expect.any(String) as string,
      prompt: 'Split the parser.',
      agent_id: 'ada/2',
      status: 'open',
      created_at: '2026-03-01T12:00:00.000Z',
      completed_at: null,
      delegated_to: [],
      checkpoints: [],
      checkpoints_dropped: 0,
      assumptions: [{ text: 'nobody imports it by its path', status: 'open' }],
    })
    expect((await world.read(run.run_id)).run).toEqual(run)
    expect(world.told(run.run_id)).toEqual([
      { type: 'run_created', data: { prompt: 'Split the parser.', run_id: run.run_id, agent_id: 'ada/2' } },
    ])
    expect(
      await world.create('x', {}, { caller: as('bob').caller, context: { agent_id: 'anonymous' } }),
    ).toMatchObject({
      agent_id: 'bob',
    })
  })

  test('a run is completed once; the same outcome again changes nothing, and another one is rejected', async () => {
    const world = runWorld()
    const { run_id } = await world.create('Split the parser.')
    await world.clock.advance(1_000)
    const done = await world.complete(run_id, { summary: 'four files', data: { files: 4 } })
    expect(done).toMatchObject({
      status: 'completed',
      completed_at: '2026-03-01T12:00:01.000Z',
      outcome: { success: true, summary: 'four files', data: { files: 4 } },
    })
    expect(await world.complete(run_id, { summary: 'four files', data: { files: 4 } })).toEqual(done)
    expect(await world.complete(run_id)).toEqual(done)
    for (const other of [{ success: false }, { summary: 'no' }, { data: { files: 5 } }]) {
      expect(await codeOf(() => world.complete(run_id, other))).toBe('run_completed')
    }
    expect((await world.read(run_id)).run).toEqual(done)
    expect(types(world, run_id)).toEqual(['run_created', 'run_completed'])
  })

  test('checkpoints and events of a run have their author, and the persona of the token if it differs', async () => {
    const world = runWorld()
    const { run_id } = await world.create('Split the parser.')
    const set = (call: ReturnType<typeof as>) => world.runs.checkpoint(call, { run_id, summary: 'half' })
    await set(as('ada'))
    await set(as('mallory'))
    await set(as('ada', agent('mallory')))
    const tellers = [{ agent_id: 'ada' }, { agent_id: 'mallory' }, { agent_id: 'ada', identity: 'mallory' }]
    const of = (entries: object[]) =>
      entries.map((entry) => {
        const { agent_id, identity } = entry as { agent_id?: string; identity?: string }
        return { agent_id, ...(identity === undefined ? {} : { identity }) }
      })
    const { run, events } = await world.read(run_id, 3)
    expect(of(run.checkpoints)).toEqual(tellers)
    expect(of(events)).toEqual(tellers)
    const pack = await world.pack(run_id)
    expect(of(pack.checkpoints)).toEqual(tellers.toReversed())
    expect(of(pack.events.slice(0, 3))).toEqual(tellers.toReversed())
  })

  test('a completed run accepts only events', async () => {
    const world = runWorld()
    const run = await world.create('Split the parser.', { assumptions: ['x'] })
    const { run_id } = run
    await world.complete(run_id)
    expect(await codeOf(() => world.checkpoint(run_id, 'late'))).toBe('run_completed')
    expect(await codeOf(() => world.assume(run_id, { break: [1] }))).toBe('run_completed')
    expect(await codeOf(() => world.assume(run_id))).toBe('accepted')
    expect(await codeOf(() => world.delegate(run, 'more'))).toBe('run_completed')
    const late = { run_id, type: 'was_corrected', data: { by: 'a person' } }
    expect(await codeOf(() => world.runs.logEvent(as('ada'), late))).toBe('accepted')
  })

  test('a missing run is unknown to every action', async () => {
    const world = runWorld()
    const attempts = [
      () => world.read(NOWHERE),
      () => world.complete(NOWHERE),
      () => world.checkpoint(NOWHERE, 'x'),
      () => world.assume(NOWHERE),
      () => world.assume(NOWHERE, { add: ['x'] }),
      () => world.pack(NOWHERE),
      () => world.trace(NOWHERE),
      () => world.delegate({ run_id: NOWHERE, agent_id: 'ada' }, 'x'),
      () => world.runs.logEvent(as('ada'), { run_id: NOWHERE, type: 'x.y' }),
    ]
    for (const attempt of attempts) expect(await codeOf(attempt)).toBe('run_unknown')
    expect(world.events.read({ limit: 9 }).events).toEqual([])
  })

  test('a run is changed by agents and the operator, and not by observers', async () => {
    const world = runWorld()
    const { run_id } = await world.create('x', {}, as('operator', OPERATOR))
    for (const caller of [daemon('ada'), observer('eve')]) {
      const call = as('ada', caller)
      expect(await codeOf(() => world.create('x', {}, call))).toBe('kind_forbidden')
      expect(await codeOf(() => world.runs.logEvent(call, { run_id, type: 'x.y' }))).toBe('kind_forbidden')
      const input = CompleteRunInput.parse({ run_id })
      expect(await codeOf(() => world.runs.complete(call, input))).toBe('kind_forbidden')
    }
  })

  test('a run shows its newest checkpoints; older ones stay in the event stream', async () => {
    const world = runWorld()
    const { run_id } = await world.create('x')
    for (let n = 0; n < LIMITS.run_checkpoints_max + 5; n += 1) await world.checkpoint(run_id, `c${n}`)
    const { run } = await world.read(run_id)
    expect(run.checkpoints).toHaveLength(LIMITS.run_checkpoints_max)
    expect(run).toMatchObject({ checkpoints_dropped: 5 })
    expect(run.checkpoints.at(-1)?.summary).toBe(`c${LIMITS.run_checkpoints_max + 4}`)
    expect(await world.checkpoint(run_id, 'last')).toMatchObject({
      checkpoints: LIMITS.run_checkpoints_max + 6,
    })
    expect(types(world, run_id).filter((type) => type === 'checkpoint_set')).toHaveLength(56)
  })

  test('a run never exceeds the size of a record, in any alphabet', async () => {
    const world = runWorld()
    const wide = (length: number) => '語'.repeat(length)
    const { run_id } = await world.create(wide(LIMITS.prompt_length_max - 100))
    for (let n = 0; n < 12; n += 1) await world.checkpoint(run_id, wide(LIMITS.run_summary_length_max))
    const { run } = await world.read(run_id)
    expect(Buffer.byteLength(JSON.stringify(run))).toBeLessThanOrEqual(LIMITS.run_bytes_max)
    expect(run.checkpoints.length + run.checkpoints_dropped).toBe(12)
    const add = Array.from({ length: 20 }, (_, n) => `${n}${wide(LIMITS.assumption_length_max - 3)}`)
    expect(await codeOf(() => world.assume(run_id, { add }))).toBe('limit_reached')
    expect((await world.read(run_id)).run.assumptions).toEqual([])
    const data = 'x'.repeat(LIMITS.event_data_bytes_max)
    expect(await codeOf(() => world.checkpoint(run_id, 'x', data))).toBe('params_invalid')
    expect(await codeOf(() => world.complete(run_id, { data }))).toBe('params_invalid')
    expect(await codeOf(() => world.complete(run_id, { summary: wide(LIMITS.run_summary_length_max) }))).toBe(
      'accepted',
    )
  })

  test('a run without a prompt, or with one that is too long, is rejected', () => {
    const refused = [
      {},
      { prompt: '' },
      { prompt: 'x'.repeat(LIMITS.prompt_length_max + 1) },
      { prompt: 'x', delegated_by: { run_id: NOWHERE } },
      { prompt: 'x', delegated_by: { agent_id: 'a', run_id: 'RUN-7' } },
      { prompt: 'x', agent_id: 'bob' },
      { prompt: 'x', assumptions: [''] },
    ]
    for (const input of refused)
      expect(CreateRunInput.safeParse(input).success, JSON.stringify(input)).toBe(false)
  })
})

describe('runs of earlier versions', () => {
  const records = createMemoryRecordStore()
  const fixtures = path.resolve(import.meta.dirname, '../../../fixtures/runs')
  const bodies = fs
    .readdirSync(fixtures)
    .filter((name) => name.endsWith('.json'))
    .map(
      (name) => JSON.parse(fs.readFileSync(path.join(fixtures, name), 'utf8')) as RecordBody & { id: string },
    )

  test('runs of earlier versions are read, listed, packed, traced and continued', async () => {
    for (const body of bodies) await records.put('run', body.id, body)
    const world = runWorld({ records })
    const { runs } = await world.list()
    expect(runs).toHaveLength(bodies.length)
    const open = runs.find(({ status }) => status === 'open')
    const run_id = open?.run_id as string
    expect(await world.read(run_id)).toMatchObject({
      run: { agent_id: 'ada', delegated_to: [], checkpoints: [], assumptions: [], completed_at: null },
    })
    for (const run of runs) {
      expect(await world.pack(run.run_id)).toMatchObject({ run_id: run.run_id, parents: [] })
      expect(await world.trace(run.run_id)).toMatchObject({ run: { run_id: run.run_id }, children: [] })
    }
    const delegate = await world.delegate({ run_id, agent_id: 'ada' }, 'Look at the lexer.')
    await world.checkpoint(run_id, 'delegated')
    expect(await world.complete(run_id)).toMatchObject({
      delegated_to: [{ agent_id: 'bob', run_id: delegate.run_id }],
      status: 'completed',
    })
  })

  test('invalid runs of earlier versions are skipped', async () => {
    await records.put('run', NOWHERE, { id: NOWHERE, status: 'lost' })
    const world = runWorld({ records })
    expect((await world.list()).runs.map(({ run_id }) => run_id)).not.toContain(NOWHERE)
    expect(await codeOf(() => world.read(NOWHERE))).toBe('run_unknown')
    expect(await codeOf(() => world.create('x'))).toBe('accepted')
  })
})

describe('a list of runs', () => {
  test('a list of runs is newest first, by status and agent, page by page', async () => {
    const world = runWorld()
    const made: string[] = []
    for (let n = 0; n < 5; n += 1) {
      await world.clock.advance(1)
      const { run_id } = await world.create(`run ${n}`, {}, as(n % 2 === 0 ? 'ada' : 'bob'))
      made.unshift(run_id)
    }
    await world.complete(made[0] as string)
    const listed = async (query: object) => (await world.list(query)).runs.map(({ run_id }) => run_id)
    expect(await listed({})).toEqual(made)
    expect(await listed({ status: 'completed' })).toEqual([made[0]])
    expect(await listed({ agent_id: 'bob' })).toEqual([made[1], made[3]])
    const first = await world.list({ limit: 2 })
    expect(first.next).toBe(made[1])
    const second = await world.list({ limit: 2, before: first.next as string })
    expect(second.runs.map(({ run_id }) => run_id)).toEqual(made.slice(2, 4))
    expect(await world.list({ limit: 2, before: second.next as string })).toMatchObject({ next: null })
  })

  test('a list of runs contains the state of each, not its details', async () => {
    const world = runWorld()
    const { run_id } = await world.create('long '.repeat(100), { assumptions: ['a', 'b', 'c'] })
    await world.assume(run_id, { hold: ['a'], break: ['b'] })
    await world.checkpoint(run_id, 'x')
    const [run] = (await world.list()).runs
    expect(run).toMatchObject({ checkpoints: 1, delegated: 0, assumptions: { open: 1, held: 1, broken: 1 } })
    expect(run?.prompt).toMatch(/…$/)
    expect(run?.prompt.length).toBeLessThanOrEqual(200)
  })

  test('a list of runs fits a frame, however long the runs are', async () => {
    const world = runWorld()
    for (let n = 0; n < 200; n += 1) {
      const { run_id } = await world.create('\u0001'.repeat(300))
      await world.complete(run_id, { summary: '\u0001'.repeat(300) })
    }
    const page = await world.list({ limit: 200 })
    expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(LIMITS.frame_bytes_max)
    expect(page.next).not.toBeNull()
  })
})

describe('a delegation', () => {
  test('a delegation is recorded and published in both runs', async () => {
    const world = runWorld()
    const parent = await world.create('Split the parser.')
    const child = await world.delegate(parent, 'Review the split.')
    expect(child.delegated_by).toEqual({ agent_id: 'ada', run_id: parent.run_id })
    expect((await world.read(parent.run_id)).run.delegated_to).toEqual([
      { agent_id: 'bob', run_id: child.run_id },
    ])
    const task = 'Review the split.'
    expect(world.told(parent.run_id)[1]).toEqual({
      type: 'delegation_sent',
      data: {
        target_agent: 'bob',
        task,
        target_run_id: child.run_id,
        run_id: parent.run_id,
        agent_id: 'bob',
      },
    })
    expect(world.told(child.run_id)[1]).toEqual({
      type: 'delegation_received',
      data: {
        source_agent: 'ada',
        task,
        source_run_id: parent.run_id,
        run_id: child.run_id,
        agent_id: 'bob',
      },
    })
  })

  test('a delegation reports its outcome to the delegating run', async () => {
    const world = runWorld()
    const parent = await world.create('Split the parser.')
    const child = await world.delegate(parent, 'Review the split.')
    await world.complete(child.run_id, { success: false, summary: 'it does not build' })
    expect(world.told(parent.run_id).at(-1)).toMatchObject({
      type: 'delegation_completed',
      data: { source_run_id: child.run_id, result_summary: 'it does not build', success: false },
    })
    expect(types(world, child.run_id)).not.toContain('delegation_completed')
    await world.complete(parent.run_id)
    expect(types(world, parent.run_id).filter((type) => type === 'delegation_completed')).toHaveLength(1)
  })

  test('concurrent delegations are all recorded', async () => {
    const world = runWorld()
    const parent = await world.create('x')
    const children = await Promise.all(
      Array.from({ length: 20 }, (_, n) => world.delegate(parent, `part ${n}`, `agent-${n}`)),
    )
    const { run } = await world.read(parent.run_id)
    expect(run.delegated_to.map(({ run_id }) => run_id)).toEqual(children.map(({ run_id }) => run_id))
  })

  test('a delegation beyond the limit of a run is rejected, and creates no run', async () => {
    const world = runWorld()
    const parent = await world.create('x')
    for (let n = 0; n < LIMITS.run_delegations_max; n += 1) await world.delegate(parent, 'part')
    expect(await codeOf(() => world.delegate(parent, 'one more'))).toBe('limit_reached')
    expect(await world.records.list('run')).toHaveLength(LIMITS.run_delegations_max + 1)
  })
})

describe('a trace', () => {
  const shape = (nodes: readonly TraceNode[]): unknown[] =>
    nodes.map(({ run, children, left_out }) => [
      'prompt' in run ? run.prompt : 'missing' in run ? 'missing' : 'repeated',
      ...(children.length === 0 ? [] : [shape(children)]),
      ...(left_out === undefined ? [] : [`and ${left_out}`]),
    ])

  test('a trace of A that delegated to B that delegated to C contains all three, from any of them', async () => {
    const world = runWorld()
    const a = await world.create('A')
    const b = await world.delegate(a, 'B', 'bob')
    const c = await world.delegate(b, 'C', 'cyd')
    const from_a = await world.trace(a.run_id)
    expect(from_a).toMatchObject({ run: { run_id: a.run_id, delegated: 1 } })
    expect(from_a).not.toHaveProperty('parent')
    expect(shape(from_a.children)).toEqual([['B', [['C']]]])
    const from_b = await world.trace(b.run_id)
    expect(from_b).toMatchObject({ parent: { run_id: a.run_id }, children: [{ run: { run_id: c.run_id } }] })
    expect(await world.trace(c.run_id)).toMatchObject({ parent: { run_id: b.run_id }, children: [] })
  })

  test('a trace is as deep as requested, and counts the deeper runs', async () => {
    const world = runWorld()
    const a = await world.create('A')
    const b = await world.delegate(a, 'B')
    await world.delegate(b, 'C')
    await world.delegate(b, 'D')
    expect(await world.trace(a.run_id, 0)).toMatchObject({ children: [], left_out: 1 })
    expect(shape((await world.trace(a.run_id, 1)).children)).toEqual([['B', 'and 2']])
    expect(shape((await world.trace(a.run_id, 2)).children)).toEqual([['B', [['C'], ['D']]]])
  })

  test('a trace shows removed runs as missing, above and below', async () => {
    const world = runWorld()
    const a = await world.create('A')
    const b = await world.delegate(a, 'B')
    const c = await world.delegate(b, 'C')
    await world.records.remove('run', a.run_id)
    await world.records.remove('run', c.run_id)
    expect(await world.trace(b.run_id)).toMatchObject({
      parent: { run_id: a.run_id, missing: true },
      children: [{ run: { run_id: c.run_id, missing: true }, children: [] }],
    })
  })

  test('a trace ends at a cycle made by manual edits', async () => {
    const world = runWorld()
    const a = await world.create('A')
    const b = await world.delegate(a, 'B')
    const body = (await world.records.get('run', a.run_id)) as RecordBody
    const back = { agent_id: 'bob', run_id: b.run_id }
    await world.records.put('run', a.run_id, { ...body, delegated_by: back })
    const c = await world.delegate(b, 'C')
    const body_c = (await world.records.get('run', c.run_id)) as RecordBody
    const to = [a, b, c].map(({ agent_id, run_id }) => ({ agent_id, run_id }))
    await world.records.put('run', c.run_id, { ...body_c, delegated_to: to })
    expect(shape((await world.trace(a.run_id, 20)).children)).toEqual([
      ['B', [['C', [['repeated'], ['repeated'], ['repeated']]]]],
    ])
    expect((await world.pack(c.run_id)).parents).toHaveLength(2)
    await world.records.put('run', a.run_id, { ...body, delegated_by: { agent_id: 'ada', run_id: a.run_id } })
    expect(await world.trace(a.run_id)).toMatchObject({ parent: { run_id: a.run_id, repeated: true } })
  })

  test('a trace of a large team contains the nearest runs, and counts the omitted ones', async () => {
    const world = runWorld()
    const a = await world.create('A')
    const leads = []
    for (let n = 0; n < 20; n += 1) leads.push(await world.delegate(a, `lead ${n}`))
    for (const lead of leads) for (let n = 0; n < 12; n += 1) await world.delegate(lead, `worker ${n}`)
    const traced = await world.trace(a.run_id)
    const count = (nodes: readonly TraceNode[]): number =>
      nodes.reduce((sum, { children }) => sum + 1 + count(children), 0)
    const left = (nodes: readonly TraceNode[]): number =>
      nodes.reduce((sum, { left_out = 0, children }) => sum + left_out + left(children), 0)
    expect(traced.children).toHaveLength(20)
    expect(count(traced.children) + left(traced.children)).toBe(20 + 240)
    expect(count(traced.children)).toBeLessThan(LIMITS.trace_runs_max)
    expect(Buffer.byteLength(JSON.stringify(traced))).toBeLessThan(LIMITS.frame_bytes_max)
  })
})

describe('an event of a run', () => {
  const log = (world: RunWorld, run_id: string, type: string, data?: LogEventInput['data']) =>
    world.runs.logEvent(
      as('ada/2', as('ada').caller),
      LogEventInput.parse({ run_id, type, ...(data && { data }) }),
    )

  test('an event of a run is in the event stream with its run and author', async () => {
    const world = runWorld()
    const { run_id } = await world.create('x')
    const logged = await log(world, run_id, 'command_ran', { command: 'npm test', exit_code: 0 })
    expect(world.events.read({ run_id, limit: 9 }).events.at(-1)).toEqual({
      seq: logged.seq,
      type: 'command_ran',
      timestamp: '2026-03-01T12:00:00.000Z',
      agent_id: 'ada',
      data: { command: 'npm test', exit_code: 0, run_id, agent_id: 'ada/2' },
    })
  })

  test('an event of a run is shown with the run on request, without the calls made in it', async () => {
    const world = runWorld()
    const { run_id } = await world.create('x')
    world.events.append({ type: 'dispatch', agent_id: 'ada', data: { run_id, facade: 'signals' } })
    await log(world, run_id, 'x.deploy.started')
    await log(world, run_id, 'note_made', { text: 'it rains' })
    expect((await world.read(run_id)).events).toEqual([])
    const { events } = await world.read(run_id, 2)
    expect(events.map(({ type, agent_id, data }) => [type, agent_id, data])).toEqual([
      ['x.deploy.started', 'ada/2', {}],
      ['note_made', 'ada/2', { text: 'it rains' }],
    ])
    expect((await world.read(run_id, 500)).events.map(({ type }) => type)).toEqual([
      ...['run_created', 'x.deploy.started', 'note_made'],
    ])
  })

  test('an event cannot claim to belong to another run or agent', async () => {
    const world = runWorld()
    const { run_id } = await world.create('x')
    await log(world, run_id, 'x.y', { run_id: NOWHERE, agent_id: 'bob' })
    expect(world.told(run_id).at(-1)?.data).toEqual({ run_id, agent_id: 'ada/2' })
    expect(world.told(NOWHERE)).toEqual([])
  })

  test('an event of a delegation made elsewhere names the run at its other end', async () => {
    const world = runWorld()
    const { run_id } = await world.create('x')
    const task = 'look'
    await log(world, run_id, 'delegation_sent', { target_agent: 'bob', task, run_id: NOWHERE })
    await log(world, run_id, 'delegation_received', { source_agent: 'bob', task, run_id: NOWHERE })
    await log(world, run_id, 'delegation_completed', { source_run_id: NOWHERE, result_summary: 'fine' })
    expect(world.told(run_id).slice(1)).toMatchObject([
      { data: { target_agent: 'bob', target_run_id: NOWHERE, run_id } },
      { data: { source_agent: 'bob', source_run_id: NOWHERE, run_id } },
      { data: { source_run_id: NOWHERE, result_summary: 'fine', run_id } },
    ])
  })

  test.each([
    [
      'delegation_sent',
      { target_agent: 'bob', task: 'x', run_id: NOWHERE },
      ['target_agent', 'task', 'run_id'],
    ],
    [
      'delegation_received',
      { source_agent: 'bob', task: 'x', run_id: NOWHERE },
      ['source_agent', 'task', 'run_id'],
    ],
    [
      'delegation_completed',
      { source_run_id: NOWHERE, result_summary: '' },
      ['source_run_id', 'result_summary'],
    ],
    ['command_ran', { command: 'ls' }, ['command']],
    ['tests_ran', { passed: true }, ['passed']],
  ])('an event %s requires its mandatory fields', (type, data, needed) => {
    expect(RunEvent.safeParse({ type, data }).success).toBe(true)
    expect(RunEvent.safeParse({ type, data: { ...data, more: 1 } }).success).toBe(true)
    for (const field of needed) {
      const less = Object.fromEntries(Object.entries(data).filter(([name]) => name !== field))
      expect(RunEvent.safeParse({ type, data: less }).success, `without ${field}`).toBe(false)
    }
  })

  test('an event of an unknown type, or with missing or excess fields, is rejected', async () => {
    const world = runWorld()
    const { run_id } = await world.create('x')
    for (const type of ['', 'x', 'x.', 'X.y', 'x.y z', 'dispatch', 'signal.pushed', `x.${'y'.repeat(64)}`]) {
      expect(LogEventInput.safeParse({ run_id, type }).success, type).toBe(false)
    }
    for (const type of KNOWN_RUN_EVENTS) {
      expect(await codeOf(() => log(world, run_id, type)), type).toBe('params_invalid')
    }
    const text = 'x'.repeat(LIMITS.event_data_bytes_max)
    expect(await codeOf(() => log(world, run_id, 'note_made', { text }))).toBe('params_invalid')
    expect(types(world, run_id)).toEqual(['run_created'])
  })
})

describe('assumptions', () => {
  test('assumptions are added, hold or break, by number or text, and the share of broken ones is returned', async () => {
    const world = runWorld()
    const { run_id } = await world.create('x', { assumptions: ['a'] })
    expect(await world.assume(run_id, { add: ['b', 'c', 'a'] })).toEqual({
      run_id,
      assumptions: [
        { number: 1, text: 'a', status: 'open' },
        { number: 2, text: 'b', status: 'open' },
        { number: 3, text: 'c', status: 'open' },
      ],
      drift: 0,
    })
    expect(await world.assume(run_id, { hold: [1], break: ['c'] })).toMatchObject({
      assumptions: [{ status: 'held' }, { status: 'open' }, { status: 'broken' }],
      drift: 0.333,
    })
    expect(await world.assume(run_id, { break: [1, 2] })).toMatchObject({ drift: 1 })
    expect(await world.assume(run_id, { hold: ['b'] })).toMatchObject({ drift: 0.667 })
    expect(types(world, run_id).slice(1)).toEqual([
      ...['assumption_made', 'assumption_made', 'assumption_held', 'assumption_broken'],
      ...['assumption_broken', 'assumption_broken', 'assumption_held'],
    ])
  })

  test('a run without assumptions has no drift, and reading changes nothing', async () => {
    const world = runWorld()
    const { run_id } = await world.create('x')
    expect(await world.assume(run_id)).toEqual({ run_id, assumptions: [], drift: 0 })
    expect(types(world, run_id)).toEqual(['run_created'])
  })

  test('missing or excess assumptions change nothing', async () => {
    const world = runWorld()
    const { run_id } = await world.create('x', { assumptions: ['a'] })
    expect(await codeOf(() => world.assume(run_id, { add: ['b'], hold: [3] }))).toBe('params_invalid')
    expect(await codeOf(() => world.assume(run_id, { break: ['z'] }))).toBe('params_invalid')
    const add = Array.from({ length: LIMITS.run_assumptions_max }, (_, n) => `a${n}`)
    expect(await codeOf(() => world.assume(run_id, { add }))).toBe('limit_reached')
    expect((await world.assume(run_id)).assumptions).toHaveLength(1)
  })
})
