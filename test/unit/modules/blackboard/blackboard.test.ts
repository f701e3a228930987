import { beforeEach, describe, expect, test } from 'vitest'
import {
  ArchiveInput,
  PostInput,
  QueryInput,
  ReadInput,
} from '../../../../src/contracts/memory/blackboard.ts'
import type { ArchiveTrigger } from '../../../../src/contracts/spool/spool.ts'
import type { ProjectStore } from '../../../../src/ports/project-store.ts'
import { memoryProjects } from '../../../support/worlds/memory-projects.ts'
import { memoryWorld, type MemoryWorld } from '../../../support/worlds/memory-world.ts'
import { refusedWith } from '../../../support/worlds/small-hub.ts'

let world: MemoryWorld
beforeEach(async () => {
  world = await memoryWorld()
})

const read = async (input: object) => world.blackboard.read(world.bob, ReadInput.parse(input))
const summaries = async (input: object) => (await read(input)).entries.map(({ summary }) => summary)
const archive = (input: object) => world.blackboard.archive(world.bob, ArchiveInput.parse(input))

describe('a post', () => {
  test('a post is visible to all agents, with defaults for omitted fields', async () => {
    const id = await world.post({ entry_type: 'finding', summary: 'The cache is never cleared' })
    expect((await read({})).entries).toEqual([
      {
        id,
        timestamp: '2026-03-01T12:00:00.000Z',
        agent_id: 'bob',
        entry_type: 'finding',
        tags: [],
        scope: 'project',
        summary: 'The cache is never cleared',
        detail: '',
      },
    ])
    expect(world.told().at(-1)).toMatchObject({
      type: 'memory.entry_posted',
      agent_id: 'bob',
      data: { id, entry_type: 'finding' },
    })
  })

  test.each(['human', ' Human ', 'hu\u200bman', '\uff48uman', 'operator', 'turnbell', 'hub'])(
    'a post has the posting agent as author, not %j as it claims',
    async (agent_id) => {
      const call = world.as('bob', { scope: '/projects/bob' })
      const labelled = world.as('bob', { scope: '/projects/bob', agent_id })
      const said = { entry_type: 'status', summary: 'x' }
      await world.blackboard.post(call, PostInput.parse({ ...said, agent_id }))
      await world.blackboard.post(labelled, PostInput.parse(said))
      await world.blackboard.post(call, PostInput.parse({ ...said, agent_id: 'ada' }))
      expect((await read({})).entries.map((entry) => [entry.agent_id, entry['identity']])).toEqual([
        ['bob', undefined],
        ['bob', undefined],
        ['ada', 'bob'],
      ])
    },
  )

  test('a post has the named author, else the agent of its context, else the caller', async () => {
    const post = (identity: string, context: object, said: object = {}) =>
      world.blackboard.post(
        world.as(identity, { scope: '/projects/bob', ...context }),
        PostInput.parse({ entry_type: 'status', summary: 'x', ...said }),
      )
    await post('bob', { agent_id: 'bob/2' }, { agent_id: 'tester' })
    await post('bob', { agent_id: 'bob/2' })
    await post('bob', {})
    await post('operator', {})
    expect((await read({})).entries.map(({ agent_id }) => agent_id)).toEqual([
      ...['tester', 'bob/2', 'bob', 'main'],
    ])
  })

  test('a post belongs to the project of the call, and to the hub without one', async () => {
    const ada = world.as('ada')
    await world.blackboard.post(ada, PostInput.parse({ entry_type: 'status', summary: 'at home' }))
    const inBobs = world.as('ada', { scope: '/projects/bob' })
    await world.blackboard.post(inBobs, PostInput.parse({ entry_type: 'status', summary: 'at work' }))
    expect(await summaries({})).toEqual(['at work'])
    const { entries } = await world.blackboard.recent(ada, { n: 5 })
    expect(entries.map(({ summary }) => summary)).toEqual(['at home'])
    const gone = world.as('gil')
    expect(await refusedWith(() => world.blackboard.recent(gone, { n: 5 }))).toBe('project_unknown')
  })

  test.each<[string, object]>([
    ['of no type', { summary: 'x' }],
    ['of an unknown type', { entry_type: 'gossip', summary: 'x' }],
    ['without a summary', { entry_type: 'need', summary: '' }],
    ['with a summary of 201 characters', { entry_type: 'need', summary: 'x'.repeat(201) }],
    ['that relates to an invalid id', { entry_type: 'answer', summary: 'x', relates_to: ['that one'] }],
    ['with an unknown field', { entry_type: 'need', summary: 'x', colour: 'red' }],
  ])('a post %s is rejected', (_, input) => {
    expect(PostInput.safeParse(input).success).toBe(false)
  })

  test('a post that exceeds the stored size limit is rejected, and nothing is stored', async () => {
    const large = { entry_type: 'finding', summary: 'x', detail: '\u0001'.repeat(16_000) }
    expect(await refusedWith(() => world.post(large))).toBe('record_too_large')
    expect(await summaries({})).toEqual([])
  })

  test('a post cut in the middle of a character is stored in a readable form', async () => {
    await world.post({ entry_type: 'finding', summary: 'cut \ud83d', tags: ['\udc00'], detail: 'whole 😀' })
    const [entry] = (await read({})).entries
    expect(entry).toMatchObject({ summary: 'cut \ufffd', tags: ['\ufffd'], detail: 'whole 😀' })
    const { id } = await world.decide({ summary: 'x\ud83d', alternatives: [] })
    expect((await world.decisions.read(world.bob, id)).summary).toBe('x\ufffd')
    const { text } = await world.context.pin(world.bob, { key: 'k', text: 'p\ud83d' })
    expect(text).toBe('p\ufffd')
  })
})

describe('a decision that is posted', () => {
  test('a posted decision without its reasons is rejected with the missing fields', async () => {
    const refused = world.post({ entry_type: 'decision', summary: 'Use a journal' })
    await expect(refused).rejects.toMatchObject({
      code: 'params_invalid',
      detail: expect.stringMatching(/context: .*rationale: /) as string,
      hint: expect.stringContaining('rationale') as string,
    })
    expect(await summaries({})).toEqual([])
  })

  test('a posted decision is stored as a decision, and appears on the blackboard once', async () => {
    const posted = await world.blackboard.post(
      world.bob,
      PostInput.parse({
        entry_type: 'decision',
        summary: 'Use a journal',
        detail: 'Crashes.',
        rationale: 'Simple.',
        domain: 'architecture',
        tags: ['storage'],
        scope: 'src/storage/',
      }),
    )
    const { entries } = await read({})
    expect(entries).toHaveLength(1)
    expect(entries[0]).toMatchObject({
      id: posted.id,
      entry_type: 'decision',
      tags: ['storage'],
      detail: 'Crashes.',
      relates_to: [posted.decision?.id],
    })
    const decision = await world.decisions.read(world.bob, posted.decision?.id ?? '')
    expect(decision).toMatchObject({ context: 'Crashes.', rationale: 'Simple.', domain: 'architecture' })
  })

  test('only a posted decision may contain reasons', async () => {
    const finding = { entry_type: 'finding', summary: 'x', rationale: 'y' }
    expect(await refusedWith(() => world.post(finding))).toBe('params_invalid')
  })
})

describe('reading', () => {
  beforeEach(async () => {
    await world.post({ entry_type: 'need', summary: 'one', tags: ['a'], scope: 'project' })
    await world.post({ entry_type: 'finding', summary: 'two', tags: ['a', 'b'], scope: 'src/auth/' })
    await world.clock.advance(60_000)
    await world.post({ entry_type: 'finding', summary: 'three', tags: ['c'], scope: 'src/auth/jwt.ts' })
    await world.post({ entry_type: 'warning', summary: 'four', scope: 'src/billing/' })
  })

  test.each<[object, string[]]>([
    [{}, ['one', 'two', 'three', 'four']],
    [{ entry_types: ['finding', 'warning'] }, ['two', 'three', 'four']],
    [{ tags: ['b', 'c'] }, ['two', 'three']],
    [{ scope: 'src/auth/' }, ['two', 'three']],
    [{ scope: 'project' }, ['one', 'two', 'three', 'four']],
    [{ since: '2026-03-01T12:01:00Z' }, ['three', 'four']],
    [{ until: '2026-03-01T12:01:00Z' }, ['one', 'two']],
    [{ limit: 2 }, ['three', 'four']],
    [{ open: true }, ['one', 'four']],
    [{ tags: ['nothing'] }, []],
  ])('a read with %j finds %j', async (input, expected) => {
    expect(await summaries(input)).toEqual(expected)
  })

  test('a read returns the total number, whatever the limit', async () => {
    expect(await read({ limit: 1 })).toMatchObject({ total_count: 4 })
  })

  test('recent returns the newest entries, oldest first', async () => {
    const { entries } = await world.blackboard.recent(world.bob, { n: 2, entry_types: ['finding', 'need'] })
    expect(entries.map(({ summary }) => summary)).toEqual(['two', 'three'])
  })

  test('a query by words returns related entries, best first', async () => {
    const found = await world.blackboard.query(world.bob, QueryInput.parse({ query: 'jwt three' }))
    expect(found.results.map(({ entry }) => entry.summary)).toEqual(['three'])
    expect(found.results[0]?.relevance).toBeGreaterThan(0)
    expect(found.degraded).toBe(true)
    const narrow = QueryInput.parse({ query: 'jwt three', entry_types: ['warning'] })
    expect((await world.blackboard.query(world.bob, narrow)).results).toEqual([])
  })
})

describe('entries that wait for an answer', () => {
  test.each([
    ['need', 'offer', true],
    ['need', 'answer', true],
    ['need', 'status', false],
    ['question', 'answer', true],
    ['question', 'offer', false],
    ['warning', 'answer', true],
    ['warning', 'finding', false],
  ])('a %s referenced by a %s is settled: %s', async (asked, answer, settled) => {
    const id = await world.post({ entry_type: asked, summary: 'asked' })
    await world.post({ entry_type: answer, summary: 'unrelated' })
    expect(await summaries({ open: true })).toContain('asked')
    await world.post({ entry_type: answer, summary: 'said', relates_to: [id] })
    expect((await summaries({ open: true })).includes('asked')).toBe(!settled)
  })
})

describe('archiving', () => {
  beforeEach(async () => {
    await world.post({ entry_type: 'need', summary: 'A review', tags: ['review'] })
    await world.post({ entry_type: 'finding', summary: 'Old news', tags: ['news'] })
    await world.decide({ summary: 'Use a journal' })
    await world.clock.advance(60_000)
    await world.post({ entry_type: 'finding', summary: 'New news', tags: ['news'] })
  })

  test('archiving moves everything but decisions, and posts a summary', async () => {
    const archived = await archive({})
    expect(archived).toMatchObject({
      archived_count: 3,
      archive_file: '.turnbell/archive/2026-03-01-blackboard.jsonl',
      summary: expect.stringMatching(
        /^Archive summary: 3 entries archived covering news, review\. Key items: A review; New news; Old news$/,
      ) as string,
    })
    expect(await summaries({})).toEqual(['Use a journal', archived.summary])
    const kept = await world.project('/projects/bob').list('archive/2026-03-01')
    expect(kept.map(({ body }) => body['summary'])).toEqual(['A review', 'Old news', 'New news'])
    expect(world.told().at(-1)).toMatchObject({ type: 'memory.archived', data: { archived_count: 3 } })
  })

  test('archiving up to a time with keep_open and without a summary does exactly that', async () => {
    const before = '2026-03-01T12:01:00Z'
    expect(await archive({ before, keep_open: true, summarize: false })).toEqual({
      archived_count: 1,
      archive_file: '.turnbell/archive/2026-03-01-blackboard.jsonl',
    })
    expect(await summaries({})).toEqual(['A review', 'Use a journal', 'New news'])
  })

  test('archiving keeps active entries together with open ones', async () => {
    await world.post({ entry_type: 'constraint', summary: 'Never use eval' })
    await archive({ keep_open: true })
    expect(await summaries({ entry_types: ['constraint'] })).toEqual(['Never use eval'])
    await archive({})
    expect(await summaries({ entry_types: ['constraint'] })).toEqual([])
  })

  test('archiving moves archive summaries only together with others, and does not quote them', async () => {
    await archive({})
    const once = await summaries({})
    expect(await archive({})).toEqual({ archived_count: 0, archive_file: null })
    expect(await summaries({})).toEqual(once)
    await world.post({ entry_type: 'finding', summary: 'Next week', tags: ['later'] })
    expect((await archive({})).summary).toBe(
      'Archive summary: 2 entries archived covering later. Key items: Next week',
    )
  })

  test("archiving of the hub's own blackboard names no file", async () => {
    const ada = world.as('ada')
    await world.blackboard.post(ada, PostInput.parse({ entry_type: 'finding', summary: 'x' }))
    expect(await world.blackboard.archive(ada, ArchiveInput.parse({}))).toMatchObject({
      archived_count: 1,
      archive_file: null,
    })
  })

  test('archiving with nothing to do changes nothing', async () => {
    expect(await archive({ before: '2020-01-01' })).toEqual({ archived_count: 0, archive_file: null })
    expect(await summaries({})).toHaveLength(4)
  })

  test('archiving repeated after a crash between its two halves keeps every entry once', async () => {
    const store = world.project('/projects/bob')
    const [first] = await store.list('entry')
    await store.put('archive/2026-03-01', first?.id ?? '', first?.body ?? {})
    await archive({ summarize: false })
    expect(await store.list('archive/2026-03-01')).toHaveLength(3)
  })
})

test.each<[ArchiveTrigger, string]>([
  ['commit', 'auto_archive_on_commit'],
  ['context_switch', 'auto_archive_on_context_switch'],
])('archiving runs automatically after a %s, unless the project disables it', async (trigger, key) => {
  for (const [config, left] of [
    [null, 'Archive summary'],
    [`archive: { ${key}: false }`, 'Old'],
  ] as const) {
    const one = await memoryWorld({ config })
    await one.post({ entry_type: 'finding', summary: 'Old' })
    await one.clock.advance(60_000)
    const at = new Date(one.clock.now()).toISOString()
    await one.blackboard.archiveAfter(one.bob, { trigger, before: at }, { id: one.needs.ids.next(), at })
    const { entries } = await one.blackboard.read(one.bob, ReadInput.parse({}))
    expect(entries).toMatchObject([{ summary: expect.stringContaining(left) as string }])
  }
})

test('an unreadable blackboard does not prevent others from being archived', async () => {
  const projects = memoryProjects('archive: { max_blackboard_entries_before_archive: 10 }')
  const broken: ProjectStore = {
    ...projects('/projects/broken')!,
    configText: () => Promise.reject(new Error('no folder')),
  }
  const world = await memoryWorld({ openProject: (root) => (root === broken.root ? broken : projects(root)) })
  await world.projects.at(broken.root)
  await world.blackboard.read(world.as('ada', { scope: broken.root }), ReadInput.parse({}))
  for (let n = 0; n < 12; n += 1) await world.post({ entry_type: 'finding', summary: `${n}` })
  await world.blackboard.sweep()
  const { total_count } = await world.blackboard.read(world.bob, ReadInput.parse({}))
  expect(total_count).toBe(12 - 6 + 1)
})

test('a blackboard that was only read is unchanged', async () => {
  const projects = memoryProjects('archive: { max_blackboard_entries_before_archive: 10 }')
  const world = await memoryWorld({ openProject: projects })
  await world.projects.at('/projects/clone')
  const there = world.as('ada', { scope: '/projects/clone' })
  for (let n = 0; n < 12; n += 1)
    await world.blackboard.post(there, PostInput.parse({ entry_type: 'finding', summary: `${n}` }))
  const other = await memoryWorld({ openProject: projects })
  const looking = other.as('operator', { scope: '/projects/clone' })
  const read = async () => (await other.blackboard.read(looking, ReadInput.parse({}))).total_count
  expect(await read()).toBe(12)
  await other.blackboard.sweep()
  expect(await read()).toBe(12)
})

test('the status counts the entries, and warns if there are too many', async () => {
  expect(await world.blackboard.status(world.bob)).toMatchObject({
    project: 'bob',
    blackboard_entries: 0,
    active_decisions: 0,
    provisional_decisions: 0,
    graph_entities: 0,
    graph_relations: 0,
    last_activity: null,
    needs_archiving: false,
    degraded: true,
  })
  await world.decide({ affected_files: ['src/a.ts'] })
  for (let n = 0; n < 500; n += 1) await world.post({ entry_type: 'status', summary: `${n}` })
  expect(await world.blackboard.status(world.bob)).toMatchObject({
    blackboard_entries: 501,
    active_decisions: 1,
    graph_entities: 2,
    graph_relations: 1,
    last_activity: '2026-03-01T12:00:00.000Z',
    needs_archiving: true,
  })
})

test('the status lists up to five unreadable files by name', async () => {
  const projects = memoryProjects()
  let count = 0
  const project: ProjectStore = {
    ...projects('/projects/bob')!,
    unreadableFiles: async () =>
      Array.from({ length: count }, (_, n) => ({ file: `${n}.json`, reason: 'torn' })),
  }
  const there = await memoryWorld({
    openProject: (root) => (root === '/projects/bob' ? project : projects(root)),
  })
  const warnings = async () => (await there.blackboard.status(there.bob)).warnings
  expect(await warnings()).toEqual([])
  count = 2
  expect(await warnings()).toEqual([expect.stringMatching(/: 0\.json: torn; 1\.json: torn\.$/)])
  count = 7
  expect(await warnings()).toEqual([expect.stringMatching(/ 4\.json: torn; and 2 more\.$/)])
})

describe('the export', () => {
  test('the export contains everything important as one Markdown document', async () => {
    await world.decide({
      summary: 'Use a journal',
      affected_files: ['src/a.ts'],
      scope: 'src/',
      alternatives: [{ option: 'SQLite', reason_rejected: 'A native build' }],
    })
    await world.post({ entry_type: 'need', summary: 'A review', scope: 'src/' })
    await world.post({ entry_type: 'finding', summary: 'It is\nfast', detail: 'Two\nlines', scope: 'docs/' })
    const { markdown, truncated } = await world.blackboard.export(world.bob, { scope: 'project' })
    expect(truncated).toBe(false)
    for (const part of [
      '# Shared memory of bob',
      '### Use a journal',
      '- Rejected: SQLite: A native build',
      '## Open needs\n\n- **A review**',
      '- **It is fast**',
      '  Two\n  lines',
      '## Graph\n\n2 entities, 1 relations',
    ])
      expect(markdown).toContain(part)
    const narrow = await world.blackboard.export(world.bob, { scope: 'docs/' })
    expect(narrow.markdown).not.toContain('A review')
  })

  test('the export quotes texts of several lines, so that they do not affect what follows', async () => {
    await world.decide({ rationale: 'See:\n```ts\n## Warnings', context: 'One line.' })
    const { markdown } = await world.blackboard.export(world.bob, { scope: 'project' })
    expect(markdown).toContain('Context: One line.\n\nWhy:\n\n> See:\n> ```ts\n> ## Warnings\n')
  })

  test('the export marks omitted parts if it is too long', async () => {
    for (let n = 0; n < 40; n += 1)
      await world.decide({ summary: `${n}`, domain: `d${n}`, rationale: 'x'.repeat(8_000) })
    const { markdown, truncated } = await world.blackboard.export(world.bob, { scope: 'project' })
    expect(truncated).toBe(true)
    expect(Buffer.byteLength(markdown)).toBeLessThan(140_000)
    expect(markdown).toMatch(/\(\d+ more pieces do not fit/)
  })
})
