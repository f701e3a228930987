/** Tests spooled lines of hooks, consumed by hubs that are killed while they process them. */
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { createIds, systemRandom } from '../../../src/system/random.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { end, startHub, temporaryHome, type Running } from '../../support/processes/processes.ts'

const closers: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

test('spooled lines count once although the hub is killed and restarted repeatedly', async () => {
  const outer = fs.realpathSync(temporaryHome())
  closers.push(() => fs.rmSync(outer, { recursive: true, force: true }))
  const home = path.join(outer, 'home')
  const [root, shut] = [path.join(outer, 'shop'), path.join(outer, 'shut')]
  const spool = path.join(home, 'spool')
  for (const folder of [spool, root, shut]) fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  // turnbell does not write through a linked memory, so these lines have to wait.
  const elsewhere = path.join(outer, 'elsewhere')
  fs.mkdirSync(elsewhere)
  fs.symlinkSync(elsewhere, path.join(shut, '.turnbell'))

  const ids = createIds(systemClock, systemRandom)
  const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString()
  const post = (at: string, summary: string, where = root) => ({
    ...{ id: ids.next(), at, type: 'post', root: where, entry: { entry_type: 'finding', summary } },
  })
  const hook = () => ({
    ...{ id: ids.next(), at: minutesAgo(1), type: 'hook', client: 'codex', identity: 'ada', body: {} },
  })
  const archive = {
    ...{ id: ids.next(), at: minutesAgo(1), type: 'archive', root, trigger: 'commit' },
    before: minutesAgo(2),
  }
  const old = Array.from({ length: 20 }, (_, n) => post(minutesAgo(5), `old ${n}`))
  const hooks = [hook(), hook(), hook()]
  const waits = post(minutesAgo(1), 'waits', shut)
  const fresh = post(minutesAgo(1), 'fresh')
  const gone = post(minutesAgo(1), 'gone', path.join(outer, 'gone'))
  const lines = [hooks[0], waits, ...old, hooks[1], archive, gone, fresh, hooks[2]]
  fs.writeFileSync(path.join(spool, 'hooks.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))

  const linesOf = (...names: string[]) => {
    const file = path.join(...names)
    const text = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''
    return text.split('\n').filter((line) => line !== '')
  }
  const board = (of = root) => linesOf(of, '.turnbell', 'blackboard.jsonl')
  const told = () =>
    linesOf(home, 'hub', 'events', 'events.jsonl').filter((line) => line.includes('"type":"hook"'))
  const start = async (): Promise<Running> => {
    const running = await startHub(home)
    closers.push(() => end(running))
    return running
  }

  // Killed at the start, in the middle, near the end, and stopped cleanly while lines wait.
  await end(await start())
  for (const seen of [
    // The number may have decreased again before this check.
    () => board().length >= 5 || board().some((line) => line.includes('Archive summary')),
    () => board().some((line) => line.includes('Archive summary')),
    () => told().length === 3,
  ]) {
    const running = await start()
    await eventually('so much is taken in', seen)
    await end(running)
  }
  expect(await end(await start(), 'SIGTERM')).toBe(0)
  const last = await start()
  await eventually('nothing but what waits is left in the spool', () => {
    const left = fs.readdirSync(spool)
    return left.length === 2 && left.includes('waiting.jsonl')
  })
  fs.rmSync(path.join(shut, '.turnbell'))
  await eventually('what waited is taken in', () => !fs.existsSync(path.join(spool, 'waiting.jsonl')))
  await end(last, 'SIGTERM')

  const idsIn = (texts: readonly string[]) => texts.map((text) => (JSON.parse(text) as { id: string }).id)
  expect(idsIn(board()).toSorted()).toEqual([archive.id, fresh.id].toSorted())
  expect(board().find((line) => line.includes(archive.id))).toMatch(/Archive summary: 20 entries/)
  const days = fs.readdirSync(path.join(root, '.turnbell', 'archive'))
  const archived = days.flatMap((day) => linesOf(root, '.turnbell', 'archive', day))
  expect(idsIn(archived).toSorted()).toEqual(old.map(({ id }) => id).toSorted())
  expect(idsIn(board(shut))).toEqual([waits.id])
  expect(told().map((line) => (JSON.parse(line) as { data: { id: string } }).data.id)).toEqual(
    hooks.map(({ id }) => id),
  )
  expect(linesOf(spool, 'rejected.jsonl').filter((line) => line.includes(gone.id))).toHaveLength(1)
  expect(linesOf(spool, 'rejected.jsonl')).toHaveLength(1)
})
