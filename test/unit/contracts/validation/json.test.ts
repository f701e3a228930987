import { expect, test } from 'vitest'
import {
  handwrittenJson,
  isDeeper,
  parseJsonOrNull,
  jsonErrorText,
} from '../../../../src/contracts/validation/json.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'

const lists = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

function why(text: string): string {
  try {
    return `it says ${JSON.stringify(handwrittenJson(text))}`
  } catch (error) {
    return jsonErrorText(error)
  }
}

test('JSON of a person may start with a byte order mark and be nested up to the limit', () => {
  expect(handwrittenJson('\uFEFF{"a":[1]}')).toEqual({ a: [1] })
  expect(JSON.stringify(handwrittenJson(lists(LIMITS.json_depth_max)))).toBe(lists(LIMITS.json_depth_max))
  expect(handwrittenJson(lists(LIMITS.json_depth_max + 1), LIMITS.json_depth_max + 1)).toBeDefined()
})

test.each([
  ['no JSON', '{', /^the text is not valid JSON: ./],
  ['nothing', '', /^the text is not valid JSON: ./],
  [
    'lists that are a little too deep',
    lists(LIMITS.json_depth_max + 1),
    /^the value is nested more than 64 deep$/,
  ],
  ['lists without end', lists(500_000), /^the value is nested/],
  ['mappings without end', `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`, /^the value is nested/],
])('%s is rejected with the reason', (_, text, reason) => {
  expect(why(text)).toMatch(reason)
  expect(parseJsonOrNull(text)).toBeNull()
})

test('depth counts lists and objects', () => {
  expect(isDeeper('x', 0)).toBe(false)
  expect(isDeeper([], 0)).toBe(true)
  expect(isDeeper({ a: [1, { b: 2 }] }, 3)).toBe(false)
  expect(isDeeper({ a: [1, { b: 2 }] }, 2)).toBe(true)
})
