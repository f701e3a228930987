import { ulidForForeignId } from '../../../../src/ports/foreign-id.ts'
import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { readTwining } from '../../../../src/cli/import/twining.ts'
import { upload } from '../../../../src/cli/import/upload.ts'
import { ArchiveInput, ReadInput } from '../../../../src/contracts/memory/blackboard.ts'
import { WhyInput } from '../../../../src/contracts/memory/decision.ts'
import { ImportInput, type Imported } from '../../../../src/contracts/memory/import.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { projectOpener } from '../../../../src/storage/file/project/open-projects.ts'
import { START } from '../../../support/fakes/fake-clock.ts'
import { memoryWorld, type MemoryWorld } from '../../../support/worlds/memory-world.ts'
import { playedPlaces } from '../../../support/fakes/fake-path-inspector.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'
import { treeOf, TWINING_ANSWERED, twiningAnswers, twiningProject } from '../../../support/disk/twining.ts'

let world: MemoryWorld
const operator = (scope: string | null = '/projects/shop') => world.as('operator', { scope })
const take = (input: object, scope?: string | null): Promise<Imported> =>
  world.memoryImport.import(operator(scope), ImportInput.parse(JSON.parse(JSON.stringify(input))))

const ID = (letter: string) => `01M7XS92Q7${letter.repeat(16)}`
const TIME = '2026-01-01T10:00:00.000Z'
const entry = (letter: string, more: object = {}) => ({
  id: ID(letter),
  timestamp: TIME,
  agent_id: 'ann',
  entry_type: 'finding',
  summary: letter,
  ...more,
})
const decision = (letter: string, more: object = {}) => ({
  id: ID(letter),
  timestamp: TIME,
  agent_id: 'ann',
  domain: 'api',
  scope: 'src/',
  summary: letter,
  context: 'c',
  rationale: 'r',
  ...more,
})
const entity = (letter: string, more: object = {}) => ({
  id: ID(letter),
  name: letter,
  type: 'file',
  properties: {},
  created_at: TIME,
  updated_at: TIME,
  ...more,
})
const relation = (letter: string, source: string, target: string, more: object = {}) => ({
  id: ID(letter),
  source: ID(source),
  target: ID(target),
  type: 'imports',
  properties: {},
  created_at: TIME,
  ...more,
})
const all = { taken: 1, known: 0, changed: 0, rejected: 0 }
const known = { taken: 0, known: 1, changed: 0, rejected: 0 }
const nothing = { taken: 0, known: 0, changed: 0, rejected: 0 }

test('a text with a lone surrogate counts as known at the next import', async () => {
  world = await memoryWorld()
  const items = { entries: [entry('A', { summary: 'cut \ud83d' })] }
  expect((await take(items)).counts.entries).toEqual(all)
  expect((await take(items)).counts.entries).toEqual(known)
})

describe('the folder of another tool', () => {
  let root: string
  let folder: string
  beforeEach(async () => {
    ;({ root, folder } = twiningProject(fs.realpathSync(temporaryDirectory())))
    world = await memoryWorld({ openProject: projectOpener({ log: silentLog }) })
    await world.clock.advance(Date.parse(TWINING_ANSWERED) - START)
  })
  const takeAll = () => {
    const { items, unread } = readTwining(folder)
    expect(unread).toEqual([])
    return upload(items, (input) => take(input, root))
  }

  test("an imported folder gives the same answers as the other tool's own server", async () => {
    const { counts } = await takeAll()
    expect(counts).toEqual({
      entries: { ...all, taken: 22 },
      decisions: { ...all, taken: 7 },
      entities: { ...all, taken: 25 },
      relations: { ...all, taken: 24 },
      archived: nothing,
    })
    const { blackboard, decisions, graph, context: memory } = world
    const call = operator(root)
    for (const [asked, expected] of Object.entries(twiningAnswers())) {
      const [word = '', about = ''] = asked.split(' ')
      if (word === 'status') {
        // Agents are reported elsewhere, and turnbell does not compose the summary sentence.
        const { registered_agents: _, active_agents: __, summary: ___, ...counted } = expected
        expect(await blackboard.status(call)).toMatchObject(counted)
      } else if (word === 'why') {
        expect(await decisions.why(call, WhyInput.parse({ scope: about }))).toMatchObject(expected)
      } else if (word === 'trace') {
        expect(await decisions.trace(call, { decision_id: about, direction: 'both' })).toEqual(expected)
      } else if (word === 'neighbors') {
        const { id } = (expected as { center: { id: string } }).center
        const found = await graph.neighbors(call, { entity: id, depth: 2, limit: 100 })
        expect(found).toEqual({ ...expected, truncated: false })
      } else if (word === 'summarize') {
        const { recent_activity_summary: said, ...counted } = expected
        const answer = await memory.summarize(call, 'project')
        expect(answer).toMatchObject(counted)
        for (const part of String(said).slice(0, -1).split(', '))
          expect(answer.recent_activity_summary).toContain(part)
      } else expect.fail(`nobody compares ${asked}`)
    }
  })

  test('a repeated import changes no byte and counts every item as known', async () => {
    await takeAll()
    const before = treeOf(path.join(root, '.turnbell'))
    const again = await takeAll()
    expect(again.counts.entries).toEqual({ ...known, known: 22 })
    expect(again.counts.relations).toEqual({ ...known, known: 24 })
    expect(again.changed).toEqual([])
    expect(treeOf(path.join(root, '.turnbell'))).toEqual(before)
    expect(world.told().filter(({ type }) => type === 'memory.imported')).toHaveLength(1)
  })

  test('an import keeps fields that only the other tool knows', async () => {
    await takeAll()
    const id = '01M7XS932MPZ7FSJJAGAJFT9JC'
    expect(await world.decisions.read(operator(root), id)).toMatchObject({ assembled_before: false })
    const read = (...names: string[]) =>
      JSON.parse(fs.readFileSync(path.join(root, ...names), 'utf8')) as object[]
    const sorted = (rows: object[]) => rows.map((row) => JSON.stringify(row)).sort()
    for (const name of ['entities.json', 'relations.json'])
      expect(sorted(read('.turnbell', 'graph', name))).toEqual(sorted(read('.twining', 'graph', name)))
  })

  test('an entry that was archived after its import does not come back', async () => {
    await takeAll()
    const call = operator(root)
    const { archived_count } = await world.blackboard.archive(call, ArchiveInput.parse({ summarize: false }))
    expect(archived_count).toBeGreaterThan(0)
    const before = treeOf(path.join(root, '.turnbell'))
    expect((await takeAll()).counts.entries).toEqual({ ...known, known: 22 })
    expect(treeOf(path.join(root, '.turnbell'))).toEqual(before)
  })
})

describe('an import', () => {
  beforeEach(async () => {
    world = await memoryWorld()
  })

  test('an import into a directory registers that directory as a project', async () => {
    await world.projects.at('/work')
    const { project_id } = await take({ entries: [entry('A')] }, '/projects/shop/')
    expect(world.projects.find('/projects/shop')?.project_id).toBe(project_id)
    expect(world.told().at(-1)).toMatchObject({
      type: 'memory.imported',
      agent_id: 'operator',
      data: { project_id, entries: 1, decisions: 0 },
    })
    const outer = await world.blackboard.read(operator('/work'), ReadInput.parse({}))
    expect(outer.total_count).toBe(0)
  })

  test('an import into a directory of an unregistered repository or memory registers that directory alone', async () => {
    const held = { memories: ['/src/clone'], repositories: ['/src/new'], homes: ['/home/ada'] }
    world = await memoryWorld({ places: playedPlaces(held) })
    for (const root of ['/src/clone/lib', '/src/new/lib', '/home/ada/lib']) {
      const { project_id } = await take({ entries: [entry('A')] }, root)
      expect(world.projects.find(root)?.project_id).toBe(project_id)
    }
  })

  test.each([
    ['a home', '/home/ada', /is not a project: it has a turnbell home/],
    ['what is not there, below a memory that nobody knows', '/gone/clone/lib', /no directory/],
  ])('an import into %s is rejected', async (_, scope, detail) => {
    world = await memoryWorld({ places: playedPlaces({ memories: ['/gone/clone'], homes: ['/home/ada'] }) })
    const before = world.projects.list()
    const taking = take({ entries: [entry('A')] }, scope)
    await expect(taking).rejects.toMatchObject({ code: 'project_unknown', detail })
    expect(world.projects.list()).toEqual(before)
  })

  test.each(['/gone/shop', 'nobody'])(
    'an import into %s is rejected, and no project is registered',
    async (scope) => {
      const before = world.projects.list()
      await expect(take({ entries: [entry('A')] }, scope)).rejects.toMatchObject({ code: 'project_unknown' })
      expect(world.projects.list()).toEqual(before)
    },
  )

  test('imported records keep their fields, ids and times, also of types that cannot be created here', async () => {
    await take({
      entries: [entry('A', { mood: 'good', timestamp: '2026-01-01T12:00:00+02:00' })],
      entities: [entity('B', { type: 'agent' }), entity('C')],
      relations: [relation('D', 'B', 'C', { type: 'challenged', properties: { deep: { er: 1 } } })],
    })
    const { entries } = await world.blackboard.read(operator(), ReadInput.parse({}))
    expect(entries).toMatchObject([{ id: ID('A'), timestamp: TIME, agent_id: 'ann', mood: 'good' }])
    const { neighbors } = await world.graph.neighbors(operator(), { entity: 'B', depth: 1, limit: 9 })
    expect(neighbors).toMatchObject([
      {
        entity: { id: ID('C') },
        relation: { id: ID('D'), type: 'challenged', properties: { deep: { er: 1 } } },
      },
    ])
  })

  test.each([
    ['an entry', 'entries', entry('A'), entry('A', { summary: 'other' })],
    ['a decision', 'decisions', decision('A'), decision('A', { status: 'superseded' })],
    ['an entity', 'entities', entity('A'), entity('A', { properties: { a: '1' } })],
    ['a relation', 'relations', relation('A', 'B', 'C'), relation('A', 'B', 'D')],
  ])('%s that exists with other content stays unchanged and is reported', async (_, sort, one, other) => {
    await take({ [sort]: [one] })
    const { counts, changed } = await take({ [sort]: [other] })
    expect(counts).toMatchObject({ [sort]: { ...nothing, changed: 1 } })
    expect(changed).toEqual([{ sort, id: ID('A') }])
    expect((await take({ [sort]: [one] })).counts).toMatchObject({ [sort]: known })
  })

  test('an imported relation is redirected to the entity that exists under another id', async () => {
    const { id } = await world.graph.addEntity(operator(), { name: 'B', type: 'file', properties: {} })
    const first = await take({ entities: [entity('B'), entity('C')] })
    expect(first.same_as).toEqual({ [ID('B')]: id })
    expect(first.counts.entities).toEqual({ ...all, known: 1 })
    const relations = [relation('D', 'B', 'C')]
    expect((await take({ relations, same_as: first.same_as })).counts.relations).toEqual(all)
    const { neighbors } = await world.graph.neighbors(operator(), { entity: id, depth: 1, limit: 9 })
    expect(neighbors).toMatchObject([{ entity: { id: ID('C') }, relation: { id: ID('D'), source: id } }])
    // Sends everything in one call.
    const again = await take({ entities: [entity('B'), entity('C')], relations })
    expect(again.counts).toMatchObject({ entities: { ...known, known: 2 }, relations: known })
  })

  test('an imported relation that exists between the same entities is not stored again', async () => {
    const one = await world.graph.addEntity(operator(), { name: 'B', type: 'file', properties: {} })
    const other = await world.graph.addEntity(operator(), { name: 'C', type: 'file', properties: {} })
    await world.graph.addRelation(operator(), {
      source: one.id,
      target: other.id,
      type: 'imports',
      properties: {},
    })
    const { counts } = await take({
      entities: [entity('B'), entity('C')],
      relations: [relation('D', 'B', 'C'), relation('E', 'C', 'B')],
    })
    expect(counts.relations).toEqual({ ...all, known: 1 })
  })

  test('archived entries are imported into the archive of the same day', async () => {
    const archived = [{ day: '2026-01-05', entry: entry('A') }]
    expect((await take({ archived })).counts.archived).toEqual(all)
    expect((await world.blackboard.read(operator(), ReadInput.parse({}))).total_count).toBe(0)
    const rows = await world.project('/projects/shop').list('archive/2026-01-05')
    expect(rows).toMatchObject([{ id: ID('A') }])
    expect((await take({ archived })).counts.archived).toEqual(known)
    // An entry archived in the source after its first import, or archived here.
    expect((await take({ entries: [entry('A')] })).counts.entries).toEqual(known)
    await take({ entries: [entry('B')] })
    const later = await take({ archived: [{ day: '2026-01-06', entry: entry('B') }] })
    expect(later.counts.archived).toEqual(known)
  })

  test('items with foreign ids are imported under ULIDs, with their links', async () => {
    const { counts } = await take({
      entities: [entity('B', { id: 'n1', name: 'p' }), entity('C', { id: 'n2', name: 'q' })],
      relations: [relation('D', 'B', 'C', { id: 'r', source: 'n1', target: 'n2' })],
      entries: [entry('A', { id: 'hook-1', relates_to: ['hook-2'] })],
      archived: [{ day: '2026-01-05', entry: entry('B', { id: 'hook-2' }) }],
    })
    expect(counts).toMatchObject({ entities: { taken: 2 }, relations: all, entries: all, archived: all })
    const [taken] = await world.project('/projects/shop').list('entry')
    const [former] = await world.project('/projects/shop').list('archive/2026-01-05')
    expect(taken?.body).toMatchObject({ foreign_id: 'hook-1', relates_to: [former?.id] })
    expect(taken?.id).toBe(ulidForForeignId('hook-1', taken?.body ?? {}))
    expect(
      (await take({ entries: [entry('A', { id: 'hook-1', relates_to: ['hook-2'] })] })).counts.entries,
    ).toEqual({
      ...known,
    })
  })

  const DEEP: unknown = JSON.parse(`${'['.repeat(64)}${']'.repeat(64)}`)
  test.each<[string, string, object, RegExp]>([
    ['an entry without an id', 'entries', entry('A', { id: undefined }), /id/],
    [
      'an entry of a foreign id and no time',
      'entries',
      entry('A', { id: 'one', timestamp: undefined }),
      /ULID/,
    ],
    ['an entry of an unknown type', 'entries', entry('A', { entry_type: 'gossip' }), /entry_type/],
    ['an entry that says nothing', 'entries', entry('A', { summary: '' }), /summary/],
    ['an entry that is too long', 'entries', entry('A', { detail: 'x'.repeat(70_000) }), /bytes/],
    ['an entry that is nested too deep', 'entries', entry('A', { x: DEEP }), /nested/],
    ['a decision of an unknown status', 'decisions', decision('A', { status: 'maybe' }), /status/],
    ['a decision of no domain', 'decisions', decision('A', { domain: undefined }), /domain/],
    ['an entity without a name', 'entities', entity('A', { name: undefined }), /name/],
    ['a relation that leads nowhere', 'relations', relation('A', 'B', 'C', { target: 'x' }), /target/],
  ])('an import leaves out %s and reports the reason', async (_, sort, bad, reason) => {
    const made: Record<string, object> = { entries: entry('F'), decisions: decision('F') }
    const good = made[sort] ?? (sort === 'entities' ? entity('F') : relation('F', 'B', 'C'))
    const { counts, rejected } = await take({ [sort]: [bad, good] })
    expect(counts).toMatchObject({ [sort]: { ...all, rejected: 1 } })
    expect(rejected).toMatchObject([{ sort, at: 0, reason: expect.stringMatching(reason) as string }])
  })

  test('an import of nothing changes nothing and publishes no event', async () => {
    const told = world.told().length
    expect((await take({})).counts).toMatchObject({ entries: nothing, relations: nothing })
    expect(world.told()).toHaveLength(told)
  })

  test("an import without a project goes to the hub's own memory", async () => {
    expect(await take({ entries: [entry('A')] }, null)).toMatchObject({
      project_id: null,
      counts: { entries: all },
    })
  })
})
