import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { joined } from '../../../src/system/joined.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

/** Soon enough for a test. */
const LOOK_MS = 10

test('a person has joined while their process lives, and at one client only', () => {
  const run_dir = temporaryDirectory()
  const persons = joined(run_dir, 'codex', LOOK_MS)
  expect(persons.isJoined()).toBe(false)
  persons.join(process.pid)
  expect([persons.isJoined(), joined(run_dir, 'opencode').isJoined()]).toEqual([true, false])
  persons.leave(process.pid)
  expect(persons.isJoined()).toBe(false)
  asKilled(run_dir)
  expect(persons.isJoined()).toBe(false)
})

test('who was killed leaves nothing behind once the next one joins', () => {
  const run_dir = temporaryDirectory()
  const persons = joined(run_dir, 'codex', LOOK_MS)
  persons.join(process.pid)
  asKilled(run_dir)
  persons.join(process.ppid)
  expect(fs.readdirSync(path.join(run_dir, 'codex-joined'))).toEqual([String(process.ppid)])
})

test.each<[string, (run_dir: string) => void]>([
  ['leaves', (run_dir) => joined(run_dir, 'codex', LOOK_MS).leave(process.pid)],
  ['is killed', asKilled],
])('it is told when the last person %s', async (_, ends) => {
  const run_dir = temporaryDirectory()
  joined(run_dir, 'codex', LOOK_MS).join(process.pid)
  let left = 0
  const watch = joined(run_dir, 'codex', LOOK_MS).onAllLeft(() => (left += 1))
  onTestFinished(() => watch.close())
  expect(left).toBe(0)
  ends(run_dir)
  await eventually('it is told', () => left === 1)
})

test('whoever waits until nobody is there goes on once the last has left, or at once', async () => {
  const run_dir = temporaryDirectory()
  const persons = joined(run_dir, 'codex', LOOK_MS)
  await persons.untilAlone()
  persons.join(process.pid)
  let alone = false
  const waiting = persons.untilAlone().then(() => (alone = true))
  await Promise.resolve()
  expect(alone).toBe(false)
  persons.leave(process.pid)
  await waiting
})

test('it is told of one who was seen and left before anybody looked again', async () => {
  const run_dir = temporaryDirectory()
  const persons = joined(run_dir, 'codex', LOOK_MS)
  let left = 0
  const watch = persons.onAllLeft(() => (left += 1))
  onTestFinished(() => watch.close())
  persons.join(process.pid)
  expect(persons.isJoined()).toBe(true)
  persons.leave(process.pid)
  await eventually('it is told', () => left === 1)
})

test('each change of whether somebody has joined is reported once', async () => {
  const run_dir = temporaryDirectory()
  const persons = joined(run_dir, 'opencode', LOOK_MS)
  const seen: boolean[] = []
  const watch = persons.onChange(() => seen.push(persons.isJoined()))
  onTestFinished(() => watch.close())
  persons.join(process.pid)
  await eventually('the join is reported', () => seen.length === 1)
  expect(persons.pids()).toEqual([process.pid])
  persons.leave(process.pid)
  await eventually('the leave is reported', () => seen.length === 2)
  expect(seen).toEqual([true, false])
})

/** What one that was killed leaves behind: a later process may have its number. */
function asKilled(run_dir: string): void {
  fs.writeFileSync(path.join(run_dir, 'codex-joined', String(process.pid)), 'another start')
}
