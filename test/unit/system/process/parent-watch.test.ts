import { expect, test } from 'vitest'
import { leaveWithParent } from '../../../../src/system/process/parent-watch.ts'
import { fakeClock } from '../../../support/fakes/fake-clock.ts'

function started(env: NodeJS.ProcessEnv, ppid: number) {
  const clock = fakeClock()
  const exits: unknown[] = []
  const self = { env, ppid, exit: (code?: number) => exits.push(code) as never }
  return { self, clock, exits, look: leaveWithParent(self, clock) }
}

// State of a shim whose daemon was killed while it loaded: init is its parent.
test('a process whose parent has ended before the first check ends at once', () => {
  expect(started({ TURNBELL_PARENT_PID: '42' }, 1).exits).toEqual([0])
})

test('a process ends when the parent that it was given has ended', async () => {
  const { self, clock, exits } = started({ TURNBELL_PARENT_PID: '42' }, 42)
  await clock.advance(10_000)
  expect(exits).toEqual([])
  self.ppid = 1
  await clock.advance(500)
  expect(exits).toEqual([0])
})

test.each([undefined, '', 'x'])('a process started with %j uses its actual parent', (told) => {
  const { self, exits, look } = started({ TURNBELL_PARENT_PID: told }, 7)
  look()
  expect(exits).toEqual([])
  self.ppid = 1
  look()
  expect(exits).toEqual([0])
})

test('the variable of the parent is not inherited by child processes', () => {
  const { self } = started({ TURNBELL_PARENT_PID: '42', PATH: '/bin' }, 42)
  expect(self.env).toEqual({ PATH: '/bin' })
})
