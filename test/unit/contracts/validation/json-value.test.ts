import { expect, test } from 'vitest'
import { Json } from '../../../../src/contracts/ids.ts'
import { jsonCopy } from '../../../../src/contracts/validation/json-value.ts'

const VALUES: unknown[] = [null, true, '', 'text', 0, -1.5, [], {}, { constructor: 1, toString: {} }]
const NESTED: unknown = [1, [null, { a: ['b'] }]]

test.each([...VALUES, NESTED].map((value) => [value]))('a JSON value is copied unchanged: %j', (value) => {
  expect(Json.parse(value)).toEqual(value)
})

test.each([
  undefined,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  1n,
  Symbol('s'),
  () => 1,
  new Date(0),
  new Map(),
  new (class Own {})(),
  [undefined],
  { a: undefined },
  { a: [{ b: new Set() }] },
] as unknown[])('a value that is not JSON is rejected at any depth: %s', (value) => {
  expect(Json.safeParse(value).error?.issues).toMatchObject([{ path: [], message: 'a JSON value' }])
})

test('jsonCopy returns a copy, so that the validated value cannot change afterwards', () => {
  const entry = { a: 1 }
  const value = { list: [entry] }
  const taken = Json.parse(value)
  entry.a = 2
  expect(taken).toEqual({ list: [{ a: 1 }] })
})

test('an object without a prototype, as some parsers create, is copied', () => {
  expect(Json.parse(Object.assign(Object.create(null), { a: 1 }))).toEqual({ a: 1 })
})

test('a field named __proto__ is omitted', () => {
  const copy = jsonCopy(JSON.parse('{"__proto__": {"admin": true}, "a": 1}')) as Record<string, unknown>
  expect(Object.keys(copy)).toEqual(['a'])
  expect(copy['admin']).toBeUndefined()
})
