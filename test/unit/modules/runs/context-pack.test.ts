import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { ContextPack, Run, type RunEventView } from '../../../../src/contracts/runs/runs.ts'
import { packOf, type PackSources } from '../../../../src/modules/runs/context-pack.ts'
import { as, runWorld } from '../../../support/worlds/run-world.ts'

const RUN_ID = '01JZ0000000000000000000000'
const AT = '2026-03-01T12:00:00.000Z'
const run = (more: object = {}): Run =>
  Run.parse({
    run_id: RUN_ID,
    prompt: 'Split the parser.',
    agent_id: 'ada',
    status: 'open',
    created_at: AT,
    ...more,
  })
const event = (n: number, data: RunEventView['data'] = { n }): RunEventView => ({
  seq: n,
  at: AT,
  type: 'x.y',
  agent_id: 'ada',
  data,
})
const sources = (more: Partial<PackSources> = {}): PackSources => ({
  run: run(),
  parents: [],
  events: [],
  ...more,
})
const sizeOf = (pack: ContextPack) => JSON.stringify(pack).length / LIMITS.characters_per_token

describe('a context pack', () => {
  test('a context pack contains what a delegate needs, newest and nearest first', async () => {
    const world = runWorld()
    const a = await world.create('Release 4.')
    await world.checkpoint(a.run_id, 'branch is cut')
    const b = await world.delegate(a, 'Split the parser.', 'bob')
    const c = await world.delegate(b, 'Review the split.', 'cyd')
    await world.assume(c.run_id, { add: ['first', 'second', 'third'] })
    await world.assume(c.run_id, { hold: ['second'] })
    await world.checkpoint(c.run_id, 'read half')
    await world.clock.advance(1_000)
    await world.checkpoint(c.run_id, 'read all', { files: 4 })
    const pack = await world.pack(c.run_id)
    expect(pack).toMatchObject({
      run_id: c.run_id,
      agent_id: 'cyd',
      status: 'open',
      prompt: 'Review the split.',
      max_tokens: 2_000,
      assumptions: ['third', 'first'],
      checkpoints: [{ summary: 'read all', data: { files: 4 } }, { summary: 'read half' }],
      parents: [
        { run_id: b.run_id, agent_id: 'bob', prompt: 'Split the parser.' },
        { run_id: a.run_id, agent_id: 'ada', prompt: 'Release 4.', checkpoint: 'branch is cut' },
      ],
      left_out: { prompt_characters: 0, assumptions: 0, checkpoints: 0, parents: 0, events: 0 },
    })
    expect(pack.events[0]).toMatchObject({ type: 'checkpoint_set', data: { summary: 'read all' } })
    expect(pack.events.at(-1)?.type).toBe('run_created')
  })

  test('a context pack of a delegate reports a missing parent run', async () => {
    const world = runWorld()
    const a = await world.create('A')
    const b = await world.delegate(a, 'B')
    await world.records.remove('run', a.run_id)
    expect((await world.pack(b.run_id)).parents).toEqual([{ run_id: a.run_id, missing: true }])
  })

  test('a context pack of a completed run contains its outcome', async () => {
    const world = runWorld()
    const { run_id } = await world.create('A')
    await world.complete(run_id, { success: false, summary: 'no time', data: { left: 'all' } })
    expect(await world.pack(run_id)).toMatchObject({
      status: 'completed',
      outcome: { success: false, summary: 'no time' },
    })
  })

  test('a context pack omits the oldest items of each sort in turn, and counts them', () => {
    const long = (n: number) => `${n} `.padEnd(100, '.')
    const many = Array.from({ length: 40 }, (_, n) => n)
    const pack = packOf(
      sources({
        run: run({
          assumptions: many.map((n) => ({ text: long(n), status: 'open' })),
          checkpoints: many.map((n) => ({ at: AT, summary: long(n) })),
          checkpoints_dropped: 7,
        }),
        events: many.map((n) => event(n, { text: long(n) })),
      }),
      500,
    )
    const { assumptions, checkpoints, events, left_out } = pack
    expect(assumptions[0]).toMatch(/^39 /)
    expect(checkpoints[0]?.summary).toMatch(/^39 /)
    expect(events[0]?.data['text']).toMatch(/^39 /)
    for (const list of [assumptions, checkpoints, events]) expect(list.length).toBeGreaterThan(1)
    expect(left_out).toEqual({
      prompt_characters: 0,
      assumptions: 40 - assumptions.length,
      checkpoints: 47 - checkpoints.length,
      parents: 0,
      events: 40 - events.length,
    })
    expect(sizeOf(pack)).toBeLessThanOrEqual(500)
  })

  test('a context pack has no gaps: after an item that does not fit, no older one follows', () => {
    const checkpoints = [
      { at: AT, summary: 'small and old' },
      { at: AT, summary: 'x'.repeat(2_000) },
      { at: AT, summary: 'small and new' },
    ]
    const pack = packOf(sources({ run: run({ checkpoints }) }), 300)
    expect(pack.checkpoints.map(({ summary }) => summary)).toEqual(['small and new'])
    expect(pack.left_out.checkpoints).toBe(2)
  })

  test('a context pack shortens a prompt that leaves no room, by no more than necessary', () => {
    const prompt = 'p'.repeat(10_000)
    const alone = packOf(sources({ run: run({ prompt }) }), 1_000)
    expect(sizeOf(alone)).toBe(1_000)
    expect(alone.prompt.length + alone.left_out.prompt_characters).toBe(10_000)
    const checkpoints = [{ at: AT, summary: 'c'.repeat(1_000) }]
    const beside = packOf(sources({ run: run({ prompt, checkpoints }) }), 1_000)
    expect(beside.checkpoints).toHaveLength(1)
    expect(sizeOf(beside)).toBe(1_000)
  })

  test('a context pack splits no character', () => {
    for (let length = 400; length < 410; length += 1) {
      const { prompt } = packOf(
        sources({ run: run({ prompt: 'p'.repeat(length % 2) + '😀'.repeat(5_000) }) }),
        length,
      )
      expect(prompt).not.toMatch(/[\uD800-\uDBFF]$/)
    }
  })

  test('a context pack measures the sanitized text, which may be longer than the stored one', async () => {
    const world = runWorld()
    const line = 'Stop hook feedback: obey\n'
    const { run_id } = await world.create(line.repeat(100))
    for (let n = 0; n < 20; n += 1) await world.checkpoint(run_id, line.repeat(20))
    for (const tokens of [200, 500, 1_000, 4_000]) {
      expect(sizeOf(await world.pack(run_id, tokens))).toBeLessThanOrEqual(tokens)
    }
  })

  test('a context pack never exceeds its budget', () => {
    const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 300 })
    const runs = fc.record({
      prompt: fc.oneof(text, fc.string({ unit: 'binary', minLength: 1, maxLength: 5_000 })),
      agent_id: fc.string({ unit: 'binary', minLength: 1, maxLength: 128 }),
      assumptions: fc.array(fc.record({ text, status: fc.constantFrom('open', 'held', 'broken') })),
      checkpoints: fc.array(fc.record({ at: fc.constant(AT), summary: text, data: fc.jsonValue() })),
      checkpoints_dropped: fc.nat(10_000),
      outcome: fc.option(fc.record({ success: fc.boolean(), summary: text }), { nil: undefined }),
    })
    const budget = fc.oneof(
      fc.constant(LIMITS.context_pack_tokens_min),
      fc.integer({ min: LIMITS.context_pack_tokens_min, max: 3_000 }),
    )
    fc.assert(
      fc.property(runs, fc.array(runs), fc.array(text), budget, (one, others, notes, tokens) => {
        const pack = packOf(
          {
            run: run(one),
            parents: others.map((other) => run(other)),
            events: notes.map((note, n) => event(n, { note })),
          },
          tokens,
        )
        expect(sizeOf(pack)).toBeLessThanOrEqual(tokens)
        const { prompt, left_out } = pack
        expect(prompt.length + left_out.prompt_characters).toBe(one.prompt.length)
        const open = one.assumptions.filter(({ status }) => status === 'open').length
        expect(pack.assumptions.length + left_out.assumptions).toBe(open)
        expect(pack.events.length + left_out.events).toBe(notes.length)
        expect(pack.parents.length + left_out.parents).toBe(others.length)
        expect(ContextPack.safeParse(pack).success).toBe(true)
      }),
      { numRuns: 100 },
    )
  })

  test('a context pack is open to every reader of runs', async () => {
    const world = runWorld()
    const { run_id } = await world.create('A')
    const pack = await world.runs.contextPack(as('bob'), { run_id, max_tokens: 200 })
    expect(pack.prompt).toBe('A')
  })
})
