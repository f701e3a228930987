import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { lockDirectory, lockHolder } from '../../../src/system/directory-lock.ts'
import { bundle } from '../../support/bundle.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const HOLDER = path.join(import.meta.dirname, '../../support/lock-holder.mjs')

const take = (lock: string) => lockDirectory({ lock, what: 'the daemon of ada', onLost() {} })

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
    module: await bundle('src/system/directory-lock.ts', directory),
    directory,
  }
}

describe('the lock', () => {
  test('is not taken from a holder whose name cannot be read at this moment', async () => {
    const { lock } = await scene()
    const held = await take(lock)
    // What the system says of it is none of ENOENT, as where there is no room for more open files.
    fs.rmSync(`${lock}.owner`)
    fs.mkdirSync(`${lock}.owner`)
    await expect(take(lock)).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(fs.existsSync(lock)).toBe(true)
    fs.rmdirSync(`${lock}.owner`)
    await held.release()
  })

  test('has one holder; the second is refused with its pid, and gets it after the release', async () => {
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

  test('is let go of where its owner cannot be written down, as on a full disk', async () => {
    const { lock, directory } = await scene()
    // Nothing can take the place of a directory.
    fs.mkdirSync(`${lock}.owner`)
    await expect(take(lock)).rejects.toThrow(/EISDIR|ENOTEMPTY|EEXIST/)
    fs.rmdirSync(`${lock}.owner`)
    expect(fs.readdirSync(directory).filter((name) => name.startsWith('lock'))).toEqual([])
    await (await take(lock)).release()
  })

  test('is let go of under the guard: nobody finds it without its owner file and takes it halfway', async () => {
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

  test('that somebody else keeps guarded is refused as already running', async () => {
    const { lock } = await scene()
    fs.mkdirSync(`${lock}.guard`)
    await expect(lockDirectory({ lock, what: 'A hub', onLost() {}, patience_ms: 1 })).rejects.toMatchObject({
      code: 'already_running',
      detail: expect.stringContaining('.guard') as string,
    })
    fs.rmdirSync(`${lock}.guard`)
    await (await take(lock)).release()
  })

  test('is held against another process', async () => {
    const { lock, module } = await scene()
    const other = await holder(lock, module)
    expect(other.said).toBe('held')
    await expect(take(lock)).rejects.toMatchObject({
      detail: expect.stringContaining(`pid ${other.child.pid}`) as string,
    })
  })

  test('of a process that was killed is free at once', async () => {
    const { lock, module } = await scene()
    const { child } = await holder(lock, module)
    await killed(child)
    expect(fs.existsSync(lock)).toBe(true)
    await (await take(lock)).release()
  })

  test('of a process that is stopped, and looks stale, is still its', async () => {
    const { lock, module } = await scene()
    const { child } = await holder(lock, module)
    child.kill('SIGSTOP')
    fs.utimesSync(lock, 0, 0)
    await expect(take(lock)).rejects.toMatchObject({ code: 'already_running' })
  })

  test.skipIf(process.platform !== 'linux')('is not held by a later process with the same pid', async () => {
    const { lock, module } = await scene()
    const { child } = await holder(lock, module)
    await killed(child)
    fs.writeFileSync(`${lock}.owner`, JSON.stringify({ pid: process.ppid, started: 'another boot:1' }))
    await (await take(lock)).release()
  })

  test('that names a process of another user, which is hidden, is kept only as long as it looks held', async () => {
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
    'with an owner file that says %j is free',
    async (text) => {
      const { lock } = await scene()
      fs.mkdirSync(lock)
      fs.writeFileSync(`${lock}.owner`, text)
      await (await take(lock)).release()
    },
  )

  test('that six processes want after a kill is taken by exactly one', async () => {
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
