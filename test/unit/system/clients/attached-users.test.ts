import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { attachedUsers } from '../../../../src/system/clients/attached-users.ts'
import { eventually } from '../../../support/eventually.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

/** Short, for tests. */
const LOOK_MS = 10

test('a user is attached while their process lives, and to one client only', () => {
  const run_dir = temporaryDirectory()
  const people = attachedUsers(run_dir, 'codex', LOOK_MS)
  expect(people.isAttached()).toBe(false)
  people.attach(process.pid)
  expect([people.isAttached(), attachedUsers(run_dir, 'opencode').isAttached()]).toEqual([true, false])
  people.detach(process.pid)
  expect(people.isAttached()).toBe(false)
  asKilled(run_dir)
  expect(people.isAttached()).toBe(false)
})

test('the file of a killed process is removed when the next user attaches', () => {
  const run_dir = temporaryDirectory()
  const people = attachedUsers(run_dir, 'codex', LOOK_MS)
  people.attach(process.pid)
  asKilled(run_dir)
  people.attach(process.ppid)
  expect(fs.readdirSync(path.join(run_dir, 'codex-joined'))).toEqual([String(process.ppid)])
})

test.each<[string, (run_dir: string) => void]>([
  ['leaves', (run_dir) => attachedUsers(run_dir, 'codex', LOOK_MS).detach(process.pid)],
  ['is killed', asKilled],
])('the callback is called when the last user %s', async (_, ends) => {
  const run_dir = temporaryDirectory()
  attachedUsers(run_dir, 'codex', LOOK_MS).attach(process.pid)
  let left = 0
  const watch = attachedUsers(run_dir, 'codex', LOOK_MS).onAllDetached(() => (left += 1))
  onTestFinished(() => watch.close())
  expect(left).toBe(0)
  ends(run_dir)
  await eventually('it is reported', () => left === 1)
})

test('untilDetached resolves when the last user has left, or at once', async () => {
  const run_dir = temporaryDirectory()
  const people = attachedUsers(run_dir, 'codex', LOOK_MS)
  await people.untilDetached()
  people.attach(process.pid)
  let alone = false
  const waiting = people.untilDetached().then(() => (alone = true))
  await Promise.resolve()
  expect(alone).toBe(false)
  people.detach(process.pid)
  await waiting
})

test('the callback is called for a user that was seen and left before the next check', async () => {
  const run_dir = temporaryDirectory()
  const people = attachedUsers(run_dir, 'codex', LOOK_MS)
  let left = 0
  const watch = people.onAllDetached(() => (left += 1))
  onTestFinished(() => watch.close())
  people.attach(process.pid)
  expect(people.isAttached()).toBe(true)
  people.detach(process.pid)
  await eventually('it is reported', () => left === 1)
})

test('each change of whether a user is attached is reported once', async () => {
  const run_dir = temporaryDirectory()
  const people = attachedUsers(run_dir, 'opencode', LOOK_MS)
  const seen: boolean[] = []
  const watch = people.onChange(() => seen.push(people.isAttached()))
  onTestFinished(() => watch.close())
  people.attach(process.pid)
  await eventually('the join is reported', () => seen.length === 1)
  expect(people.pids()).toEqual([process.pid])
  people.detach(process.pid)
  await eventually('the leave is reported', () => seen.length === 2)
  expect(seen).toEqual([true, false])
})

/** State after a kill: a later process may have the same pid. */
function asKilled(run_dir: string): void {
  fs.writeFileSync(path.join(run_dir, 'codex-joined', String(process.pid)), 'another start')
}
