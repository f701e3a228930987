import { beforeEach, describe, expect, test } from 'vitest'
import {
  AppendEventInput,
  AssembleInput,
  ReadArtifactInput,
  RefreshInput,
} from '../../../../src/contracts/memory/context.ts'
import { ReadInput } from '../../../../src/contracts/memory/blackboard.ts'
import { OverrideInput } from '../../../../src/contracts/memory/decision.ts'
import { renderBrief } from '../../../../src/modules/context/brief.ts'
import { memoryWorld, type MemoryWorld } from '../../../support/worlds/memory-world.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { refusedWith } from '../../../support/worlds/small-hub.ts'

let world: MemoryWorld
beforeEach(async () => {
  world = await memoryWorld()
})

const assemble = (input: object) => world.context.assemble(world.bob, AssembleInput.parse(input))
const says = (list: readonly { summary: string }[]) => list.map(({ summary }) => summary)

describe('assembling', () => {
  test('assembling combines records of a scope, and related records elsewhere', async () => {
    await world.decide({ summary: 'Use tokens', scope: 'src/auth/', affected_files: ['src/auth/jwt.ts'] })
    await world.decide({ summary: 'Round per line', scope: 'src/billing/', domain: 'data' })
    await world.decide({ summary: 'Cache token keys', scope: 'src/cache/', domain: 'api' })
    const taken = await world.decide({ summary: 'Use sessions', scope: 'src/auth/', domain: 'testing' })
    await world.decisions.override(world.bob, OverrideInput.parse({ decision_id: taken.id, reason: 'no' }))
    const asked = await world.post({ entry_type: 'question', summary: 'Which keys', scope: 'src/auth/' })
    await world.post({ entry_type: 'answer', summary: 'These keys', scope: 'src/auth/', relates_to: [asked] })
    await world.post({ entry_type: 'need', summary: 'A review', scope: 'src/auth/' })
    await world.post({ entry_type: 'need', summary: 'A tax expert', scope: 'src/billing/' })
    await world.post({ entry_type: 'warning', summary: 'Never log tokens', scope: 'project' })
    await world.post({ entry_type: 'constraint', summary: 'No native modules', scope: 'project' })
    await world.post({ entry_type: 'finding', summary: 'Token keys are parsed twice', scope: 'src/http/' })
    await world.post({ entry_type: 'status', summary: 'Working on tokens', scope: 'src/auth/' })
    const answer = await assemble({ task: 'parse token keys once', scope: 'src/auth/' })
    expect(says(answer.active_decisions).toSorted()).toEqual(['Cache token keys', 'Use tokens'])
    expect(says(answer.open_needs)).toEqual(['A review'])
    expect(says(answer.active_warnings).toSorted()).toEqual(['Never log tokens', 'No native modules'])
    expect(says(answer.recent_questions)).toEqual([])
    expect(says(answer.recent_findings).toSorted()).toEqual(['These keys', 'Token keys are parsed twice'])
    expect(answer.related_entities).toEqual([
      {
        name: 'src/auth/jwt.ts',
        type: 'file',
        relations: [expect.stringMatching(/^decided_by > 01/) as string],
      },
    ])
    expect(answer).toMatchObject({ task: 'parse token keys once', left_out: 0, degraded: true })
    expect(answer.token_estimate).toBeLessThanOrEqual(4_000)
  })

  test('assembling treats an absolute path as the place in the project', async () => {
    const root = '/projects/bob'
    await world.post({ entry_type: 'warning', summary: 'A', scope: `${root}/src/auth/` })
    await world.decide({
      summary: 'B',
      scope: `${root}/src/auth/jwt.ts`,
      affected_files: [`${root}/lib/a.ts`],
    })
    await world.post({ entry_type: 'finding', summary: 'C', scope: root })
    await world.post({ entry_type: 'finding', summary: 'D', scope: '/projects/bobby/src/' })
    const { entries } = await world.blackboard.read(world.bob, ReadInput.parse({}))
    expect(entries.map(({ scope }) => scope)).toEqual([
      ...['src/auth/', 'src/auth/jwt.ts', 'project', '/projects/bobby/src/'],
    ])
    const { active_warnings, active_decisions } = await assemble({
      task: 'x',
      scope: `${root}/src/auth/jwt.ts`,
    })
    expect([...says(active_warnings), ...says(active_decisions)]).toEqual(['A', 'B'])
    const why = await world.decisions.why(world.bob, { scope: `${root}/lib/a.ts`, limit: 5 })
    expect(why.decisions).toHaveLength(1)
    const read = ReadInput.parse({ scope: `${root}/src` })
    expect((await world.blackboard.read(world.bob, read)).total_count).toBe(2)
  })

  test('assembling stores nothing, and gives an observer the same result', async () => {
    await world.post({ entry_type: 'warning', summary: 'Never log tokens' })
    const before = world.told().length
    const answer = await assemble({ task: 'x', max_tokens: 200 })
    expect(world.told()).toHaveLength(before)
    expect(says(answer.active_warnings)).toEqual(['Never log tokens'])
  })

  test.each([{ task: '' }, { task: 'x', max_tokens: 99 }, { task: 'x', max_tokens: 40_000 }, {}])(
    'assembling is rejected for %j',
    (input) => {
      expect(AssembleInput.safeParse(input).success).toBe(false)
    },
  )
})

test('a summary counts active and open records, in a scope or everywhere', async () => {
  await world.decide({ summary: 'A', scope: 'src/' })
  await world.decide({ summary: 'B', scope: 'src/' })
  await world.post({ entry_type: 'need', summary: 'x', scope: 'docs/' })
  await world.post({ entry_type: 'question', summary: 'y', scope: 'src/a.ts' })
  expect(await world.context.summarize(world.bob, 'project')).toEqual({
    scope: 'project',
    active_decisions: 1,
    provisional_decisions: 1,
    open_needs: 1,
    active_warnings: 1,
    unanswered_questions: 1,
    recent_activity_summary:
      'In the last 24 hours: 2 decisions made, 1 warning raised, 1 need posted, 1 question asked.',
  })
  expect(await world.context.summarize(world.bob, 'docs/')).toMatchObject({
    active_decisions: 0,
    open_needs: 1,
    unanswered_questions: 0,
  })
  await world.clock.advance(86_400_000)
  expect(await world.context.summarize(world.bob, 'src/')).toMatchObject({
    recent_activity_summary: 'Nothing happened in the last 24 hours.',
  })
})

test('what_changed returns changes since a time, decisions with their new status', async () => {
  const old = await world.decide({ summary: 'old', scope: 'src/' })
  const doubted = await world.decide({ summary: 'doubted', domain: 'api' })
  await world.post({ entry_type: 'finding', summary: 'before' })
  await world.clock.advance(60_000)
  const since = new Date(world.clock.now()).toISOString()
  expect(await world.context.whatChanged(world.bob, { since })).toMatchObject({ total_count: 0 })
  const made = await world.decide({ summary: 'made', domain: 'data' })
  await world.decisions.override(world.bob, OverrideInput.parse({ decision_id: old.id, reason: 'Legal.' }))
  await world.decisions.reconsider(world.bob, { decision_id: doubted.id, new_context: 'Load.' })
  const changed = await world.context.whatChanged(world.bob, { since })
  expect(changed).toMatchObject({
    new_decisions: [{ id: made.id, summary: 'made', status: 'active' }],
    overridden_decisions: [{ id: old.id, summary: 'old', reason: 'Legal.' }],
    reconsidered_decisions: [{ id: doubted.id, summary: 'doubted' }],
  })
  expect(changed.new_entries.map(({ entry_type }) => entry_type)).toEqual([
    ...['decision', 'decision', 'warning'],
  ])
  const elsewhere = await world.context.whatChanged(world.bob, { since, scope: 'docs/' })
  expect(elsewhere.total_count).toBe(0)
})

test('what_changed fits one answer, however many changes there are', async () => {
  const reason = '…'.repeat(16_000)
  for (let n = 0; n < 60; n += 1) {
    const { id } = await world.decide({ summary: `${n}`, domain: `d${n}` })
    await world.decisions.override(world.bob, OverrideInput.parse({ decision_id: id, reason }))
  }
  const changed = await world.context.whatChanged(world.bob, { since: '2026-01-01T00:00:00Z' })
  expect(JSON.stringify(changed).length).toBeLessThan(LIMITS.answer_list_bytes_max)
  expect(changed.overridden_decisions.at(-1)).toMatchObject({ summary: '59' })
  expect(changed.total_count).toBeGreaterThan(120)
})

describe('a pin', () => {
  const pin = (text: string, key?: string) =>
    world.context.pin(world.bob, { text, ...(key === undefined ? {} : { key }) })

  test('a pin comes first for every agent until it is removed', async () => {
    await pin('Releases on Tuesdays', 'release')
    await pin('No native modules')
    await pin('Releases on Mondays', 'release')
    const pins = await world.context.pins(world.bob)
    expect(pins.map(({ key, text }) => [key, text])).toEqual([
      ['release', 'Releases on Mondays'],
      ['No native modules', 'No native modules'],
    ])
    const { pinned } = await assemble({ task: 'x', max_tokens: 200 })
    expect(pinned).toEqual(pins.map(({ key, text }) => ({ key, text })))
    await world.context.unpin(world.bob, { key: 'release' })
    await world.context.unpin(world.bob, { id: pins[1]?.id ?? '' })
    expect(await world.context.pins(world.bob)).toEqual([])
  })

  test('a pin is listed, counted and removed, however long all pins together are', async () => {
    for (let n = 0; n < LIMITS.pins_max; n += 1) await pin('…'.repeat(LIMITS.pin_length_max), `k${n}`)
    expect(await world.context.pins(world.bob)).toHaveLength(LIMITS.pins_max)
    expect(await refusedWith(() => pin('one more', 'more'))).toBe('limit_reached')
    await world.context.unpin(world.bob, { key: `k${LIMITS.pins_max - 1}` })
    expect(await world.context.pins(world.bob)).toHaveLength(LIMITS.pins_max - 1)
  })

  test("a pin belongs to the caller's own project if the call is about all projects", async () => {
    await pin('of bob', 'b')
    await world.projects.at('/projects/other')
    const elsewhere = world.as('ada', { scope: '/projects/other' })
    await world.context.pin(elsewhere, { key: 'o', text: 'of others' })
    const all = world.as('bob', { scope: 'portfolio' })
    expect((await world.context.pins(all)).map(({ text }) => text)).toEqual(['of bob'])
    const { pinned } = await world.context.assemble(all, AssembleInput.parse({ task: 'x' }))
    expect(pinned.map(({ text }) => text)).toEqual(['of bob'])
    await world.context.pin(all, { key: 'p', text: 'mine, too' })
    expect((await world.context.pins(world.bob)).map(({ key }) => key)).toEqual(['b', 'p'])
  })

  test('a pin is removed only by its key or id, and only once', async () => {
    await pin('x', 'x')
    expect(await refusedWith(() => world.context.unpin(world.bob, {}))).toBe('params_invalid')
    await world.context.unpin(world.bob, { key: 'x' })
    expect(await refusedWith(() => world.context.unpin(world.bob, { key: 'x' }))).toBe('record_unknown')
  })

  test('a pin beyond the limit is rejected', async () => {
    for (let n = 0; n < 100; n += 1) await pin(`${n}`)
    expect(await refusedWith(() => pin('one more'))).toBe('limit_reached')
    expect(await pin('again', '7')).toMatchObject({ text: 'again' })
  })
})

describe('a brief', () => {
  test('a brief describes the state of a project, most important first', async () => {
    await world.context.pin(world.bob, { key: 'release', text: 'On Tuesdays' })
    await world.decide({ summary: 'Use tokens', rationale: 'Stateless.' })
    await world.post({ entry_type: 'need', summary: 'A\nreview' })
    const { brief, truncated } = await world.context.refresh(world.bob, RefreshInput.parse({}))
    expect(truncated).toBe(false)
    expect(brief).toMatch(
      /^## Pinned\n- release: On Tuesdays\n\n## Decisions\n- Use tokens \(src\/\): Stateless\.\n\n## Open needs\n- A review \(project, bob, 01.*\)$/,
    )
  })

  test('a brief lists every decision, however long the reason of one is', async () => {
    for (let n = 0; n < 5; n += 1) await world.decide({ summary: `Rule ${n}`, domain: `d${n}` })
    await world.decide({ summary: 'Rule 5', domain: 'd5', rationale: 'x'.repeat(9_000) })
    await world.post({ entry_type: 'need', summary: 'A review' })
    const { sections } = await world.context.refresh(world.bob, RefreshInput.parse({}))
    expect(sections).toEqual([
      { title: 'Decisions', lines: 6, shown: 6 },
      { title: 'Open needs', lines: 1, shown: 1 },
    ])
  })

  test('a brief omits a line that does not fit, and keeps shorter later ones', () => {
    const sections = [
      { title: 'First', lines: ['x'.repeat(500), 'short'] },
      { title: 'Second', lines: ['short, too'] },
    ]
    const { brief, truncated } = renderBrief(sections, 50)
    expect(brief).toBe('## First\n- short\n\n## Second\n- short, too\n\n(Cut to fit; ask for the rest.)')
    expect(truncated).toBe(true)
  })

  test('a brief uses its whole budget', () => {
    const of = (length: number) => renderBrief([{ title: 'A', lines: ['x'.repeat(length)] }], 20)
    expect(of(80 - '## A\n- '.length)).toMatchObject({ truncated: false, token_estimate: 20 })
    expect(of(81 - '## A\n- '.length)).toMatchObject({ truncated: true })
  })

  test('a brief that does not fit loses lines from its end, and keeps its headings', () => {
    const lines = Array.from({ length: 20 }, (_, n) => `line ${n} of many`)
    const sections = ['First', 'Second', 'Third'].map((title) => ({ title, lines }))
    const cut = renderBrief(sections, 100)
    expect(cut.brief.length).toBeLessThanOrEqual(400)
    expect(cut.token_estimate).toBeLessThanOrEqual(100)
    for (const { title } of sections) expect(cut.brief).toContain(`## ${title}`)
    expect(cut.brief).toContain('- line 0 of many')
    expect(cut.brief.endsWith('(Cut to fit; ask for the rest.)')).toBe(true)
    expect(cut.sections.map(({ shown }) => shown > 0)).toEqual([true, false, false])
    expect(cut.truncated).toBe(true)
    expect(renderBrief(sections, 3).brief.length).toBeLessThanOrEqual(12)
    expect(renderBrief([{ title: 'Empty', lines: [] }], 100).brief).toBe('')
  })
})

test('events are stored for others, and found by their words', async () => {
  const { seq } = world.context.appendEvent(
    world.bob,
    AppendEventInput.parse({ message: 'staging was deployed', tags: ['deploy'], data: { version: 3 } }),
  )
  expect(world.told().at(-1)).toMatchObject({
    seq,
    type: 'context.event',
    agent_id: 'bob',
    data: { message: 'staging was deployed', tags: ['deploy'], agent_id: 'bob', data: { version: 3 } },
  })
  const large = AppendEventInput.parse({ message: 'x', data: 'x'.repeat(10_000) })
  expect(await refusedWith(() => world.context.appendEvent(world.bob, large))).toBe('params_invalid')
})

describe('an artifact', () => {
  const artifact = async (record: Record<string, string>) =>
    (await world.records.put(world.bob, { kind: 'artifact', record: { name: 'notes', ...record } })).id
  const readOne = (id: string) => world.context.readArtifact(world.bob, ReadArtifactInput.parse({ id }))

  test('an artifact contains the stored text', async () => {
    const id = await artifact({ text: 'It is fast.' })
    expect(await readOne(id)).toEqual({
      id,
      name: 'notes',
      path: null,
      text: 'It is fast.',
      truncated: false,
    })
  })

  test('an artifact whose file is missing is rejected', async () => {
    const id = await artifact({ path: 'docs/gone.md' })
    await expect(readOne(id)).rejects.toMatchObject({ code: 'file_unreadable' })
    expect(await refusedWith(() => readOne('01JZ0000000000000000000000'))).toBe('record_unknown')
  })
})
