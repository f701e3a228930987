import { expect, test } from 'vitest'
import { Json } from '../../../src/contracts/ids.ts'
import { jsonCopy } from '../../../src/contracts/json-copy.ts'

const SAID: unknown[] = [null, true, '', 'text', 0, -1.5, [], {}, { constructor: 1, toString: {} }]
const NESTED: unknown = [1, [null, { a: ['b'] }]]

test.each([...SAID, NESTED].map((value) => [value]))('what JSON says is taken as it is: %j', (value) => {
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
] as unknown[])('what JSON cannot say is refused, however deep it stands: %s', (value) => {
  expect(Json.safeParse(value).error?.issues).toMatchObject([{ path: [], message: 'a JSON value' }])
})

test('what was judged is a copy, so that nobody changes it afterwards', () => {
  const entry = { a: 1 }
  const told = { list: [entry] }
  const taken = Json.parse(told)
  entry.a = 2
  expect(taken).toEqual({ list: [{ a: 1 }] })
})

test('an object without a prototype, as some parsers make them, is one like others', () => {
  expect(Json.parse(Object.assign(Object.create(null), { a: 1 }))).toEqual({ a: 1 })
})

test('a field named __proto__ is left out, and sets nothing', () => {
  const copy = jsonCopy(JSON.parse('{"__proto__": {"admin": true}, "a": 1}')) as Record<string, unknown>
  expect(Object.keys(copy)).toEqual(['a'])
  expect(copy['admin']).toBeUndefined()
})
