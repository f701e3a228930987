import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { underBriefLock } from '../../../src/system/brief-lock.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const setFuture = (lock: string, more_ms = 0) => {
  const later = new Date(Date.now() + 3_600_000 + more_ms)
  fs.utimesSync(lock, later, later)
}
const makeInFuture = (lock: string) => {
  fs.mkdirSync(lock)
  setFuture(lock)
}

/** Time passes only where somebody waits, and there at once. */
function waitingClock(meanwhile: (now: number) => void = () => undefined) {
  let waited_ms = 0
  const after = (delay_ms: number, call: () => void) => {
    waited_ms += delay_ms
    meanwhile(waited_ms)
    return systemClock.after(0, call)
  }
  return { now: () => Date.now(), monotonic: () => waited_ms, after }
}

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

  describe.each([
    ['of a file', {}],
    ['that guards a long one', { stale_ms: 2_000, patience_ms: 3_000 }],
  ])('%s', (_, times) => {
    const { brief_lock_stale_ms } = LIMITS
    const { stale_ms = brief_lock_stale_ms } = times as { stale_ms?: number }

    test('is done once it is sure that its holder died before the clock was set back', async () => {
      const { lock } = at(temporaryDirectory())
      for (const left of [lock, `${lock}.stale.lock`]) makeInFuture(left)
      const clock = waitingClock()
      expect(await underBriefLock({ lock, busy: '', clock, ...times }, () => 'done')).toBe('done')
      expect(clock.monotonic()).toBeGreaterThan(stale_ms)
      expect(fs.readdirSync(path.dirname(lock))).toEqual([])
    })

    // As on a file server: what is made there has the server's time.
    test('is not done while a holder lives whose clock is ahead', async () => {
      const { lock } = at(temporaryDirectory())
      makeInFuture(lock)
      let touched_at = 0
      const clock = waitingClock((now) => {
        if (now < touched_at + stale_ms / 2) return
        touched_at = now
        setFuture(lock, now)
      })
      const refused = underBriefLock({ lock, busy: '', clock, ...times }, () => 'never')
      await expect(refused).rejects.toMatchObject({ code: 'already_running' })
      expect(fs.existsSync(lock)).toBe(true)
    })
  })

  test('waits anew where another holder has come, whose clock is ahead as well', async () => {
    const { lock } = at(temporaryDirectory())
    makeInFuture(lock)
    const taken_at = 4_000
    let taken = false
    const clock = waitingClock((now) => {
      if (taken || now < taken_at) return
      taken = true
      fs.rmdirSync(lock)
      fs.mkdirSync(lock)
      setFuture(lock, now)
    })
    await underBriefLock({ lock, busy: '', clock }, () => undefined)
    expect(clock.monotonic()).toBeGreaterThan(taken_at + LIMITS.brief_lock_stale_ms)
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
