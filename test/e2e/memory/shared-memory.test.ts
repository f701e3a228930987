/**
 * Tests the shared memory from the command line with a real hub: importing another tool's memory, and commits reported
 * by git.
 */
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { end, startHub, temporaryHome, turnbell, type Running } from '../../support/processes/processes.ts'
import { testRepository, type TestRepository } from '../../support/disk/test-repository.ts'
import { timedUlid } from '../../support/timed-ulid.ts'
import { treeOf, twiningAnswers, twiningProject } from '../../support/disk/twining.ts'

const closers: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

function place() {
  const outer = fs.realpathSync(temporaryHome())
  closers.push(() => fs.rmSync(outer, { recursive: true, force: true }))
  const home = path.join(outer, "ada's home")
  fs.mkdirSync(home, { mode: 0o700 })
  const run = (...words: string[]) => turnbell([...words, '--home', home, '--json'])
  const hub = async (): Promise<Running> => {
    const running = await startHub(home)
    closers.push(() => end(running))
    return running
  }
  const call = async (root: string, facade: string, action: string, params: object = {}) => {
    const { code, json, stderr } = await run(
      ...['call', facade, action, '--scope', root, '--params', JSON.stringify(params)],
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    return json<Record<string, unknown>>()
  }
  return { outer, home, run, hub, call }
}

describe('import --from twining', () => {
  test("import yields what the tool's own server returned, and a second import changes no byte", async () => {
    const { outer, run, hub, call } = place()
    await hub()
    const { root, folder } = twiningProject(outer)
    const source = treeOf(folder)
    const first = await run('import', '--from', 'twining', folder)
    expect(first.code).toBe(0)
    expect(first.json()).toMatchObject({
      project: root,
      counts: { entries: { taken: 22 }, decisions: { taken: 7 } },
    })
    expect(await call(root, 'decisions', 'why', { scope: 'src/auth/' })).toMatchObject(
      twiningAnswers()['why src/auth/'] as object,
    )
    const { project, blackboard_entries, graph_relations } = twiningAnswers()['status'] as Record<
      string,
      unknown
    >
    // By its id, like any known project.
    const { project_id } = first.json<{ project_id: string }>()
    expect(await call(project_id, 'blackboard', 'status')).toMatchObject({
      ...{ project, blackboard_entries, graph_relations },
    })
    const before = treeOf(path.join(root, '.turnbell'))
    const second = await run('import', '--from', 'twining', root)
    expect(second.json()).toMatchObject({ counts: { entries: { taken: 0, known: 22 } }, changed: [] })
    expect(treeOf(path.join(root, '.turnbell'))).toEqual(before)
    expect(treeOf(folder)).toEqual(source)
  })

  test('import without a hub is refused and creates nothing', async () => {
    const { outer, run } = place()
    const { root } = twiningProject(outer)
    const refused = await run('import', '--from', 'twining', root)
    expect(refused.code).toBe(69)
    expect(refused.json()).toMatchObject({ hint: expect.stringContaining('turnbell up') as string })
    expect(fs.existsSync(path.join(root, '.turnbell'))).toBe(false)
  })
})

describe('a commit', () => {
  const HOUR_MS = 3_600_000
  interface Line {
    id: string
    entry_type: string
    summary: string
  }
  const linesOf = (file: string): Line[] =>
    fs.existsSync(file)
      ? fs
          .readFileSync(file, 'utf8')
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line) as Line)
      : []

  /** A repository with a hook, and a memory with three findings and permanent entries. */
  async function connected({ outer, run, call }: ReturnType<typeof place>) {
    const root = path.join(outer, 'the shop')
    fs.mkdirSync(root)
    const repository = testRepository(root)
    const hours_ago = (hours: number) => Date.now() - hours * HOUR_MS
    let commits = 0
    // Later than every earlier entry.
    const commit = (of: TestRepository = repository) => {
      commits += 1
      return of.commit(`commit ${commits}`, { at: new Date(hours_ago(10 - commits)).toISOString() })
    }
    expect(await run('connect', 'git', '--project', root)).toMatchObject({ code: 0 })
    const inside = (...names: string[]) => path.join(root, '.turnbell', ...names)
    fs.mkdirSync(inside())
    const said = [...['one', 'two', 'three'].map((summary) => ['finding', summary]), ['need', 'a review']]
    const lines = said.map(([entry_type, summary], n) => {
      const time = hours_ago(12)
      const made = { id: timedUlid(time, n), timestamp: new Date(time).toISOString(), agent_id: 'ann' }
      return `${JSON.stringify({ ...made, entry_type, summary, tags: [], scope: 'project', detail: '' })}\n`
    })
    fs.writeFileSync(inside('blackboard.jsonl'), lines.join(''))
    await call(root, 'blackboard', 'status')
    const board = () => linesOf(inside('blackboard.jsonl')).map(({ summary }) => summary)
    const archive = () =>
      fs.existsSync(inside('archive'))
        ? fs
            .readdirSync(inside('archive'))
            // A killed hub may have left its lock.
            .filter((name) => name.endsWith('.jsonl'))
            .flatMap((name) => linesOf(inside('archive', name)))
        : []
    return { root, commit, board, archive }
  }
  const FINDINGS = ['one', 'three', 'two']

  test('a commit archives once what is older than the previous commit, except open entries', async () => {
    const all = place()
    await all.hub()
    const { commit, board, archive } = await connected(all)
    commit()
    commit()
    await eventually('the findings are archived', () => board().length === 2)
    expect(
      archive()
        .map(({ summary }) => summary)
        .sort(),
    ).toEqual(FINDINGS)
    expect(board()).toEqual(['a review', expect.stringMatching(/^Archive summary: 3 entries/)])
  })

  test('a commit archives once, also if the hub is down and is killed after its start', async () => {
    const all = place()
    const first = await all.hub()
    const { commit, board, archive } = await connected(all)
    await end(first)
    commit()
    commit()
    const spool = path.join(all.home, 'spool')
    const waiting = () => fs.readdirSync(spool).filter((name) => name !== 'rejected.jsonl')
    expect(waiting()).toEqual(['hooks.jsonl'])
    await end(await all.hub())
    await all.hub()
    await eventually('nothing is left in the spool', () => waiting().length === 0)
    expect(
      archive()
        .map(({ summary }) => summary)
        .sort(),
    ).toEqual(FINDINGS)
    expect(board().filter((summary) => FINDINGS.includes(summary))).toEqual([])
    expect(board()).toContain('a review')
    expect(board().filter((summary) => summary.startsWith('Archive summary'))).toHaveLength(1)
    expect(fs.existsSync(path.join(spool, 'rejected.jsonl'))).toBe(false)
  })

  test('the post-commit hook returns at once without output, with or without a hub, memory or turnbell', async () => {
    const all = place()
    const root = path.join(all.outer, 'shop')
    fs.mkdirSync(root)
    const repository = testRepository(root)
    await all.run('connect', 'git', '--project', root)
    repository.commit('one')
    repository.commit('two')
    expect(fs.readdirSync(path.join(all.home, 'spool'), { recursive: true })).toEqual([])
    const hook = path.join(root, '.git', 'hooks', 'post-commit')
    fs.writeFileSync(hook, fs.readFileSync(hook, 'utf8').replaceAll('turnbell.cjs', 'gone.js'))
    expect(repository.git('commit', '--allow-empty', '--quiet', '--message', 'three')).toBe('')
  })
})

test('a subagent that ends without a hub is posted to the blackboard once', async () => {
  const { outer, home, hub } = place()
  const root = path.join(outer, 'shop')
  fs.mkdirSync(path.join(root, '.turnbell'), { recursive: true })
  const fixture = path.resolve(import.meta.dirname, '../../fixtures/claude-code/2.1.329/hooks')
  const payload = (name: string) =>
    JSON.stringify({
      ...(JSON.parse(fs.readFileSync(path.join(fixture, name), 'utf8')) as object),
      cwd: root,
    })
  const hook = (event: string) =>
    turnbell(['hook', event, '--home', home, '--persona', 'ada'], { input: payload(`${event}.json`) })
  expect(await hook('SubagentStop')).toMatchObject({ code: 0, stdout: '{}\n', stderr: '' })
  await hub()
  const file = path.join(root, '.turnbell', 'blackboard.jsonl')
  const text = await eventually('it is posted', () => {
    const said = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''
    return said.endsWith('\n') && said
  })
  expect(text.match(/Subagent general-purpose finished: SUB RESULT/g)).toHaveLength(1)
  expect(JSON.parse(text)).toMatchObject({ entry_type: 'status', tags: ['subagent'] })
  const compacted = await hook('PreCompact')
  expect(compacted).toMatchObject({ code: 0, stdout: '' })
  expect(compacted.stderr).toMatch(/^turnbell: .*`blackboard archive`.*`context refresh`.*\n$/)
})
