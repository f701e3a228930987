import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { withShortLock } from '../../../../src/system/files/short-lock.ts'
import { systemClock } from '../../../../src/system/clock.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

const setFuture = (lock: string, more_ms = 0) => {
  const later = new Date(Date.now() + 3_600_000 + more_ms)
  fs.utimesSync(lock, later, later)
}
const makeInFuture = (lock: string) => {
  fs.mkdirSync(lock)
  setFuture(lock)
}

/** Time passes only during a pause, and at once. */
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

describe('work under a short lock', () => {
  test('holders run one after the other, and leave no lock', async () => {
    const directory = temporaryDirectory()
    let inside = 0
    let most = 0
    const act = async () => {
      most = Math.max(most, (inside += 1))
      await new Promise((resolve) => setImmediate(resolve))
      inside -= 1
    }
    await Promise.all([1, 2, 3].map(() => withShortLock(at(directory), act)))
    expect(most).toBe(1)
    expect(fs.readdirSync(directory)).toEqual([])
  })

  test('a lock is taken after its holder, and the process that was removing it, have crashed', async () => {
    const { lock } = at(temporaryDirectory())
    const died_at = new Date(Date.now() - 60_000)
    for (const left of [lock, `${lock}.stale.lock`]) {
      fs.mkdirSync(left)
      fs.utimesSync(left, died_at, died_at)
    }
    expect(await withShortLock({ lock, busy: '', try_ms: 1 }, () => 'done')).toBe('done')
    expect(fs.readdirSync(path.dirname(lock))).toEqual([])
  })

  describe.each([
    ['of a file', {}],
    ['that guards a long one', { stale_ms: 2_000, patience_ms: 3_000 }],
  ])('%s', (_, times) => {
    const { short_lock_stale_ms } = LIMITS
    const { stale_ms = short_lock_stale_ms } = times as { stale_ms?: number }

    test('a lock is taken when its holder is known to have crashed before the clock was set back', async () => {
      const { lock } = at(temporaryDirectory())
      for (const left of [lock, `${lock}.stale.lock`]) makeInFuture(left)
      const clock = waitingClock()
      expect(await withShortLock({ lock, busy: '', clock, ...times }, () => 'done')).toBe('done')
      expect(clock.monotonic()).toBeGreaterThan(stale_ms)
      expect(fs.readdirSync(path.dirname(lock))).toEqual([])
    })

    // As on a file server: entries have the time of the server.
    test('a lock is not taken while a holder lives whose clock is ahead', async () => {
      const { lock } = at(temporaryDirectory())
      makeInFuture(lock)
      let touched_at = 0
      const clock = waitingClock((now) => {
        if (now < touched_at + stale_ms / 2) return
        touched_at = now
        setFuture(lock, now)
      })
      const refused = withShortLock({ lock, busy: '', clock, ...times }, () => 'never')
      await expect(refused).rejects.toMatchObject({ code: 'already_running' })
      expect(fs.existsSync(lock)).toBe(true)
    })
  })

  test('the wait restarts when another holder has come whose clock is ahead too', async () => {
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
    await withShortLock({ lock, busy: '', clock }, () => undefined)
    expect(clock.monotonic()).toBeGreaterThan(taken_at + LIMITS.short_lock_stale_ms)
  })

  test('a process waits for another one that is removing a stale lock', async () => {
    const { lock } = at(temporaryDirectory())
    const died_at = new Date(Date.now() - 60_000)
    fs.mkdirSync(lock)
    fs.utimesSync(lock, died_at, died_at)
    fs.mkdirSync(`${lock}.stale.lock`)
    const refused = withShortLock({ lock, busy: '', patience_ms: 0 }, () => 'never')
    await expect(refused).rejects.toMatchObject({ code: 'already_running' })
    expect(fs.existsSync(lock)).toBe(true)
  })

  test('the lock is released when the work throws', async () => {
    const directory = temporaryDirectory()
    const broken = withShortLock(at(directory), () => Promise.reject(new Error('broke')))
    await expect(broken).rejects.toThrow('broke')
    expect(await withShortLock(at(directory), () => 'next')).toBe('next')
  })

  test('a process times out while another one holds the lock', async () => {
    const directory = temporaryDirectory()
    await withShortLock(at(directory), async () => {
      const second = withShortLock({ ...at(directory), patience_ms: 0 }, () => 'never')
      await expect(second).rejects.toMatchObject({ code: 'already_running' })
    })
  })

  // As after a suspended laptop: another process has waited, found it stale, and taken it.
  test('a lost lock is detected and left to its new holder', async () => {
    const { lock } = at(temporaryDirectory())
    await withShortLock({ lock, busy: '' }, (stillMine) => {
      expect(stillMine()).toBe(true)
      fs.rmdirSync(lock)
      expect(stillMine()).toBe(false)
      fs.mkdirSync(lock)
      expect(stillMine()).toBe(false)
    })
    expect(fs.existsSync(lock)).toBe(true)
  })

  // Root may write anywhere else.
  test.runIf(process.platform === 'linux')('an unwritable directory is rejected at once', async () => {
    const refused = withShortLock(at('/sys/kernel'), () => 'never')
    await expect(refused).rejects.toMatchObject({ code: 'home_not_permitted' })
  })

  test.each<[string, (directory: string) => string]>([
    ['where its folder is none', (directory) => path.join(directory, 'file', 'it.lock')],
    ['where its folder is gone', (directory) => path.join(directory, 'gone', 'it.lock')],
    ['where the file system takes no such name', (directory) => path.join(directory, 'x'.repeat(300))],
  ])("a lock that cannot be created is rejected at once, with the system's error, %s", async (_, lockIn) => {
    const directory = temporaryDirectory()
    fs.writeFileSync(path.join(directory, 'file'), '')
    const refused = withShortLock({ lock: lockIn(directory), busy: '' }, () => 'never')
    await expect(refused).rejects.toMatchObject({
      ...{
        code: 'store_unavailable',
        hint: expect.stringMatching(/^(Check the disk|Move away the file .+), then try again\.$/) as string,
      },
      detail: expect.stringMatching(/^no lock can be created in .+: Error: E[A-Z]+/) as string,
    })
  })
})
