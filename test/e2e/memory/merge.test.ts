/**
 * Two users work in checkouts of one repository, each with a separate hub, and git merges the memory of their agents:
 * all records of both sides are present, including those changed on both.
 */
import fs from 'node:fs'
import { expect, test } from 'vitest'
import { memoryFiles } from '../../support/disk/memory-files.ts'
import { end } from '../../support/processes/processes.ts'
import { projectHub, type ProjectHub } from '../../support/processes/project-hub.ts'
import { testRepository, type TestRepository } from '../../support/disk/test-repository.ts'

const MARK = /^(<<<<<<<|=======|>>>>>>>)/

const COMMITS = { ours: '3c8f08b', theirs: '9f2d1aa' }

const deciding = (what: string) => ({
  ...{ domain: 'implementation', scope: `src/${what}/`, summary: `Decided ${what}` },
  ...{ context: 'It was open.', rationale: `Because of ${what}.` },
  affected_files: ['src/shared.ts', `src/${what}.ts`],
})

/** Posts, decides, and changes an earlier decision, as an agent on that side. */
async function work(hub: ProjectHub, side: 'ours' | 'theirs', base: string, need: string) {
  await hub.call('twining_post', { entry_type: 'finding', summary: `Found ${side}`, scope: `src/${side}/` })
  const decided = await hub.call('twining_decide', { ...deciding(side), depends_on: [base] })
  // Created on both sides with different ids.
  const both = await hub.call('twining_add_entity', {
    name: 'shop',
    type: 'module',
    properties: { [side]: 'y' },
  })
  await hub.call('twining_add_relation', { source: 'shop', target: 'src/shared.ts', type: 'imports' })
  await hub.call('twining_add_relation', { source: both.id, target: `src/${side}.ts`, type: 'imports' })
  await hub.call('twining_add_entity', {
    name: 'src/shared.ts',
    type: 'file',
    properties: { [side]: 'knows' },
  })
  await hub.call('twining_link_commit', { decision_id: base, commit_hash: COMMITS[side] })
  if (side === 'ours') {
    await hub.call('twining_reconsider', { decision_id: base, new_context: 'The load has tripled.' })
  } else {
    await hub.call('twining_post', { entry_type: 'answer', summary: 'Done', relates_to: [need] })
  }
  return { decided: decided.id, shop: both.id }
}

/** Resolves a conflict by keeping both sides. */
function keepBothSides(repository: TestRepository): void {
  const files = repository.git('diff', '--name-only', '--diff-filter=U').split('\n').filter(Boolean)
  for (const name of files) {
    const file = `${repository.root}/${name}`
    const lines = fs.readFileSync(file, 'utf8').split('\n')
    fs.writeFileSync(file, lines.filter((line) => !MARK.test(line)).join('\n'))
  }
}

const WAYS: [string, { union: boolean; resolved: boolean; runs: boolean }][] = [
  ['merged by git itself', { union: true, resolved: true, runs: false }],
  ['merged by git itself under a running hub', { union: true, resolved: true, runs: true }],
  ['resolved by taking out the marks', { union: false, resolved: true, runs: false }],
  ['resolved by taking out the marks under a running hub', { union: false, resolved: true, runs: true }],
  ['left as git could not merge them', { union: false, resolved: false, runs: false }],
  ['left as git could not merge them under a running hub', { union: false, resolved: false, runs: true }],
]

test.each(WAYS)(
  'two branches with posts and decisions are merged, %s',
  async (_, { union, resolved, runs }) => {
    const ours = testRepository()
    const hub = await projectHub(ours.root)
    const need = await hub.call('twining_post', { entry_type: 'need', summary: 'Somebody has to look' })
    const base = await hub.call('twining_decide', deciding('base'))
    if (!union) fs.writeFileSync(hub.files.inside('.gitattributes'), '')
    ours.commit('base')

    const theirs = testRepository()
    theirs.git('pull', '--quiet', ours.root, 'main')
    const other = await projectHub(theirs.root)
    const [here, there] = [
      await work(hub, 'ours', base.id, need.id),
      await work(other, 'theirs', base.id, need.id),
    ]
    ours.commit('ours')
    theirs.commit('theirs')
    if (!runs) await end(hub.running(), 'SIGTERM')
    ours.git('fetch', '--quiet', theirs.root, 'main')
    try {
      ours.git('merge', '--quiet', '--no-edit', 'FETCH_HEAD')
    } catch {
      if (resolved) keepBothSides(ours)
    }
    if (!runs) await hub.again()
    const files = memoryFiles(ours.root)
    const tracked = ours.git('ls-files', '.turnbell').split('\n').filter(Boolean)
    const texts = () => tracked.map((name) => fs.readFileSync(`${ours.root}/${name}`, 'utf8'))
    const merged = texts()

    const ids = [base.id, here.decided, there.decided].sort()
    const why = await hub.call('twining_why', { scope: 'src/shared.ts' })
    expect(why.decisions.map(({ id }) => id).sort()).toEqual(ids)
    // The changes of either side to the same decision.
    expect(why).toMatchObject({ active_count: 2, provisional_count: 1 })
    expect(why.decisions.find(({ id }) => id === base.id)).toMatchObject({
      status: 'provisional',
      commit_hashes: expect.arrayContaining(Object.values(COMMITS)) as string[],
    })
    const trace = await hub.call('twining_trace', { decision_id: base.id, direction: 'downstream' })
    expect((trace['chain'] as { id: string }[]).map(({ id }) => id).sort()).toEqual(
      [here.decided, there.decided].sort(),
    )

    const { entries } = await hub.call('twining_read')
    expect(entries.map(({ summary }) => summary).sort()).toEqual(
      [
        ...['Somebody has to look', 'Decided base', 'Found ours', 'Decided ours', 'Found theirs'],
        ...['Decided theirs', 'Done', 'Reconsideration flagged: Decided base'],
      ].sort(),
    )
    expect(await hub.call('blackboard_read', { open: true, entry_types: ['need'] })).toMatchObject({
      total_count: 0,
    })

    const around = await hub.call('twining_neighbors', { entity: 'src/shared.ts' })
    expect(around.neighbors.map(({ entity, relation }) => [relation.type, entity.name]).sort()).toEqual(
      [...ids.map((id) => ['decided_by', id]), ['imports', 'shop']].sort(),
    )
    expect(around['center']).toMatchObject({ properties: { ours: 'knows', theirs: 'knows' } })
    for (const entity of ['shop', here.shop, there.shop]) {
      const shop = await hub.call('twining_neighbors', { entity })
      expect(shop['center']).toMatchObject({ properties: { ours: 'y', theirs: 'y' } })
      expect(shop.neighbors.map(({ entity: { name } }) => name).sort()).toEqual(
        ['src/ours.ts', 'src/shared.ts', 'src/theirs.ts'].sort(),
      )
    }
    const dependents = await hub.call('twining_neighbors', { entity: base.id })
    expect(dependents.neighbors.map(({ entity }) => entity.name).sort()).toEqual(
      [here.decided, there.decided, 'src/base.ts', 'src/shared.ts'].sort(),
    )

    // Reading leaves every file as git left it.
    expect(texts()).toEqual(merged)

    // A later change writes the merged result of the reads.
    await hub.call('twining_link_commit', { decision_id: base.id, commit_hash: '77aa00c' })
    const later = await hub.call('twining_decide', { ...deciding('later'), depends_on: ids })
    expect(files.index()).toEqual(await files.rebuiltIndex())
    expect(files.decisions().map(({ id }) => id)).toEqual([...ids, later.id].sort())
    for (const table of [files.entities(), files.relations()])
      expect(new Set(table.map(({ id }) => id)).size).toBe(table.length)
    // Files that git could not merge are rewritten, duplicate versions are quarantined, and nothing else changes.
    const changed = ours
      .git('status', '--porcelain', '.turnbell')
      .split('\n')
      .map((line) => line.slice(3))
    const decision = `decisions/${base.id}.json`
    expect(changed).toContain(`.turnbell/${decision}`)
    expect(changed).toContain('.turnbell/rejected/')
    expect(files.names().filter((name) => name.startsWith('rejected'))).toEqual([
      ...(resolved ? [] : ['rejected/blackboard.jsonl']),
      ...[`rejected/${decision}`, `rejected/${decision}.reason`],
    ])
    for (const name of files.names().filter((one) => !one.startsWith('rejected')))
      expect([
        name,
        files
          .text(name)
          .split('\n')
          .filter((line) => MARK.test(line)),
      ]).toEqual([name, []])
    expect(await hub.call('twining_status')).toMatchObject({
      ...{ blackboard_entries: 9, warnings: [expect.stringContaining(decision) as string] },
    })
  },
)

test('a pin that two branches changed is merged when it is read, and a conflict that cannot be merged stays in its file', async () => {
  const repository = testRepository()
  const hub = await projectHub(repository.root)
  const pin = async (text: string, branch: string) => {
    await hub.call('context_pin', { key: 'k', text })
    repository.commit(`on ${branch}`)
  }
  const folder = hub.files.inside('records/pin')
  const merge = () => expect(() => repository.git('merge', '--quiet', 'x')).toThrow('Command failed')
  await pin('base', 'main')
  repository.git('checkout', '--quiet', '-b', 'x')
  await pin('x side', 'x')
  repository.git('checkout', '--quiet', 'main')
  await pin('main side', 'main')
  merge()
  expect(await hub.call('context_list')).toMatchObject({ pins: [{ key: 'k', text: 'main side' }] })
  expect(repository.git('status', '--porcelain', '.turnbell')).toMatch(/^(AA|UU) /)
  await hub.call('context_pin', { key: 'k', text: 'after the merge' })
  repository.git('commit', '--quiet', '--all', '--message', 'merged')
  const names = fs.readdirSync(folder).filter((name) => name.endsWith('.json'))
  expect(names).toHaveLength(1)
  const [name = ''] = names
  expect(JSON.parse(repository.git('show', `HEAD:.turnbell/records/pin/${name}`))).toMatchObject({
    ...{ text: 'after the merge', generation: 4 },
  })
  expect(hub.files.text('rejected/pin', name)).toContain('x side')

  const torn = `{\n<<<<<<< HEAD\n  "text": "main\n=======\n  "text": "x side"\n>>>>>>> x\n}\n`
  fs.writeFileSync(`${folder}/${name}`, torn)
  expect(await hub.call('context_list')).toMatchObject({ pins: [] })
  expect(fs.readFileSync(`${folder}/${name}`, 'utf8')).toBe(torn)
  expect((await hub.call('twining_status')).warnings).toContainEqual(
    expect.stringContaining(`.turnbell/records/pin/${name}: the file contains an unresolved merge conflict`),
  )
})
