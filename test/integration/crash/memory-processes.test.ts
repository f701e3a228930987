/** Several processes write one shared memory; one of them dies repeatedly, and an editor changes the files. */
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { openProjectRecords } from '../../../src/storage/file/project/project-records.ts'
import { bundle } from '../../support/command/bundle.ts'
import { AT_ONCE } from '../../support/processes/memory-writer.ts'
import { readyChild } from '../../support/processes/ready-child.ts'
import { rejectedIn } from '../../support/disk/rejected-lines.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const COUNT = 40 * AT_ONCE
const DEATHS = 6
/** A process that dies while it holds a lock blocks the others until the lock is stale. */
const PATIENCE_MS = 120_000

test(
  'every confirmed record is present once after killed processes and manual edits',
  async () => {
    const root = temporaryDirectory()
    const inside = (...names: string[]) => path.join(root, '.turnbell', ...names)
    const writer = await bundle('test/support/processes/memory-writer.ts', temporaryDirectory())
    const store = openProjectRecords({ root })
    await store.put('entry', 'first', { id: 'first' })
    const confirmed = new Set<string>(['entry first'])

    const start = async (name: string, count: number) => {
      const { child, closed, go } = await readyChild(writer, root, name, String(count))
      // A waiting test must not wait for lines of an ended process.
      void closed.then(() => child.emit('heard'))
      let said = ''
      let heard = 0
      child.stdout.on('data', (chunk: Buffer) => {
        const lines = (said + chunk.toString()).split('\n')
        said = lines.pop() ?? ''
        heard += lines.length
        for (const line of lines) confirmed.add(line)
        child.emit('heard')
      })
      go()
      const hear = async (lines: number) => {
        while (heard < lines && child.exitCode === null) await once(child, 'heard')
      }
      return { child, closed, hear }
    }

    const steady = Promise.all(
      ['ada', 'bob'].map(async (name) => {
        const { closed } = await start(name, COUNT)
        expect(await closed).toEqual([0, null])
      }),
    )
    const mortal = (async () => {
      for (let death = 1; death <= DEATHS; death += 1) {
        const { child, closed, hear } = await start(`cyd${death}`, COUNT * 100)
        await hear(10 * death)
        expect(child.exitCode).toBe(null)
        child.kill('SIGKILL')
        await closed
      }
    })()
    let over = false
    void Promise.allSettled([steady, mortal]).then(() => (over = true))
    let by_hand = 0
    while (!over) {
      by_hand += 1
      const id = `hand-${by_hand}`
      fs.appendFileSync(inside('blackboard.jsonl'), `${JSON.stringify({ id })}\n`)
      confirmed.add(`entry ${id}`)
      await store.put('entry', `main-${by_hand}`, { id: `main-${by_hand}` })
      confirmed.add(`entry main-${by_hand}`)
      if (by_hand % 10 === 0) await store.list('entry')
    }
    await Promise.all([steady, mortal])

    const fresh = openProjectRecords({ root })
    for (const kind of ['entry', 'entity', 'decision']) {
      const wanted = [...confirmed].flatMap((line) =>
        line.startsWith(`${kind} `) ? line.slice(kind.length + 1) : [],
      )
      const rows = await fresh.list(kind)
      const there = new Set(rows.map(({ id }) => id))
      expect(wanted.filter((id) => !there.has(id))).toEqual([])
      expect(there.size).toBe(rows.length)
      expect(await store.list(kind)).toEqual(rows)
      for (const { id, body } of rows) expect(body['id']).toBe(id)
    }
    const lines = fs.readFileSync(inside('blackboard.jsonl'), 'utf8').split('\n').filter(Boolean)
    const ids = lines.map((line) => (JSON.parse(line) as { id: string }).id)
    expect(new Set(ids).size).toBe(ids.length)
    // The incomplete lines of the killed process, and no complete one.
    for (const { line } of rejectedIn(inside('rejected', 'blackboard.jsonl'))) {
      expect(() => JSON.parse(line) as unknown).toThrow()
    }
    for (const table of ['graph/entities.json', 'decisions/index.json'])
      JSON.parse(fs.readFileSync(inside(table), 'utf8'))
    const index = JSON.parse(fs.readFileSync(inside('decisions/index.json'), 'utf8')) as { id: string }[]
    expect(index.map(({ id }) => id)).toEqual((await fresh.list('decision')).map(({ id }) => id))
  },
  PATIENCE_MS,
)
