import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { underBriefLock } from '../../../src/system/brief-lock.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const at = (directory: string) => ({ lock: path.join(directory, 'it.lock'), busy: 'it is being changed' })

describe('work under a brief lock', () => {
  test('is done by one after the other, and leaves no lock', async () => {
    const directory = temporaryDirectory()
    let inside = 0
    let most = 0
    const act = async () => {
      most = Math.max(most, (inside += 1))
      await new Promise((resolve) => setImmediate(resolve))
      inside -= 1
    }
    await Promise.all([1, 2, 3].map(() => underBriefLock(at(directory), act)))
    expect(most).toBe(1)
    expect(fs.readdirSync(directory)).toEqual([])
  })

  test('is done where the one who held it has died, and the one who cleared that away', async () => {
    const { lock } = at(temporaryDirectory())
    const died_at = new Date(Date.now() - 60_000)
    for (const left of [lock, `${lock}.stale.lock`]) {
      fs.mkdirSync(left)
      fs.utimesSync(left, died_at, died_at)
    }
    expect(await underBriefLock({ lock, busy: '', try_ms: 1 }, () => 'done')).toBe('done')
    expect(fs.readdirSync(path.dirname(lock))).toEqual([])
  })

  test('is done where the clock was set back since its holder died', async () => {
    const { lock } = at(temporaryDirectory())
    const died_at = new Date(Date.now() + 3_600_000)
    fs.mkdirSync(lock)
    fs.utimesSync(lock, died_at, died_at)
    expect(await underBriefLock({ lock, busy: '', try_ms: 1 }, () => 'done')).toBe('done')
  })

  test('waits for who is just clearing away what a dead one left', async () => {
    const { lock } = at(temporaryDirectory())
    const died_at = new Date(Date.now() - 60_000)
    fs.mkdirSync(lock)
    fs.utimesSync(lock, died_at, died_at)
    fs.mkdirSync(`${lock}.stale.lock`)
    const refused = underBriefLock({ lock, busy: '', patience_ms: 0 }, () => 'never')
    await expect(refused).rejects.toMatchObject({ code: 'already_running' })
    expect(fs.existsSync(lock)).toBe(true)
  })

  test('lets go where it breaks', async () => {
    const directory = temporaryDirectory()
    const broken = underBriefLock(at(directory), () => Promise.reject(new Error('broke')))
    await expect(broken).rejects.toThrow('broke')
    expect(await underBriefLock(at(directory), () => 'next')).toBe('next')
  })

  test('is given up where another one stays in it', async () => {
    const directory = temporaryDirectory()
    await underBriefLock(at(directory), async () => {
      const second = underBriefLock({ ...at(directory), patience_ms: 0 }, () => 'never')
      await expect(second).rejects.toMatchObject({ code: 'already_running' })
    })
  })

  // As after a suspended laptop: another one has waited, found it stale, and taken it.
  test('can tell that the lock was lost, and leaves it to its new holder', async () => {
    const { lock } = at(temporaryDirectory())
    await underBriefLock({ lock, busy: '' }, (stillMine) => {
      expect(stillMine()).toBe(true)
      fs.rmdirSync(lock)
      expect(stillMine()).toBe(false)
      fs.mkdirSync(lock)
      expect(stillMine()).toBe(false)
    })
    expect(fs.existsSync(lock)).toBe(true)
  })

  // Root may write anywhere else.
  test.runIf(process.platform === 'linux')('is refused at once where no lock can be made', async () => {
    const refused = underBriefLock(at('/sys/kernel'), () => 'never')
    await expect(refused).rejects.toMatchObject({ code: 'home_not_permitted' })
  })

  test.each<[string, (directory: string) => string]>([
    ['where its folder is none', (directory) => path.join(directory, 'file', 'it.lock')],
    ['where its folder is gone', (directory) => path.join(directory, 'gone', 'it.lock')],
    ['where the file system takes no such name', (directory) => path.join(directory, 'x'.repeat(300))],
  ])('is refused at once, with what the system says, %s', async (_, lockIn) => {
    const directory = temporaryDirectory()
    fs.writeFileSync(path.join(directory, 'file'), '')
    const refused = underBriefLock({ lock: lockIn(directory), busy: '' }, () => 'never')
    await expect(refused).rejects.toMatchObject({
      ...{
        code: 'store_unavailable',
        hint: 'Look at the disk, and at how many files are open, then try again.',
      },
      detail: expect.stringMatching(/^no lock can be made in .+: Error: E[A-Z]+/) as string,
    })
  })
})
