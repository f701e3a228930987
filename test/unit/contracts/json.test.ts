import { expect, test } from 'vitest'
import { handwrittenJson, isDeeper, jsonIn, whyNoJson } from '../../../src/contracts/json.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'

const lists = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

function why(text: string): string {
  try {
    return `it says ${JSON.stringify(handwrittenJson(text))}`
  } catch (error) {
    return whyNoJson(error)
  }
}

test('JSON of a person may begin with a mark, and be as deep as anything that is meant', () => {
  expect(handwrittenJson('\uFEFF{"a":[1]}')).toEqual({ a: [1] })
  expect(JSON.stringify(handwrittenJson(lists(LIMITS.json_depth_max)))).toBe(lists(LIMITS.json_depth_max))
  expect(handwrittenJson(lists(LIMITS.json_depth_max + 1), LIMITS.json_depth_max + 1)).toBeDefined()
})

test.each([
  ['no JSON', '{', /^it is no JSON: ./],
  ['nothing', '', /^it is no JSON: ./],
  ['lists that are a little too deep', lists(LIMITS.json_depth_max + 1), /^it is nested more than 64 deep$/],
  ['lists without end', lists(500_000), /^it is nested/],
  ['mappings without end', `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`, /^it is nested/],
])('%s is not taken, and the reason is told', (_, text, reason) => {
  expect(why(text)).toMatch(reason)
  expect(jsonIn(text)).toBeNull()
})

test('depth is counted by lists and mappings, not by what is in them', () => {
  expect(isDeeper('x', 0)).toBe(false)
  expect(isDeeper([], 0)).toBe(true)
  expect(isDeeper({ a: [1, { b: 2 }] }, 3)).toBe(false)
  expect(isDeeper({ a: [1, { b: 2 }] }, 2)).toBe(true)
})
