/** Several processes write and count in the same project concurrently. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { bundle } from '../../support/command/bundle.ts'
import { readyChild } from '../../support/processes/ready-child.ts'
import { callBy, recordsIn } from '../../support/processes/record-writer.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const TURNS = 12

test('nothing that several processes put or count is lost, and no two changes have the same generation', async () => {
  const root = temporaryDirectory()
  const writer = await bundle('test/support/processes/record-writer.ts', temporaryDirectory())
  const [records, call] = [recordsIn(root), callBy('main', root)]
  const { id } = await records.put(call, { kind: 'tally', record: { text: 'all' } })

  const writers = await Promise.all(
    ['ada', 'bob', 'cyd'].map(async (name) => {
      const started = await readyChild(writer, root, name, String(TURNS), id)
      started.child.stdout.resume()
      return { name, ...started }
    }),
  )
  for (const { go } of writers) go()
  // This process is one of them, and reads while the others write.
  const seen: number[] = []
  for (let turn = 0; turn < TURNS; turn += 1) {
    await records.put(call, { kind: 'tally', record: { text: `main ${turn}` } })
    seen.push((await records.query(call, { kind: 'tally' })).total)
  }
  for (const { closed } of writers) expect(await closed).toEqual([0, null])

  const { records: all } = await records.query(call, { kind: 'tally', sort: 'generation', limit: 500 })
  const names = ['main', ...writers.map(({ name }) => name)]
  const wanted = names.flatMap((name) => Array.from({ length: TURNS }, (_, turn) => `${name} ${turn}`))
  expect(all.map(({ text }) => text).sort()).toEqual(['all', ...wanted].sort())
  expect(all.find((record) => record.id === id)?.['count']).toBe(writers.length * TURNS)
  const generations = all.map(({ generation }) => generation)
  expect(new Set(generations).size).toBe(all.length)
  // Every change took the next generation: each put and each count of each process, and the first put.
  expect(Math.max(...generations)).toBe(1 + TURNS * (2 * writers.length + 1))
  expect(seen).toEqual([...seen].sort((a, b) => a - b))
  const folder = path.join(root, '.turnbell')
  expect(fs.readdirSync(folder).filter((name) => /lock|new|rejected/.test(name))).toEqual([])
  expect(fs.readdirSync(path.join(folder, 'records/tally')).every((name) => name.endsWith('.json'))).toBe(
    true,
  )
})
