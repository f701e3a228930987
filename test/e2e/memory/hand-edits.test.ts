/** Tests manual edits of a project's shared memory while a hub runs: they are read, or quarantined with the reason. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { projectHub, type ProjectHub } from '../../support/processes/project-hub.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const DECISION = {
  ...{ domain: 'api', scope: 'src/', summary: 'Use JSON', context: 'It was open.' },
  ...{ rationale: 'Everybody reads it.', affected_files: ['src/api.ts'] },
}

async function withMemory() {
  const hub = await projectHub()
  const [one, two] = [
    await hub.call('twining_post', { entry_type: 'need', summary: 'One' }),
    await hub.call('twining_post', { entry_type: 'finding', summary: 'Two' }),
  ]
  const decision = await hub.call('twining_decide', DECISION)
  const summaries = async () => (await hub.call('twining_read')).entries.map(({ summary }) => summary)
  return { hub, one, two, decision, summaries }
}

/** In place, as many editors save. */
function edit({ files }: ProjectHub, name: string, change: (text: string) => string): void {
  fs.writeFileSync(files.inside(name), change(files.text(name)))
}

const append = ({ files }: ProjectHub, text: string) =>
  fs.appendFileSync(files.inside('blackboard.jsonl'), text)

/** The hub works as before. */
async function expectAlive({ hub, one }: { hub: ProjectHub; one: { id: string } }) {
  const answer = { entry_type: 'answer', summary: 'Alive', relates_to: [one.id] }
  const { id } = await hub.call('twining_post', answer)
  expect(hub.files.entries().map((entry) => entry.id)).toContain(id)
  expect((await hub.http.get<{ status: string }>('/health')).status).toBe('ok')
}

describe('a line of the blackboard', () => {
  test('a line that was changed, removed or added by hand is read as it is now', async () => {
    const world = await withMemory()
    const { hub, summaries } = world
    edit(hub, 'blackboard.jsonl', (text) => text.replace('"One"', '"One, as it is spelt"'))
    expect(await summaries()).toEqual(['One, as it is spelt', 'Two', 'Use JSON'])
    edit(hub, 'blackboard.jsonl', (text) => text.replace(/.*"Two".*\n/, ''))
    expect(await summaries()).toEqual(['One, as it is spelt', 'Use JSON'])
    append(hub, '{"entry_type": "warning", "summary": "By hand"}\n')
    await eventually('it is there', async () => (await summaries()).includes('By hand'))
    const by_hand = hub.files.entries().find(({ summary }) => summary === 'By hand')
    expect(by_hand?.id).toMatch(/^[0-9A-Z]{26}$/)
    expect((await hub.call('twining_query', { query: 'hand' })).results[0]?.entry.id).toBe(by_hand?.id)
    await expectAlive(world)
  })

  test.each([
    ['is no JSON', 'remember the milk', /JSON/],
    ['is a list', '["finding","x"]', /object/],
    ['is of no type', '{"id":"01JZ0000000000000000000000","summary":"x"}', /entry_type/],
    ['says nothing', '{"id":"01JZ0000000000000000000000","entry_type":"need"}', /summary/],
    ['has an id that is none', '{"id":"x","entry_type":"need","summary":"x"}', /id/],
  ])('a line that %s is quarantined', async (_, line, reason) => {
    const world = await withMemory()
    const { hub, summaries } = world
    append(hub, `${line}\n`)
    await eventually('it is quarantined', async () => {
      await summaries()
      return hub.files.rejected('blackboard.jsonl').length > 0
    })
    const [rejected] = hub.files.rejected('blackboard.jsonl')
    expect(JSON.stringify([rejected?.line])).toContain(JSON.stringify(line.slice(0, 5)).slice(1, -1))
    expect(rejected?.reason).toMatch(reason)
    expect(await summaries()).toEqual(['One', 'Two', 'Use JSON'])
    expect(hub.files.entries()).toHaveLength(3)
    await expectAlive(world)
  })

  test('a line that is written in two parts and a concurrent post are two entries', async () => {
    const { hub, summaries } = await withMemory()
    append(hub, '{"entry_type":"finding","summ')
    const post = hub.call('twining_post', { entry_type: 'finding', summary: 'Meanwhile' })
    append(hub, 'ary":"Slowly typed"}\n')
    await post
    await eventually('both are there', async () => (await summaries()).length === 5)
    expect(await summaries()).toEqual(expect.arrayContaining(['Meanwhile', 'Slowly typed']))
    expect(hub.files.rejected('blackboard.jsonl')).toEqual([])
  })
})

test('an unfinished line is reported by the status and quarantined after the next post', async () => {
  const world = await withMemory()
  const { hub, summaries } = world
  const before = hub.files.text('blackboard.jsonl')
  const warnings = async () => (await hub.call('twining_status')).warnings
  const old = () => fs.utimesSync(hub.files.inside('blackboard.jsonl'), new Date(0), new Date(0))
  append(hub, '{"entry_type":"finding","summ')
  old()
  expect(await summaries()).toEqual(['One', 'Two', 'Use JSON'])
  expect(await warnings()).toEqual([
    expect.stringContaining('.turnbell/blackboard.jsonl: its last line is incomplete') as string,
  ])
  append(hub, 'ary":"Slowly typed"}\n')
  await eventually('it is there', async () => (await summaries()).includes('Slowly typed'))
  expect(await warnings()).toEqual([])
  append(hub, '{"entry_type":"finding","summ')
  old()
  expect(await warnings()).toHaveLength(1)
  await hub.call('twining_post', { entry_type: 'finding', summary: 'Behind it' })
  expect(await summaries()).toHaveLength(5)
  expect(hub.files.rejected('blackboard.jsonl')).toMatchObject([{ line: '{"entry_type":"finding","summ' }])
  expect(hub.files.text('blackboard.jsonl').startsWith(before)).toBe(true)
  await expectAlive(world)
})

describe('a decision', () => {
  test('a decision that was changed by hand is read as it is and updates the index', async () => {
    const world = await withMemory()
    const { hub, decision } = world
    edit(hub, `decisions/${decision.id}.json`, (text) =>
      text.replace('"Use JSON"', '"Use CBOR"').replace('"status": "active"', '"status": "provisional"'),
    )
    const why = await hub.call('twining_why', { scope: 'src/api.ts' })
    expect(why).toMatchObject({ active_count: 0, provisional_count: 1, decisions: [{ summary: 'Use CBOR' }] })
    expect(hub.files.index()).toMatchObject([{ summary: 'Use CBOR', status: 'provisional' }])
    await expectAlive(world)
  })

  test('a decision whose file was deleted is removed', async () => {
    const world = await withMemory()
    const { hub, decision } = world
    fs.rmSync(hub.files.inside(`decisions/${decision.id}.json`))
    expect(await hub.call('twining_why', { scope: 'src/' })).toMatchObject({ total_count: 0 })
    expect(hub.files.index()).toEqual([])
    expect(await hub.refused('twining_trace', { decision_id: decision.id })).toMatchObject({
      code: 'record_unknown',
    })
    await expectAlive(world)
  })

  test.each([
    ['no JSON', '{"id": ', /JSON/],
    ['another id', JSON.stringify({ ...DECISION, id: '01JZ0000000000000000000000' }), /id is 01JZ/],
    ['a status that there is not', null, /status/],
    ['nothing of what it is about', '{"id":"$id"}', /domain|summary/],
  ])('a decision whose file has %s is quarantined', async (_, wanted, reason) => {
    const world = await withMemory()
    const { hub, decision } = world
    const name = `decisions/${decision.id}.json`
    edit(hub, name, (text) =>
      wanted === null ? text.replace('"active"', '"perhaps"') : wanted.replace('$id', decision.id),
    )
    const text = hub.files.text(name)
    await eventually('it is quarantined', async () => {
      await hub.call('twining_why', { scope: 'src/' })
      return fs.existsSync(hub.files.inside('rejected', name))
    })
    expect(hub.files.text('rejected', name)).toBe(text)
    expect(hub.files.text('rejected', `${name}.reason`)).toMatch(reason)
    expect(await hub.call('twining_why', { scope: 'src/' })).toMatchObject({ total_count: 0 })
    expect(hub.files.index()).toEqual([])
    await expectAlive(world)
  })

  test('a damaged index of decisions is rebuilt', async () => {
    const world = await withMemory()
    const { hub } = world
    for (const text of ['', '[{"id":', '{}', '[]']) {
      fs.writeFileSync(hub.files.inside('decisions/index.json'), text)
      expect(await hub.call('twining_why', { scope: 'src/' })).toMatchObject({ total_count: 1 })
      expect(hub.files.index()).toMatchObject([{ summary: 'Use JSON' }])
    }
    await expectAlive(world)
  })
})

test('the valid part of a damaged graph is read and the rest is quarantined', async () => {
  const world = await withMemory()
  const { hub, decision } = world
  edit(hub, 'graph/entities.json', (text) => text.replace(/\]\s*$/, ',{"name": "tor'))
  const around = await eventually('it is looked through', async () => {
    const found = await hub.call('twining_neighbors', { entity: 'src/api.ts' })
    return hub.files.rejected('graph/entities.jsonl').length > 0 ? found : null
  })
  expect(around.neighbors).toMatchObject([{ entity: { name: decision.id } }])
  expect(hub.files.rejected('graph/entities.jsonl')).toMatchObject([
    { line: '{"name": "tor', reason: expect.stringContaining('JSON') as string },
  ])
  fs.writeFileSync(hub.files.inside('graph/relations.json'), 'nothing')
  await eventually('it is empty', async () => {
    const { neighbors } = await hub.call('twining_neighbors', { entity: 'src/api.ts' })
    return neighbors.length === 0 && hub.files.rejected('graph/relations.jsonl').length > 0
  })
  await hub.call('twining_add_relation', { source: 'src/api.ts', target: decision.id, type: 'related_to' })
  expect(hub.files.relations()).toHaveLength(1)
  await expectAlive(world)
})

test('an invalid `config.yml` is reported by the status and everything else works', async () => {
  const world = await withMemory()
  const { hub } = world
  const warnings = async (text: string) => {
    fs.writeFileSync(hub.files.inside('config.yml'), text)
    return (await hub.call('twining_status')).warnings
  }
  expect(await warnings('archive: {max_blackboard_entries_before_archive: many}\n')).toEqual([
    expect.stringMatching(/config\.yml.*max_blackboard_entries_before_archive/),
  ])
  expect(await warnings('project_name: [\n')).toEqual([expect.stringMatching(/not valid YAML/)])
  expect(await warnings('- a\n- list\n')).toHaveLength(1)
  expect(await warnings('')).toEqual([])
  expect(await warnings('project_name: shop\nlater_key: 1\n')).toEqual([])
  expect(await hub.call('twining_status')).toMatchObject({ project: 'shop' })
  fs.rmSync(hub.files.inside('config.yml'))
  expect(await hub.call('twining_status')).toMatchObject({ warnings: [], blackboard_entries: 3 })
  await expectAlive(world)
})

describe('the folder', () => {
  test('a folder that was deleted is recreated completely by the next write', async () => {
    const { hub, summaries } = await withMemory()
    fs.rmSync(hub.files.inside(), { recursive: true })
    expect(await summaries()).toEqual([])
    expect(await hub.call('twining_why', { scope: 'src/' })).toMatchObject({ total_count: 0 })
    expect(fs.existsSync(hub.files.inside())).toBe(false)
    const { id } = await hub.call('twining_decide', DECISION)
    expect(hub.files.names()).toEqual([
      ...['.gitattributes', '.gitignore', 'blackboard.jsonl', 'config.yml', `decisions/${id}.json`],
      ...['decisions/index.json', 'graph/entities.json', 'graph/relations.json'],
    ])
    expect(hub.files.entities()).toHaveLength(2)
    expect(await summaries()).toEqual(['Use JSON'])
  })

  test('a folder that was replaced by a link is refused and its target is not written', async () => {
    const { hub } = await withMemory()
    const elsewhere = path.join(temporaryDirectory(), 'elsewhere')
    fs.renameSync(hub.files.inside(), elsewhere)
    fs.symlinkSync(elsewhere, hub.files.inside())
    const before = fs.readFileSync(path.join(elsewhere, 'blackboard.jsonl'), 'utf8')
    for (const [name, params] of [
      ['twining_read', {}],
      ['twining_post', { entry_type: 'finding', summary: 'x' }],
      ['twining_decide', DECISION],
      ['twining_archive', {}],
      ['twining_status', {}],
    ] as const) {
      const problem = await hub.refused(name, params)
      expect([name, problem]).toMatchObject([name, { code: 'store_unavailable' }])
      expect(problem.detail).toContain('is a link')
    }
    expect(fs.readFileSync(path.join(elsewhere, 'blackboard.jsonl'), 'utf8')).toBe(before)
    expect(fs.readdirSync(path.join(elsewhere, 'decisions'))).toHaveLength(2)
    fs.rmSync(hub.files.inside())
    fs.renameSync(elsewhere, hub.files.inside())
    expect(await hub.call('twining_read')).toMatchObject({ total_count: 3 })
  })

  // Root ignores file modes, so the test has no effect as root.
  test.skipIf(process.getuid?.() === 0)(
    'a read-only folder is read and reported (skipped as root)',
    async () => {
      const world = await withMemory()
      const { hub, summaries } = world
      const places = ['', 'decisions', 'graph', 'blackboard.jsonl'].map((name) => hub.files.inside(name))
      for (const place of places) fs.chmodSync(place, place.endsWith('jsonl') ? 0o400 : 0o500)
      try {
        expect(await summaries()).toHaveLength(3)
        const post = { entry_type: 'finding', summary: 'x' }
        expect(await hub.refused('twining_post', post)).toMatchObject({ code: 'store_unavailable' })
        expect(await hub.refused('twining_decide', DECISION)).toMatchObject({ code: 'store_unavailable' })
      } finally {
        for (const place of places) fs.chmodSync(place, place.endsWith('jsonl') ? 0o600 : 0o700)
      }
      await expectAlive(world)
    },
  )
})
