import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  exactJson,
  parseExactJsonOrNull,
  handwrittenJson,
  parseJsonOrNull,
  wireJson,
} from '../../../../src/contracts/validation/json.ts'
import {
  inexactNumber,
  InexactNumberError,
  isExact,
} from '../../../../src/contracts/validation/json-numbers.ts'

describe('a number is exact', () => {
  test.each([
    '0',
    '-0',
    '0.0',
    '0e999',
    '1',
    '-17',
    '9007199254740991',
    '9007199254740992',
    '-9007199254740992',
    '18014398509481984',
    '100000000000000000000',
    '1e21',
    '1E+21',
    '1e308',
    '0.1',
    '0.30000000000000004',
    '3.141592653589793238462643',
    '1.50',
    '123456789012345000000000',
    '1.234567890123456789e-20',
    '-1.234567890123456789e-20',
    '123456789012345678e-3',
    '-123456789012345678E-3',
    '9007199254740992000e-3',
    '1234567890123456000e-2',
    '10e-100',
    '0e-999',
  ])('%s', (source) => {
    expect(isExact(source)).toBe(true)
  })
})

describe('a number is not exact', () => {
  test.each([
    '9007199254740993',
    '-9007199254740993',
    '1764391000123456789',
    '9007199254740993.0',
    '9007199254740993e0',
    '900719925474099.3e1',
    '12345678901234567890',
    '1e309',
    '-1e400',
    '1e99999999999999999999',
    '1e-400',
    '9007199254740993000e-3',
    '-9007199254740993000e-3',
  ])('%s', (source) => {
    expect(isExact(source)).toBe(false)
    expect(inexactNumber(`[${source}]`)).toEqual({ path: [0], source })
  })
})

describe('an inexact number is reported with its path', () => {
  test.each<[string, (string | number)[]]>([
    ['9007199254740993', []],
    ['{"id":9007199254740993}', ['id']],
    ['{"a":[1,{"b c":[2, 9007199254740993]}]}', ['a', 1, 'b c', 1]],
    ['{"x":"9007199254740993","y":{},"z":[],"w":9007199254740993}', ['w']],
    [String.raw`{"\"q\\":"\\\"9007199254740993","n":9007199254740993}`, ['n']],
    [String.raw`{"a\u0062":9007199254740993}`, ['ab']],
    ['[{"a":1},{"a":2},{"a":9007199254740993}]', [2, 'a']],
  ])('%s', (text, path) => {
    expect(inexactNumber(text)?.path).toEqual(path)
  })

  test('a number inside a string is not inexact', () => {
    expect(inexactNumber('{"a":"id: 9007199254740993, 1e400"}')).toBeNull()
  })

  test('an inexact number is found in a text of a megabyte', () => {
    const text = JSON.stringify({ a: '\\"'.repeat(500_000), b: Array.from({ length: 10_000 }, (_, n) => n) })
    expect(inexactNumber(`[${text},9007199254740993]`)?.path).toEqual([1])
  })
})

test('every number that JSON.stringify writes is exact', () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => inexactNumber(JSON.stringify(value)) === null))
})

/** The integer of a printed number. */
function printed(value: number): bigint {
  const [mantissa = '', power = '0'] = String(value).split('e+')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return BigInt(whole + fraction.padEnd(Number(power), '0'))
}

test('an integer is rejected exactly if it would print as a different one', () => {
  const integer = fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n })
  fc.assert(
    fc.property(fc.array(fc.jsonValue(), { maxLength: 4 }), integer, (before, number) => {
      const text = `[${[...before.map((one) => JSON.stringify(one)), number].join()}]`
      const found = { path: [before.length], source: String(number) }
      expect(inexactNumber(text)).toEqual(printed(Number(number)) === number ? null : found)
    }),
  )
})

test('an inexact number is rejected with its path in stored and forwarded data, and accepted in data that is only read', () => {
  const text = '{"payload":{"id":9007199254740993}}'
  const why = 'payload.id: 9007199254740993 is beyond 2^53; send it as a text'
  expect(() => exactJson(text)).toThrow(why)
  expect(() => handwrittenJson(`\uFEFF${text}`)).toThrow(why)
  expect(parseExactJsonOrNull(text)).toBeNull()
  expect(parseJsonOrNull(text)).toEqual({ payload: { id: 9007199254740992 } })
  expect(wireJson(text)).toEqual({ payload: { id: 9007199254740992 } })
  expect(() => exactJson('{"a":1e400}')).toThrow(
    'a: 1e400 is beyond the range of a number; send it as a text',
  )
})

test('the path is reported relative to an enclosed part', () => {
  const error = new InexactNumberError({ path: ['params', 'payload', 'id'], source: '9007199254740993' })
  expect(error.below(['params'])).toMatch(/^payload\.id: /)
  expect(error.below(['body'])).toMatch(/^params\.payload\.id: /)
})
