import { describe, expect, test } from 'vitest'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import type { Json } from '../../../../src/contracts/ids.ts'
import { resolved, type Earlier } from '../../../../src/modules/routines/references.ts'

const earlier = new Map<string, Earlier>([
  ['look', { status: 'ok', result: { signals: [{ from: 'bob', n: null }], empty: {}, text: 'abc' } }],
  ['number', { status: 'ok', result: 7 }],
  ['shown', { status: 'failed', result: { exit_code: 1 } }],
  ['broken', { status: 'failed' }],
  ['later', { status: 'planned' }],
])
const resolve = (value: Json, params: Record<string, Json> = {}) => resolved(value, { params, earlier })

describe('a reference', () => {
  test.each<[Json, Json]>([
    [{ $from: 'look.signals.0.from' }, 'bob'],
    [{ $from: 'look.signals.0.n' }, null],
    [{ $from: 'look.empty' }, {}],
    [{ $from: 'number' }, 7],
    [{ $from: 'shown.exit_code' }, 1],
    [{ $from: 'look.signals.1', default: 0 }, 0],
    [{ $from: 'look.signals.0.from', default: 0 }, 'bob'],
    [{ a: [{ $from: 'number' }, { b: { $from: 'look.text' } }] }, { a: [7, { b: 'abc' }] }],
    [{ $param: 'branch' }, 'main'],
    [{ x: { $param: 'list' } }, { x: [1] }],
  ])('a reference %j resolves to %j', (value, wanted) => {
    expect(resolve(value, { branch: 'main', list: [1] })).toEqual({ value: wanted })
  })

  test.each<[Json]>([
    [{ $from: 'look.signals', more: 1 }],
    [{ from: 'look' }],
    ['$from: look'],
    [{ $param: 'a', $from: 'look' }],
    [null],
    [{}],
  ])('a reference is a whole value; %j stays unchanged', (value) => {
    expect(resolve(value)).toEqual({ value })
  })

  test('the value of a reference is not resolved again', () => {
    expect(resolve({ $param: 'p' }, { p: { $param: 'p' } })).toEqual({ value: { $param: 'p' } })
  })

  test.each<[Json, string]>([
    [{ $from: 'nowhere.x' }, 'there is no step "nowhere" before this one. Earlier steps: look, number'],
    [{ $from: 'look.signal' }, 'which has signals, empty, text'],
    [{ $from: 'look.signals.1' }, 'no such value in the result'],
    [{ $from: 'look.signals.length' }, 'no such value in the result'],
    [{ $from: 'look.text.0' }, 'no such value in the result'],
    [{ $from: 'number.toFixed' }, 'which has no fields'],
    [{ $from: 'look.constructor' }, 'no such value in the result'],
    [{ $from: 'look.__proto__' }, 'no such value in the result'],
    [{ $from: 'look..text' }, 'no such value in the result'],
    [{ $from: '' }, 'there is no step ""'],
    [{ $from: 3 }, 'there is no step'],
    [{ $from: ['look'] }, 'there is no step'],
    [{ $from: null, default: 1 }, 'there is no step'],
    [{ $param: 'toString' }, 'there is no such parameter. Parameters: none'],
    [{ $param: 1 }, 'there is no such parameter'],
    [{ deep: [{ $from: 'nowhere' }] }, 'nowhere'],
  ])('an unresolvable reference is reported: %j', (value, detail) => {
    const refused = () => resolve(value)
    expect(refused).toThrow(TurnbellError)
    expect(refused).toThrow('reference_unknown')
    expect(refused).toThrow(detail)
  })

  test('a reference to a step without a result names the step', () => {
    expect(resolve({ a: { $from: 'broken.x' } })).toEqual({ without: 'broken' })
    expect(resolve([{ $from: 'later', default: 1 }])).toEqual({ without: 'later' })
  })

  test('repeated references cannot make a short text unboundedly long', () => {
    const list: Json = Array.from({ length: 150_000 }, () => [])
    const many: Json = Array.from({ length: 30_000 }, () => ({ $param: 'p' }))
    expect(() => resolve(many, { p: list })).toThrow('limit_reached')
    expect(() => resolve({ p: { $param: 'p' }, q: { $param: 'p' } }, { p: list })).not.toThrow()
  })

  test('a reference cannot set a prototype', () => {
    const value = JSON.parse('{"__proto__": {"$param": "p"}}') as Json
    const { value: made } = resolve(value, { p: { admin: true } }) as { value: object }
    expect(Object.hasOwn(made, '__proto__')).toBe(true)
    expect((made as { admin?: boolean }).admin).toBeUndefined()
  })
})
