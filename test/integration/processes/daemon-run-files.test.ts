import fs from 'node:fs'
import { expect, onTestFinished, test, vi } from 'vitest'
import { silentLog } from '../../../src/ports/log.ts'
import { acquireDaemonRunFiles } from '../../../src/system/config/daemon-run-files.ts'
import { lockHolder } from '../../../src/system/files/owner-lock.ts'
import { personaPaths, prepareHome, resolveHome } from '../../../src/system/config/home.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

test('a daemon that retakes its lock on a disk that is too full for its pid file keeps its lock', async () => {
  const home = resolveHome({ TURNBELL_HOME: temporaryDirectory() })
  prepareHome(home)
  const paths = personaPaths(home, 'local', 'ada', {})
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const warnings: string[] = []
  const place = await acquireDaemonRunFiles({
    paths,
    identity: 'ada',
    onLost: () => expect.unreachable(),
    log: { ...silentLog, warn: (_, message) => void warnings.push(message) },
  })
  const rename = fs.renameSync
  const full = vi.spyOn(fs, 'renameSync').mockImplementation((from, to) => {
    if (to === paths.daemon_pid) throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', errno: -28 })
    rename(from, to)
  })
  onTestFinished(() => full.mockRestore())
  fs.rmSync(paths.run_dir, { recursive: true })
  // A failed attempt would be an unhandled rejection, which ends a daemon, and this test.
  while (warnings.length === 0) {
    await vi.advanceTimersByTimeAsync(100)
    await new Promise((next) => setImmediate(next))
  }
  expect(warnings).toEqual(['daemon lock was removed and taken again'])
  expect(lockHolder(paths.daemon_lock)).toBe(process.pid)
  expect(fs.existsSync(paths.daemon_pid)).toBe(false)
  full.mockRestore()
  place.remake()
  expect(fs.readFileSync(paths.daemon_pid, 'utf8')).toBe(`${process.pid}\n`)
  await place.release()
})

test('a daemon whose run directory is removed while it starts creates it again', async () => {
  const home = resolveHome({ TURNBELL_HOME: temporaryDirectory() })
  prepareHome(home)
  const paths = personaPaths(home, 'local', 'ada', {})
  let removed = false
  const place = await acquireDaemonRunFiles({
    paths: {
      ...paths,
      // Read for the first time when the lock is taken and the pid file is to be written.
      get daemon_pid() {
        if (!removed) fs.rmSync(paths.run_dir, { recursive: true })
        removed = true
        return paths.daemon_pid
      },
    },
    identity: 'ada',
    onLost: () => expect.unreachable(),
    log: silentLog,
  })
  expect(fs.readFileSync(paths.daemon_pid, 'utf8')).toBe(`${process.pid}\n`)
  await place.release()
})
