/**
 * Six processes post through one hub, one of them is killed repeatedly, an editor saves the same file, and then the hub
 * itself is killed: every confirmed entry is present once.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { cleanEnvironment, end, standStill } from '../../support/processes/processes.ts'
import { ADA, projectHub, type ProjectHub } from '../../support/processes/project-hub.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const POSTER = path.resolve(import.meta.dirname, '../../support/processes/memory-poster.mjs')
/** Number of posts of each process that is not killed. */
const POSTS = 900
const DEATHS = 5
/** Number of posts of a process before it is killed. */
const BEFORE_DEATH = 100

async function setUp() {
  const root = temporaryDirectory()
  fs.mkdirSync(path.join(root, '.turnbell'))
  // No entry may be archived while they are counted.
  const config = 'archive: {max_blackboard_entries_before_archive: 1000000}\n'
  fs.writeFileSync(path.join(root, '.turnbell/config.yml'), config)
  const hub = await projectHub(root)
  const token = await hub.token(ADA)
  const confirmed = { entry: new Set<string>(), decision: new Set<string>() }
  const post = (name: string, count: number) => {
    const child = spawn(process.execPath, [POSTER, hub.home, token, name, String(count)], {
      env: cleanEnvironment(),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    let heard = 0
    const lines = createInterface({ input: child.stdout })
    lines.on('line', (line) => {
      heard += 1
      const [kind, id] = line.split(' ') as ['entry' | 'decision', string]
      confirmed[kind].add(id)
    })
    const gone = Promise.all([once(child, 'exit'), once(lines, 'close')]).then(([[code]]) => code as number)
    return { child, gone, heard: () => heard }
  }
  return { hub, confirmed, post }
}

/** A user who appends lines like `>>`, and once saves the whole file. */
function editor(hub: ProjectHub) {
  const file = hub.files.inside('blackboard.jsonl')
  const wrote: string[] = []
  const line = () => {
    const summary = `by hand ${wrote.length + 1}`
    wrote.push(summary)
    // Without an id or a time, like a manual entry.
    return `${JSON.stringify({ entry_type: 'finding', summary })}\n`
  }
  /** Edits between the hub's last read and its rename, or between its opening and writing, cannot be detected. */
  const whileTheHubRests = async (act: () => void) => {
    const goOn = await standStill(hub.running())
    try {
      act()
    } finally {
      goOn()
    }
  }
  return {
    wrote,
    append: () => whileTheHubRests(() => fs.appendFileSync(file, line())),
    save: () =>
      whileTheHubRests(() => {
        const draft = `${file}~`
        fs.writeFileSync(draft, Buffer.concat([fs.readFileSync(file), Buffer.from(line())]))
        fs.renameSync(draft, file)
      }),
  }
}

async function expectWhole(hub: ProjectHub, confirmed: Record<'entry' | 'decision', Set<string>>) {
  const { files } = hub
  // The last request of a killed process is still executed.
  await eventually('the hub has done everything', async () => {
    const { blackboard_entries: entries, active_decisions, graph_entities } = await hub.call('twining_status')
    const nodes = new Set(files.entities().map(({ name }) => name))
    return (
      entries === files.entries().length &&
      graph_entities === nodes.size &&
      active_decisions === files.decisions().length &&
      files.decisions().every(({ id, entry_id }) => entry_id !== undefined && nodes.has(id))
    )
  })
  const { blackboard_entries, active_decisions, graph_entities, warnings } = await hub.call('twining_status')
  // The hub has assigned ids or quarantined every line that needs it.
  const entries = files.entries()
  const ids = entries.map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  const said = entries.filter(({ entry_type }) => entry_type !== 'warning').map(({ summary }) => summary)
  expect(new Set(said).size).toBe(said.length)
  const there = new Set(ids)
  expect([...confirmed.entry].filter((id) => !there.has(id))).toEqual([])
  expect([blackboard_entries, warnings]).toEqual([entries.length, []])
  const { total_count } = await hub.call('twining_read', { limit: 1 })
  expect(total_count).toBe(entries.length)

  const decisions = files.decisions()
  const decided = new Set(decisions.map(({ id }) => id))
  expect([...confirmed.decision].filter((id) => !decided.has(id))).toEqual([])
  expect(active_decisions).toBe(decisions.length)
  expect(decisions.filter(({ entry_id }) => !there.has(entry_id as string))).toEqual([])
  expect(files.index()).toEqual(await files.rebuiltIndex())
  const names = files.entities().map(({ name, type }) => `${String(type)} ${String(name)}`)
  expect(new Set(names).size).toBe(names.length)
  expect(graph_entities).toBe(names.length)
  for (const { id } of decisions) expect(names).toContain(`concept ${id}`)
  return said
}

test('6 processes, one of which crashes repeatedly, and an editor lose no confirmed entry', async () => {
  const { hub, confirmed, post } = await setUp()
  const steady = ['bob', 'cyd', 'dan', 'eve', 'fay'].map((name) => post(name, POSTS))
  const mortal = (async () => {
    for (let death = 1; death <= DEATHS; death += 1) {
      const { child, gone, heard } = post(`gil-${death}`, POSTS)
      await eventually('it has posted', () => heard() >= BEFORE_DEATH)
      child.kill('SIGKILL')
      await gone
    }
  })()
  let over = false
  const all = Promise.all([mortal, ...steady.map(({ gone }) => gone)]).finally(() => (over = true))
  const by_hand = editor(hub)
  await eventually('the first is there', () => confirmed.entry.size > 0)
  let saved = false
  for (let posted = 0; !over;) {
    await eventually('some more were posted', () => over || confirmed.entry.size >= posted + 100)
    posted = confirmed.entry.size
    await by_hand.append()
    // Reads now and then, which assigns ids to manual entries.
    if (by_hand.wrote.length % 5 === 0) await hub.call('twining_read', { limit: 1 })
    if (posted > 1_500 && !saved) {
      await by_hand.save()
      saved = true
    }
  }
  expect((await all).slice(1)).toEqual(steady.map(() => 0))
  expect(saved).toBe(true)

  const said = await expectWhole(hub, confirmed)
  expect(by_hand.wrote.filter((summary) => !said.includes(summary))).toEqual([])
  expect(confirmed.entry.size).toBeGreaterThanOrEqual(5 * POSTS + DEATHS * BEFORE_DEATH)
  expect(hub.files.rejected('blackboard.jsonl')).toEqual([])
}, 300_000)

test('a hub that is killed twice keeps every confirmed entry', async () => {
  const { hub, confirmed, post } = await setUp()
  const posters = ['bob', 'cyd', 'dan'].map((name) => post(name, 300))
  for (const posted of [150, 450]) {
    await eventually(`${posted} were posted`, () => confirmed.entry.size >= posted)
    await end(hub.running(), 'SIGKILL')
    await hub.again()
  }
  expect(await Promise.all(posters.map(({ gone }) => gone))).toEqual([0, 0, 0])
  await expectWhole(hub, confirmed)
  expect(confirmed.entry.size).toBeGreaterThanOrEqual(3 * 300)
  // Only incomplete, unconfirmed lines.
  for (const { line } of hub.files.rejected('blackboard.jsonl')) {
    expect(() => JSON.parse(line) as unknown).toThrow()
  }
}, 300_000)
