import { expect, test } from 'vitest'
import { leaveWithParent } from '../../../src/system/parent.ts'
import { fakeClock } from '../../support/fake-clock.ts'

function started(env: NodeJS.ProcessEnv, ppid: number) {
  const clock = fakeClock()
  const exits: unknown[] = []
  const self = { env, ppid, exit: (code?: number) => exits.push(code) as never }
  return { self, clock, exits, look: leaveWithParent(self, clock) }
}

// What a shim finds whose daemon was killed while it loaded: it belongs to init by then.
test('a process whose parent was gone before it looked ends at once', () => {
  expect(started({ TURNBELL_PARENT_PID: '42' }, 1).exits).toEqual([0])
})

test('a process stays with the parent that it was told, and ends once that is gone', async () => {
  const { self, clock, exits } = started({ TURNBELL_PARENT_PID: '42' }, 42)
  await clock.advance(10_000)
  expect(exits).toEqual([])
  self.ppid = 1
  await clock.advance(500)
  expect(exits).toEqual([0])
})

test.each([undefined, '', 'x'])('a process that was told %j takes the parent that it finds', (told) => {
  const { self, exits, look } = started({ TURNBELL_PARENT_PID: told }, 7)
  look()
  expect(exits).toEqual([])
  self.ppid = 1
  look()
  expect(exits).toEqual([0])
})

test('what a process starts is not told of a parent that is another one for it', () => {
  const { self } = started({ TURNBELL_PARENT_PID: '42', PATH: '/bin' }, 42)
  expect(self.env).toEqual({ PATH: '/bin' })
})
