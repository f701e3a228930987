import { expect, test } from 'vitest'
import { createPatternLine } from '../../../../src/modules/routines/steps/pattern-line.ts'

/** Notes in which turn of the loop each pattern was tried; `(` is none. */
function lineWithTurns() {
  const tried: [pattern: string, turn: number][] = []
  let turn = 0
  const line = createPatternLine({
    patterns: {
      matches(pattern) {
        tried.push([pattern, turn])
        if (pattern === '(') throw new Error('no pattern')
        return true
      },
    },
    clock: {
      soon(call) {
        setImmediate(() => {
          turn += 1
          call()
        })
      },
    },
  })
  return { line, tried }
}

test('a turn of the loop lies between two patterns, however many are asked for at once', async () => {
  const { line, tried } = lineWithTurns()
  await Promise.all(['a', 'b', 'c'].map((pattern) => line.matches(pattern, '')))
  expect(tried).toEqual([
    ['a', 0],
    ['b', 1],
    ['c', 2],
  ])
})

test('one that is refused holds up no other', async () => {
  const { line, tried } = lineWithTurns()
  const [refused, other] = await Promise.allSettled([line.matches('(', ''), line.matches('b', '')])
  expect([refused.status, other]).toEqual(['rejected', { status: 'fulfilled', value: true }])
  expect(tried.map(([, turn]) => turn)).toEqual([0, 1])
})
