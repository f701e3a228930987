import fc from 'fast-check'
import { expect, test } from 'vitest'
import { arbitraryOf } from '../../support/arbitrary-of-schema.ts'

test('makes times that are times, for there are dates that are none', () => {
  const times = fc.sample(arbitraryOf({ type: 'string', format: 'date-time' }), {
    numRuns: 10_000,
    seed: 1,
  }) as string[]
  for (const time of times) expect(new Date(time).toISOString()).toBe(time)
})
