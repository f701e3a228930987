import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { takeOwnerLock, lockHolder } from '../../../src/system/files/owner-lock.ts'
import { bundle } from '../../support/command/bundle.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const HOLDER = path.join(import.meta.dirname, '../../support/processes/lock-holder.mjs')

const take = (lock: string) => takeOwnerLock({ lock, what: 'the daemon of ada', onLost() {} })

async function holder(lock: string, module: string): Promise<{ child: ChildProcess; said: string }> {
  const child = spawn(process.execPath, [HOLDER, module, lock], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [said] = (await once(child.stdout, 'data')) as [Buffer]
  return { child, said: said.toString().trim() }
}

async function killed(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

async function scene() {
  const directory = temporaryDirectory()
  return {
    lock: path.join(directory, 'lock'),
    module: await bundle('src/system/files/owner-lock.ts', directory),
    directory,
  }
}

describe('the lock', () => {
  test('a lock is not taken from a holder whose owner file cannot be read now', async () => {
    const { lock } = await scene()
    const held = await take(lock)
    // The error is not ENOENT, as with too many open files.
    fs.rmSync(`${lock}.owner`)
    fs.mkdirSync(`${lock}.owner`)
    await expect(take(lock)).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(fs.existsSync(lock)).toBe(true)
    fs.rmdirSync(`${lock}.owner`)
    await held.release()
  })

  test('a lock has one holder; a second process is rejected with its pid, and gets it after the release', async () => {
    const { lock, directory } = await scene()
    const first = await take(lock)
    expect(lockHolder(lock)).toBe(process.pid)
    await expect(take(lock)).rejects.toMatchObject({
      code: 'already_running',
      detail: expect.stringContaining(String(process.pid)) as string,
    })
    await first.release()
    await first.release()
    expect(fs.readdirSync(directory).filter((name) => name.startsWith('lock'))).toEqual([])
    expect(lockHolder(lock)).toBeNull()
    await (await take(lock)).release()
  })

  test('a lock is released if its owner file cannot be written, as on a full disk', async () => {
    const { lock, directory } = await scene()
    // A directory cannot be replaced by a file.
    fs.mkdirSync(`${lock}.owner`)
    await expect(take(lock)).rejects.toThrow(/EISDIR|ENOTEMPTY|EEXIST/)
    fs.rmdirSync(`${lock}.owner`)
    expect(fs.readdirSync(directory).filter((name) => name.startsWith('lock'))).toEqual([])
    await (await take(lock)).release()
  })

  test('a release is guarded, so that no process finds the lock without its owner file', async () => {
    const { lock } = await scene()
    const first = await take(lock)
    fs.mkdirSync(`${lock}.guard`)
    const released = first.release()
    await new Promise((resolve) => setImmediate(resolve))
    expect(lockHolder(lock)).toBe(process.pid)
    fs.rmdirSync(`${lock}.guard`)
    await released
    expect(lockHolder(lock)).toBeNull()
    await (await take(lock)).release()
  })

  test('a lock whose guard another process keeps is rejected as already running', async () => {
    const { lock } = await scene()
    fs.mkdirSync(`${lock}.guard`)
    await expect(takeOwnerLock({ lock, what: 'A hub', onLost() {}, patience_ms: 1 })).rejects.toMatchObject({
      code: 'already_running',
      detail: expect.stringContaining('.guard') as string,
    })
    fs.rmdirSync(`${lock}.guard`)
    await (await take(lock)).release()
  })

  test('a lock excludes other processes', async () => {
    const { lock, module } = await scene()
    const other = await holder(lock, module)
    expect(other.said).toBe('held')
    await expect(take(lock)).rejects.toMatchObject({
      detail: expect.stringContaining(`pid ${other.child.pid}`) as string,
    })
  })

  test('the lock of a killed process is free at once', async () => {
    const { lock, module } = await scene()
    const { child } = await holder(lock, module)
    await killed(child)
    expect(fs.existsSync(lock)).toBe(true)
    await (await take(lock)).release()
  })

  test('the lock of a suspended process that looks stale is still held', async () => {
    const { lock, module } = await scene()
    const { child } = await holder(lock, module)
    child.kill('SIGSTOP')
    fs.utimesSync(lock, 0, 0)
    await expect(take(lock)).rejects.toMatchObject({ code: 'already_running' })
  })

  test.skipIf(process.platform !== 'linux')(
    'a lock is not held by a later process with the same pid',
    async () => {
      const { lock, module } = await scene()
      const { child } = await holder(lock, module)
      await killed(child)
      fs.writeFileSync(`${lock}.owner`, JSON.stringify({ pid: process.ppid, started: 'another boot:1' }))
      await (await take(lock)).release()
    },
  )

  test('a lock that names a hidden process of another user is held only while it is refreshed', async () => {
    const { lock } = await scene()
    fs.mkdirSync(lock)
    fs.writeFileSync(`${lock}.owner`, JSON.stringify({ pid: process.ppid, started: 'this boot:1' }))
    const [read, kill] = [fs.readFileSync, process.kill.bind(process)]
    const looked = vi.spyOn(fs, 'readFileSync').mockImplementation((file, options) => {
      if (file === `/proc/${process.ppid}/stat`) throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' })
      return read(file, options)
    })
    const asked = vi.spyOn(process, 'kill').mockImplementation((pid, os_signal) => {
      if (pid === process.ppid) throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' })
      return kill(pid, os_signal)
    })
    onTestFinished(() => [looked, asked].forEach((mock) => mock.mockRestore()))
    await expect(take(lock)).rejects.toMatchObject({ code: 'already_running' })
    fs.utimesSync(lock, 0, 0)
    await (await take(lock)).release()
  })

  test.each([['nonsense'], ['{}'], ['{"pid":"7"}'], ['']])(
    'a lock with an owner file containing %j is free',
    async (text) => {
      const { lock } = await scene()
      fs.mkdirSync(lock)
      fs.writeFileSync(`${lock}.owner`, text)
      await (await take(lock)).release()
    },
  )

  test('exactly one of six processes takes a lock after a kill', async () => {
    const { lock, module } = await scene()
    const { child } = await holder(lock, module)
    await killed(child)
    const racers = await Promise.all([1, 2, 3, 4, 5, 6].map(() => holder(lock, module)))
    const said = racers.map((racer) => racer.said.split(' ')[0]).sort()
    expect(said).toEqual(['held', 'refused', 'refused', 'refused', 'refused', 'refused'])
    const winner = racers.find((racer) => racer.said === 'held')
    expect(lockHolder(lock)).toBe(winner?.child.pid)
  })
})

describe('a lock that is removed under its holder', () => {
  const rounds = async (until: () => boolean) => {
    while (!until()) {
      await later(100)
      await new Promise((next) => setImmediate(next))
    }
  }
  const later = (ms: number) => vi.advanceTimersByTimeAsync(ms)
  const LOOK_MS = 7_500

  async function held() {
    const { lock } = await scene()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const calls = { lost: [] as Error[], retaken: [] as Error[] }
    const mine = await takeOwnerLock({
      lock,
      what: 'the daemon of ada',
      onLost: (error) => calls.lost.push(error),
      onRetaken: (reason) => calls.retaken.push(reason),
      makeParent: () => void fs.mkdirSync(path.dirname(lock), { recursive: true }),
    })
    onTestFinished(() => mine.release())
    return { lock, calls, mine }
  }

  test.each([
    ['alone', (lock: string) => fs.rmdirSync(lock)],
    ['with its directory', (lock: string) => fs.rmSync(path.dirname(lock), { recursive: true })],
    [
      'and replaced by a file',
      (lock: string) => {
        fs.rmdirSync(lock)
        fs.writeFileSync(lock, 'garbage')
      },
    ],
  ])('%s is retaken, and excludes others', async (_, remove) => {
    const { lock, calls } = await held()
    remove(lock)
    await later(LOOK_MS)
    await rounds(() => calls.retaken.length === 1)
    expect(calls.lost).toEqual([])
    expect(lockHolder(lock)).toBe(process.pid)
    await expect(take(lock)).rejects.toMatchObject({ code: 'already_running' })
  })

  test('a removed lock is lost only to another living process', async () => {
    const { lock, calls } = await held()
    fs.rmdirSync(lock)
    fs.rmSync(`${lock}.owner`)
    const module = await bundle('src/system/files/owner-lock.ts', temporaryDirectory())
    const other = await holder(lock, module)
    expect(other.said).toBe('held')
    await later(LOOK_MS)
    await rounds(() => calls.lost.length === 1)
    expect(calls.retaken).toEqual([])
    expect(lockHolder(lock)).toBe(other.child.pid)
  })

  /** From then on the lock is lost by a file system that is read-only until `writable`. */
  async function heldWhileReadOnly() {
    const { lock, calls, mine } = await held()
    const make = vi.spyOn(fs, 'rmSync').mockImplementation(() => {
      throw Object.assign(new Error('EROFS: read-only file system'), { code: 'EROFS', errno: -30 })
    })
    const writable = () => make.mockRestore()
    onTestFinished(writable)
    fs.utimesSync(lock, 1, 1)
    await later(LOOK_MS)
    await rounds(() => make.mock.calls.length > 0)
    return { lock, calls, mine, make, writable }
  }

  test('a lock released while the disk is not writable is free for this process', async () => {
    const { lock, calls, mine, writable } = await heldWhileReadOnly()
    await mine.release()
    writable()
    await (await take(lock)).release()
    expect(calls).toEqual({ lost: [], retaken: [] })
  })

  test('a lost lock that is released before it was retaken is free for all', async () => {
    const { lock, calls, mine, writable } = await heldWhileReadOnly()
    writable()
    await mine.release()
    expect(lockHolder(lock)).toBeNull()
    expect(calls).toEqual({ lost: [], retaken: [] })
  })

  test('a lock is released only after a running attempt to retake it has ended', async () => {
    const { lock, calls, mine } = await held()
    fs.rmdirSync(lock)
    fs.mkdirSync(`${lock}.guard`)
    const seen = vi.spyOn(fs, 'statSync')
    onTestFinished(() => seen.mockRestore())
    await later(LOOK_MS)
    await rounds(() => seen.mock.calls.some(([file]) => file === `${lock}.guard`))
    let released = false
    const releasing = mine.release().then(() => (released = true))
    await new Promise((next) => setImmediate(next))
    expect(released).toBe(false)
    fs.rmdirSync(`${lock}.guard`)
    await rounds(() => released)
    await releasing
    expect(lockHolder(lock)).toBeNull()
    await (await take(lock)).release()
    expect(calls.lost).toEqual([])
  })

  test('a lock stays with its holder while the disk is not writable, and is retaken afterwards', async () => {
    const { lock, calls, make } = await heldWhileReadOnly()
    await rounds(() => make.mock.calls.length > 2)
    expect(calls).toEqual({ lost: [], retaken: [] })
    make.mockRestore()
    await rounds(() => calls.retaken.length === 1)
    expect(calls.lost).toEqual([])
    expect(lockHolder(lock)).toBe(process.pid)
  })

  test('a lock that cannot be read stays with its holder, also if another user owns it', async () => {
    const { lock, calls, writable } = await heldWhileReadOnly()
    writable()
    fs.rmdirSync(lock)
    // Circular links: a read fails with a different error than for a missing file.
    fs.symlinkSync(lock, lock)
    fs.writeFileSync(`${lock}.owner`, JSON.stringify({ pid: process.ppid, started: null }))
    const seen = vi.spyOn(fs, 'statSync')
    onTestFinished(() => seen.mockRestore())
    await rounds(() => seen.mock.calls.some(([file]) => file === lock))
    fs.unlinkSync(lock)
    fs.unlinkSync(`${lock}.owner`)
    await rounds(() => calls.retaken.length === 1)
    expect(calls.lost).toEqual([])
  })

  test('a released lock is not retaken', async () => {
    const { lock, calls, mine } = await held()
    fs.rmdirSync(lock)
    await mine.release()
    await later(LOOK_MS)
    expect(calls).toEqual({ lost: [], retaken: [] })
    expect(lockHolder(lock)).toBeNull()
  })
})
