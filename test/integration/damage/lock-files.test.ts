/** Damages the files of a lock in every way: those of a dead process, and those of a living holder. */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { FindingDocument } from '../../../src/cli/doctor/finding.ts'
import { parseJsonOrNull } from '../../../src/contracts/validation/json.ts'
import { takeOwnerLock, lockHolder } from '../../../src/system/files/owner-lock.ts'
import { prepareHome, resolveHome } from '../../../src/system/config/home.ts'
import { readText } from '../../../src/system/files/watch-file.ts'
import { cellsOf, outcomeOf } from '../../support/disk/damage-table.ts'
import { DAMAGES } from '../../support/disk/damage.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { testCli } from '../../support/processes/test-cli.ts'

/** All three locks are made by the same code. */
const LOCKS = [
  { lock: 'hub/lock', tags: [] },
  { lock: 'hub/store.lock', tags: ['extended'] },
  { lock: 'run/local/ada/daemon.lock', tags: ['extended'] },
]
let cells = 0
afterAll(() => console.log(`files of locks, damaged: ${cells} cells`))

function newHome(name: string) {
  const root = path.join(temporaryDirectory(), 'home')
  const home = resolveHome({}, root)
  prepareHome(home)
  fs.writeFileSync(home.config, 'personas: {ada: {surface: mcp}}\n', { mode: 0o600 })
  const lock = path.join(root, name)
  fs.mkdirSync(path.dirname(lock), { recursive: true, mode: 0o700 })
  return { root, lock }
}

const take = (lock: string) => takeOwnerLock({ lock, what: 'a holder', onLost() {} })

/**
 * The holder recognises its lock by the modification time, which file systems record in steps of several milliseconds. A
 * file made within the step in which the lock was taken would look like the lock.
 */
function untilNewerThan(lock: string): void {
  const probe = path.join(path.dirname(lock), 'probe')
  const taken_ms = fs.statSync(lock).mtime.getTime()
  do {
    fs.rmSync(probe, { force: true })
    fs.writeFileSync(probe, '')
  } while (fs.statSync(probe).mtime.getTime() <= taken_ms)
  fs.rmSync(probe)
}

/** doctor reports the entry, and its suggested command moves it away. */
async function moveAway(root: string, file: string): Promise<void> {
  const turnbell = testCli({ home: root, env: { PATH: '' } })
  await turnbell.run('doctor', '--json')
  const { findings } = turnbell.json<{ findings: FindingDocument[] }>()
  const found = findings.find(({ state, detail }) => state === 'broken' && detail.startsWith(`${file} `))
  const command = /`(mv [^`]+)`/.exec(found?.mend ?? '')?.[1]
  expect(command, `doctor says nothing of ${file}`).toBeDefined()
  execFileSync('sh', ['-c', command ?? 'false'])
}

describe.each(LOCKS)('$lock', ({ lock: name, tags }) => {
  const both = cellsOf([name, `${name}.owner`])

  test.each(both)(
    'the lock of a dead process with damage to $path: $damage',
    { tags },
    async ({ path: file, damage }) => {
      const { root, lock } = newHome(name)
      fs.mkdirSync(lock)
      fs.writeFileSync(`${lock}.owner`, JSON.stringify({ pid: process.ppid, started: 'another boot:1' }))
      DAMAGES[damage](path.join(root, file))
      const wanted = outcomeOf(file, 'stopped', damage)
      if (wanted !== 'heals') {
        await expect(take(lock)).rejects.toMatchObject({ code: wanted })
        await moveAway(root, path.join(root, file))
      }
      await (await take(lock)).release()
      expect(lockHolder(lock)).toBeNull()
      cells += 1
    },
  )

  test.each(both)(
    'the lock of a living holder with damage to $path: $damage',
    { tags },
    async ({ path: file, damage }) => {
      const { root, lock } = newHome(name)
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
      onTestFinished(() => void vi.useRealTimers())
      const onLost = vi.fn<(error: Error) => void>()
      const held = await takeOwnerLock({ lock, what: 'a holder', onLost })
      onTestFinished(() => held.release())
      untilNewerThan(lock)
      DAMAGES[damage](path.join(root, file))
      if (outcomeOf(file, 'running', damage) !== 'heals') {
        await expect(take(lock)).rejects.toMatchObject({ code: outcomeOf(file, 'running', damage) })
        await moveAway(root, path.join(root, file))
      }
      const isHeld = () =>
        fs.lstatSync(lock, { throwIfNoEntry: false })?.isDirectory() === true &&
        lockHolder(lock) === process.pid &&
        (parseJsonOrNull(readText(`${lock}.owner`)) as { pid?: number } | null)?.pid === process.pid
      while (!isHeld()) {
        await vi.advanceTimersByTimeAsync(500)
        await new Promise<void>((next) => void setImmediate(next))
      }
      // The holder may still be releasing the guard, for which the next one waits.
      vi.useRealTimers()
      await expect(take(lock)).rejects.toMatchObject({ code: 'already_running' })
      expect(onLost).not.toHaveBeenCalled()
      cells += 1
    },
  )
})
