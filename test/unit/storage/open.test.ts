import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { silentLog, type Log } from '../../../src/ports/log.ts'
import { openStores, type StoreOptions, type Stores } from '../../../src/storage/open.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { MemoryDisk, systemError } from '../../support/disk/memory-disk.ts'
import { signalMaker } from '../../support/signals.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const clock = fakeClock()
const make = signalMaker(clock)

async function open(uri: string, more: Partial<StoreOptions> = {}): Promise<Stores> {
  const stores = await openStores(uri, { clock, log: silentLog, hub_dir: '/nowhere', ...more })
  onTestFinished(() => stores.close())
  return stores
}

function listeningLog() {
  const lines: { fields: Record<string, unknown>; message: string }[] = []
  const note = (fields: object, message: string) =>
    void lines.push({ fields: fields as Record<string, unknown>, message })
  const log: Log = { ...silentLog, warn: note, error: note }
  return { log, lines }
}

describe('store URIs', () => {
  test('the URI file: stores everything in the hub’s directory', async () => {
    const hub_dir = temporaryDirectory()
    const stores = await open('file:', { hub_dir })
    await stores.signals.append(make.signal())
    await stores.records.put('persona', 'ada', { a: 1 })
    stores.events.append({ type: 'persona.added', agent_id: 'ada', data: {} })
    await stores.close()
    const kept = ['events', 'high-water.json', 'journal', 'records', 'snapshot']
    expect(fs.readdirSync(hub_dir).sort()).toEqual(kept)
    const again = await open('file:', { hub_dir })
    expect(again.signals.health().signals).toBe(1)
    expect(await again.records.get('persona', 'ada')).toEqual({ a: 1 })
    expect(again.events.read({ limit: 10 }).events).toHaveLength(1)
  })

  test('the URI file:/some/directory creates missing directories, private to the owner', async () => {
    const directory = path.join(temporaryDirectory(), 'deep', 'er')
    for (const uri of [`file:${directory}`, `file://${directory}`]) {
      const stores = await open(uri)
      await stores.signals.append(make.signal())
      await stores.close()
    }
    expect(fs.statSync(directory).mode & 0o777).toBe(0o700)
    const journal = path.join(directory, 'journal')
    for (const name of fs.readdirSync(journal)) {
      expect(fs.statSync(path.join(journal, name)).mode & 0o077).toBe(0)
    }
  })

  test('the URI memory: stores nothing on disk', async () => {
    const stores = await open('memory:')
    await stores.signals.append(make.signal())
    await stores.close()
    await expect(stores.signals.append(make.signal())).rejects.toMatchObject({ code: 'store_unavailable' })
    expect((await open('memory:')).signals.health().signals).toBe(0)
  })

  test('an unsupported URI is a configuration error', async () => {
    for (const uri of ['nats://127.0.0.1:4222', 'memory', 'redis://x', '']) {
      await expect(open(uri)).rejects.toMatchObject({ code: 'config_invalid' })
    }
  })
})

describe('one owner per directory', () => {
  test('a second opener is rejected with the holder and its address', async () => {
    const hub_dir = temporaryDirectory()
    const first = await open('file:', { hub_dir })
    await first.signals.append(make.signal())
    await expect(open('file:', { hub_dir })).rejects.toMatchObject({
      code: 'already_running',
      detail: expect.stringContaining(`pid ${process.pid}`) as string,
    })
    const url = 'http://127.0.0.1:4888'
    fs.writeFileSync(path.join(hub_dir, 'hub.pid'), JSON.stringify({ pid: process.pid, url }))
    await expect(open('file:', { hub_dir })).rejects.toMatchObject({
      code: 'already_running',
      detail: expect.stringContaining(url) as string,
      hint: expect.stringContaining(url) as string,
    })
    // The rejected process has changed nothing: the first one continues.
    await first.signals.append(make.signal())
    await first.close()
    expect((await open('file:', { hub_dir })).signals.health().signals).toBe(2)
  })

  test('a store that lost its directory changes no record and reports it, even without a signal being written', async () => {
    const hub_dir = temporaryDirectory()
    const fatal: TurnbellError[] = []
    const { records, signals } = await open('file:', { hub_dir, onFatal: (error) => fatal.push(error) })
    await records.put('persona', 'ada', { state: 'active' })
    const refused = { code: 'store_fenced' }
    // Pending changes.
    const waiting = [records.put('persona', 'ada', { state: 'wrapped' }), records.remove('persona', 'ada')]
    fs.writeFileSync(path.join(hub_dir, 'journal', 'epoch'), '2\n')
    for (const one of waiting) await expect(one).rejects.toMatchObject(refused)
    await expect(records.put('persona', 'ada', { state: 'wrapped' })).rejects.toMatchObject(refused)
    await expect(records.remove('persona', 'ada')).rejects.toMatchObject(refused)
    await expect(records.quarantine('persona', 'ada', 'damaged')).rejects.toMatchObject(refused)
    await records.exclusive('persona', async (held) => {
      await expect(held.put('ada', { state: 'wrapped' })).rejects.toMatchObject(refused)
      await expect(held.remove('ada')).rejects.toMatchObject(refused)
      await expect(held.quarantine('ada', 'damaged')).rejects.toMatchObject(refused)
    })
    expect(await records.get('persona', 'ada')).toEqual({ state: 'active' })
    expect(fatal).toMatchObject([refused])
    await expect(signals.append(make.signal())).rejects.toMatchObject(refused)
  })

  test('a store that lost its directory after a disk error reports both once and changes no record', async () => {
    const hub_dir = temporaryDirectory()
    const disk = new MemoryDisk()
    const { log, lines } = listeningLog()
    const fatal: TurnbellError[] = []
    const { records, signals } = await open('file:', {
      ...{ hub_dir, disk, log },
      onFatal: (error) => fatal.push(error),
    })
    await records.put('persona', 'ada', { state: 'active' })
    disk.fault = (operation) => (operation === 'sync' ? systemError('EIO') : null)
    await expect(signals.append(make.signal())).rejects.toMatchObject({ code: 'store_unavailable' })
    // Records are on a separate disk here, which no hub has acquired yet.
    await records.put('persona', 'ada', { state: 'wrapped' })
    disk.put(path.join(hub_dir, 'journal', 'epoch'), Buffer.from('2\n'))
    const refused = { code: 'store_fenced' }
    for (let count = 0; count < 2; count += 1) {
      await expect(records.put('persona', 'ada', { state: 'active' })).rejects.toMatchObject(refused)
      await expect(signals.append(make.signal())).rejects.toMatchObject(refused)
    }
    expect(await records.get('persona', 'ada')).toEqual({ state: 'wrapped' })
    expect(fatal).toMatchObject([{ code: 'store_unavailable' }, refused])
    expect(lines).toHaveLength(2)
    expect(signals.health()).toMatchObject({ writable: false, reason: fatal[1]?.detail })
  })

  test('a killed owner does not block the next one', async () => {
    const hub_dir = temporaryDirectory()
    const gone = spawnSync(process.execPath, ['-e', '']).pid
    fs.mkdirSync(path.join(hub_dir, 'store.lock'))
    fs.writeFileSync(
      path.join(hub_dir, 'store.lock.owner'),
      JSON.stringify({ pid: gone, started: 'long ago' }),
    )
    const stores = await open('file:', { hub_dir })
    await stores.signals.append(make.signal())
  })

  test('a failed open releases the directory', async () => {
    const hub_dir = temporaryDirectory()
    const stores = await open('file:', { hub_dir })
    await stores.signals.append(make.signal())
    await stores.signals.append(make.signal())
    await stores.close()
    const journal = path.join(hub_dir, 'journal', '0000000001.jsonl')
    const bytes = fs.readFileSync(journal)
    bytes[200] = (bytes[200] as number) ^ 1
    fs.writeFileSync(journal, bytes)
    await expect(open('file:', { hub_dir })).rejects.toMatchObject({
      code: 'store_damaged',
      detail: expect.stringMatching(/0000000001\.jsonl at byte 143:/) as string,
      hint: expect.stringContaining('--repair') as string,
    })
    const { log, lines } = listeningLog()
    const repaired = await open('file:', { hub_dir, repair: true, log })
    expect(repaired.signals.health().signals).toBe(1)
    expect(lines).toMatchObject([{ fields: { rejected: 1, file: journal } }])
  })
})

describe('a directory that cannot be used', () => {
  test('a directory that others can write to is rejected', async () => {
    const hub_dir = temporaryDirectory()
    fs.chmodSync(hub_dir, 0o755)
    await expect(open('file:', { hub_dir })).rejects.toMatchObject({ code: 'home_not_permitted' })
  })

  test.runIf(process.getuid?.() === 0)('a directory of another user is rejected', async () => {
    const hub_dir = temporaryDirectory()
    fs.chownSync(hub_dir, 12_345, 12_345)
    await expect(open('file:', { hub_dir })).rejects.toMatchObject({
      code: 'home_not_permitted',
      detail: expect.stringContaining('12345') as string,
    })
  })

  test('a file in place of the directory is rejected', async () => {
    const file = path.join(temporaryDirectory(), 'file')
    fs.writeFileSync(file, '')
    await expect(open(`file:${file}`)).rejects.toMatchObject({ code: 'home_not_permitted' })
  })

  for (const code of ['EROFS', 'EACCES', 'EPERM']) {
    test(`because it cannot be written: ${code}`, async () => {
      const hub_dir = temporaryDirectory()
      const disk = new MemoryDisk()
      disk.fault = (operation) => (operation === 'open' ? systemError(code) : null)
      await expect(open('file:', { hub_dir, disk })).rejects.toMatchObject({
        code: 'home_not_permitted',
        detail: expect.stringContaining(code) as string,
      })
      await open('file:', { hub_dir })
    })
  }

  test('a full disk is reported when the directory is opened', async () => {
    const hub_dir = temporaryDirectory()
    const disk = new MemoryDisk()
    disk.fault = (operation) => (operation === 'write' ? systemError('ENOSPC') : null)
    await expect(open('file:', { hub_dir, disk })).rejects.toMatchObject({
      code: 'store_unavailable',
      hint: expect.stringContaining('Make room') as string,
    })
  })
})

describe('log messages of the store', () => {
  test('a torn end that was cut off is logged', async () => {
    const hub_dir = temporaryDirectory()
    const stores = await open('file:', { hub_dir })
    await stores.signals.append(make.signal())
    await stores.close()
    fs.appendFileSync(path.join(hub_dir, 'journal', '0000000001.jsonl'), '{"kind":"sig')
    const { log, lines } = listeningLog()
    await open('file:', { hub_dir, log })
    expect(lines).toMatchObject([{ fields: { bytes: 12 } }])
    expect(fs.existsSync(lines[0]!.fields['kept_in'] as string)).toBe(true)
  })

  test('a quarantined record is logged', async () => {
    const hub_dir = temporaryDirectory()
    const { log, lines } = listeningLog()
    const stores = await open('file:', { hub_dir, log })
    await stores.records.put('persona', 'ada', {})
    fs.writeFileSync(path.join(hub_dir, 'records', 'persona', 'ada.json'), 'nonsense')
    expect(await stores.records.list('persona')).toEqual([])
    expect(lines).toHaveLength(1)
  })

  test('a write error is logged once', async () => {
    const hub_dir = temporaryDirectory()
    const disk = new MemoryDisk()
    const { log, lines } = listeningLog()
    const fatal: TurnbellError[] = []
    const stores = await open('file:', { hub_dir, disk, log, onFatal: (error) => fatal.push(error) })
    disk.fault = (operation) => (operation === 'sync' ? systemError('EIO') : null)
    for (let count = 0; count < 3; count += 1) {
      await expect(stores.signals.append(make.signal())).rejects.toMatchObject({ code: 'store_unavailable' })
    }
    expect(fatal).toHaveLength(1)
    expect(lines).toHaveLength(1)
    expect(stores.signals.health()).toMatchObject({ writable: false })
  })
})
