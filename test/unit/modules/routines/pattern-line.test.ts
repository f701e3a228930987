import { expect, test } from 'vitest'
import { createPatternLine } from '../../../../src/modules/routines/steps/pattern-line.ts'

/** Records in which tick of the event loop each pattern was tried; `(` is invalid. */
function lineWithTurns() {
  const tried: [pattern: string, tick: number][] = []
  let tick = 0
  const line = createPatternLine({
    patterns: {
      matches(pattern) {
        tried.push([pattern, tick])
        if (pattern === '(') throw new Error('no pattern')
        return true
      },
    },
    clock: {
      soon(call) {
        setImmediate(() => {
          tick += 1
          call()
        })
      },
    },
  })
  return { line, tried }
}

test('each pattern runs in its own tick of the event loop, also for concurrent requests', async () => {
  const { line, tried } = lineWithTurns()
  await Promise.all(['a', 'b', 'c'].map((pattern) => line.matches(pattern, '')))
  expect(tried).toEqual([
    ['a', 0],
    ['b', 1],
    ['c', 2],
  ])
})

test('a rejected pattern does not delay others', async () => {
  const { line, tried } = lineWithTurns()
  const [refused, other] = await Promise.allSettled([line.matches('(', ''), line.matches('b', '')])
  expect([refused.status, other]).toEqual(['rejected', { status: 'fulfilled', value: true }])
  expect(tried.map(([, tick]) => tick)).toEqual([0, 1])
})
