/** Descriptors and files that a hub releases on a disk without space and inodes. */
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { silentLog } from '../../../src/ports/log.ts'
import { openFileEventLog } from '../../../src/storage/file/events/event-log.ts'
import {
  createFileRecordStore,
  type RecordStoreOptions,
} from '../../../src/storage/file/records/record-store.ts'
import { openStores } from '../../../src/storage/open.ts'
import { startEmbeddedHub } from '../../../src/hub/embedded/embedded-hub.ts'
import { loadConfig } from '../../../src/system/config/config.ts'
import { prepareHome, resolveHome } from '../../../src/system/config/home.ts'
import { takeOwnerLock, lockHolder } from '../../../src/system/files/owner-lock.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { mountSmallDisk, type SmallDisk } from '../../support/disk/small-disk.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

let directory: string
let disk: SmallDisk | null
beforeEach(() => {
  directory = temporaryDirectory()
  disk = mountSmallDisk(directory, { mebibytes: 4, files: 40 })
})
// Unmounting also fails if a file on it is still open.
afterEach(() => disk?.unmount())

const take = (lock: string) => takeOwnerLock({ lock, what: 'A hub', onLost() {} })

test('a hub on a full disk releases its lock', async ({ skip }) => {
  if (disk === null) return skip()
  const lock = path.join(directory, 'hub.lock')
  const held = await take(lock)
  disk.fill()
  await held.release()
  expect(fs.existsSync(lock)).toBe(false)
  expect(lockHolder(lock)).toBeNull()
  disk.empty()
  await (await take(lock)).release()
  expect(fs.readdirSync(directory)).toEqual([])
})

test.each([0, 1, 2])(
  'a hub that fails on a full disk with room for %i files leaves no lock and names no holder',
  async (files) => {
    if (disk === null) return
    const lock = path.join(directory, 'hub.lock')
    disk.fill({ files })
    await expect(take(lock)).rejects.toThrow(/ENOSPC/)
    disk.empty()
    await (await take(lock)).release()
    expect(fs.readdirSync(directory)).toEqual([])
  },
)

test('a hub on a full disk does not leave the home of another hub marked as running', async ({ skip }) => {
  if (disk === null) return skip()
  const home = resolveHome({}, directory)
  prepareHome(home)
  // The pid file of an older hub, whose pid now belongs to another process.
  const left = { pid: process.pid, url: 'http://127.0.0.1:1', started_at: '2026-01-01T00:00:00.000Z' }
  fs.writeFileSync(home.hub_pid, JSON.stringify(left))
  disk.fill()
  const readConfig = () => loadConfig(home.config, {}, { hub: { port: 0 } })
  const hub = startEmbeddedHub({ home, readConfig, clock: fakeClock(), env: {}, onEnd() {} })
  await expect(hub).rejects.toMatchObject({ code: 'store_unavailable' })
  disk.empty()
})

test('events after a full disk have higher numbers than all published events', async ({ skip }) => {
  if (disk === null) return skip()
  const clock = fakeClock()
  const failures: Error[] = []
  const open = () => openFileEventLog({ directory, clock, onFailed: (error) => failures.push(error) })
  const append = (log: ReturnType<typeof open>, text: string) =>
    log.append({ type: 'friction.logged', agent_id: null, data: { text } })
  const closed = open()
  append(closed, 'kept')
  await closed.written()
  // The next byte needs a new page, which is not available.
  const file = path.join(directory, 'events.jsonl')
  fs.appendFileSync(file, ' '.repeat(4095 - (fs.statSync(file).size % 4096)) + '\n')
  disk.fill()
  await closed.close()
  disk.empty()

  const failed = open()
  const { seq } = append(failed, 'kept')
  expect(seq).toBeGreaterThan(2)
  await failed.written()
  disk.fill()
  append(failed, 'x'.repeat(10_000))
  await failed.written()
  expect(failures.map(String)).toEqual([expect.stringContaining('ENOSPC')])
  await failed.close()
  disk.empty()
  const next = open()
  expect(append(next, 'kept').seq).toBeGreaterThan(seq + 1)
  await next.close()
})

test('invalid records are skipped on a full disk, and quarantined with their reasons when there is space', async ({
  skip,
}) => {
  if (disk === null) return skip()
  const kept_in: (string | null)[] = []
  const options: RecordStoreOptions = { directory, onRejected: (notice) => kept_in.push(notice.kept_in) }
  await createFileRecordStore(options).put('persona', 'ada', {})
  const file = path.join(directory, 'persona', 'bob.json')
  const rejected = path.join(directory, 'rejected', 'persona')
  fs.writeFileSync(file, '{')
  disk.fill()
  expect(await createFileRecordStore(options).list('persona')).toEqual([{ id: 'ada', body: {} }])
  expect(fs.readFileSync(file, 'utf8')).toBe('{')
  disk.empty()
  fs.mkdirSync(rejected, { recursive: true })
  disk.fill()
  expect(await createFileRecordStore(options).list('persona')).toEqual([{ id: 'ada', body: {} }])
  expect(kept_in).toEqual([null, path.join(rejected, 'bob.json')])
  expect(fs.readdirSync(rejected)).toEqual(['bob.json'])
})

test('a hub on a full disk closes its stores', async ({ skip }) => {
  if (disk === null) return skip()
  const options = { clock: fakeClock(), log: silentLog, hub_dir: path.join(directory, 'hub') }
  const stores = await openStores('file:', options)
  disk.fill()
  await stores.close()
  expect(lockHolder(path.join(directory, 'hub/store.lock'))).toBeNull()
  await expect(openStores('file:', options)).rejects.toMatchObject({ code: 'store_unavailable' })
  disk.empty()
  await (await openStores('file:', options)).close()
})
