import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import Database from 'libsql'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { ActivityStore } from '../../../../src/ports/activity-store.ts'
import { openActivityStore } from '../../../../src/storage/sqlite/activity/activity-store.ts'
import { actionRow, projectRow, rowsOf, sessionRow, timeAt } from '../../../support/activity-rows.ts'
import { mountSmallDisk } from '../../../support/disk/small-disk.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

let directory: string
let file: string
let damaged: string[]
beforeEach(() => {
  directory = temporaryDirectory()
  file = path.join(directory, 'activity.db')
  damaged = []
})

async function open(): Promise<ActivityStore> {
  const store = await openActivityStore({ file, onDamaged: (moved) => damaged.push(moved) })
  onTestFinished(() => store.close())
  return store
}

const mode = (name: string) => (fs.statSync(name).mode & 0o777).toString(8)
const actions = async (store: ActivityStore) => (await store.counts(timeAt(0))).actions.total
const batch = (count: number, prefix = 'a') =>
  rowsOf({
    projects: [projectRow('p1')],
    sessions: [sessionRow('s1')],
    actions: Array.from({ length: count }, (_, n) =>
      actionRow(`${prefix}${n}`, { output: 'x'.repeat(1_000) }),
    ),
  })

test('the database and its companions are private, also if the file had another mode', async () => {
  fs.writeFileSync(file, '', { mode: 0o644 })
  const store = await open()
  await store.write(batch(1))
  expect([file, `${file}-wal`, `${file}-shm`].map(mode)).toEqual(['600', '600', '600'])
})

test('a closed store leaves all rows in the database file', async () => {
  const store = await open()
  await store.write(batch(10))
  await store.close()
  await store.close()
  const copy = path.join(temporaryDirectory(), 'copy.db')
  fs.copyFileSync(file, copy)
  file = copy
  expect(await actions(await open())).toBe(10)
})

test('a file that is not a database is renamed and replaced', async () => {
  fs.writeFileSync(file, 'not a database'.repeat(1_000))
  const store = await open()
  await store.write(batch(1))
  expect(await actions(store)).toBe(1)
  expect(damaged).toEqual([expect.stringContaining(`${file}.damaged-`)])
  expect(fs.readFileSync(String(damaged[0]), 'utf8')).toContain('not a database')
})

test('a database with overwritten pages is renamed and replaced at the start', async () => {
  const store = await open()
  await store.write(batch(200))
  await store.close()
  const content = fs.readFileSync(file)
  fs.writeFileSync(file, content.fill(0x55, 8_192, content.length - 4_096))
  expect(await actions(await open())).toBe(0)
  expect(damaged).toHaveLength(1)
})

test('a database that is overwritten in use is replaced, and the batch is stored in the new one', async () => {
  const store = await open()
  for (let n = 0; n < 10; n++) await store.write(batch(400, `${n}:`))
  // Writes its -wal file into the database, so that pages are read from there.
  await (await open()).close()
  const fd = fs.openSync(file, 'r+')
  fs.writeSync(fd, Buffer.alloc(fs.fstatSync(fd).size - 4_096, 0x55), 0, undefined, 4_096)
  fs.closeSync(fd)
  let last = ''
  for (let n = 0; n < 10 && damaged.length === 0; n++) {
    last = `later ${n}:`
    await store.write(batch(100, last))
    await store.deleteActions('s2')
    await store.actions({ limit: 200 })
  }
  expect(damaged).toHaveLength(1)
  await store.write(batch(1, last))
  expect(await actions(store)).toBeGreaterThan(0)
})

test('a database with a newer schema is refused and not changed', async () => {
  await (await open()).close()
  const database = new Database(file)
  database.exec("INSERT INTO schema_version VALUES (9000, '')")
  database.pragma('wal_checkpoint(TRUNCATE)')
  database.close()
  const before = fs.readFileSync(file)
  await expect(open()).rejects.toMatchObject({ code: 'config_invalid' })
  expect(fs.readFileSync(file).equals(before)).toBe(true)
  expect(damaged).toEqual([])
})

test('a missing directory is reported as an unavailable store', async () => {
  file = path.join(directory, 'missing', 'activity.db')
  await expect(open()).rejects.toMatchObject({ code: 'store_unavailable' })
})

test('a write on a full disk stores nothing, and later writes succeed when the disk has space again', async ({
  skip,
}) => {
  const disk = mountSmallDisk(directory, { mebibytes: 4, files: 10 })
  if (disk === null) return skip()
  // libsql closes its files only when its statements are collected, so the disk is still in use.
  onTestFinished(() => void spawnSync('umount', ['--lazy', directory]))
  const store = await openActivityStore({ file })
  await store.write(batch(10))
  disk.fill()
  await expect(store.write(batch(1_000, 'b'))).rejects.toMatchObject({ code: 'store_unavailable' })
  expect(await actions(store)).toBe(10)
  disk.empty()
  await store.write(batch(20, 'b'))
  expect(await actions(store)).toBe(30)
  await store.close()
})
