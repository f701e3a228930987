import { describe, expect, test } from 'vitest'
import { TurnbellError } from '../../../../src/contracts/errors.ts'
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
  ])('%j is %j', (value, wanted) => {
    expect(resolve(value, { branch: 'main', list: [1] })).toEqual({ value: wanted })
  })

  test.each<[Json]>([
    [{ $from: 'look.signals', more: 1 }],
    [{ from: 'look' }],
    ['$from: look'],
    [{ $param: 'a', $from: 'look' }],
    [null],
    [{}],
  ])('is a whole value; %j stays as it is', (value) => {
    expect(resolve(value)).toEqual({ value })
  })

  test('is not looked for in what it leads to', () => {
    expect(resolve({ $param: 'p' }, { p: { $param: 'p' } })).toEqual({ value: { $param: 'p' } })
  })

  test.each<[Json, string]>([
    [{ $from: 'nowhere.x' }, 'there is no step "nowhere" before this one; there are look, number'],
    [{ $from: 'look.signal' }, 'it has signals, empty, text'],
    [{ $from: 'look.signals.1' }, 'nothing there'],
    [{ $from: 'look.signals.length' }, 'nothing there'],
    [{ $from: 'look.text.0' }, 'nothing there'],
    [{ $from: 'number.toFixed' }, 'it has no fields'],
    [{ $from: 'look.constructor' }, 'nothing there'],
    [{ $from: 'look.__proto__' }, 'nothing there'],
    [{ $from: 'look..text' }, 'nothing there'],
    [{ $from: '' }, 'there is no step ""'],
    [{ $from: 3 }, 'there is no step'],
    [{ $from: ['look'] }, 'there is no step'],
    [{ $from: null, default: 1 }, 'there is no step'],
    [{ $param: 'toString' }, 'there is no such parameter; there are none'],
    [{ $param: 1 }, 'there is no such parameter'],
    [{ deep: [{ $from: 'nowhere' }] }, 'nowhere'],
  ])('that leads nowhere says so: %j', (value, detail) => {
    const refused = () => resolve(value)
    expect(refused).toThrow(TurnbellError)
    expect(refused).toThrow('reference_unknown')
    expect(refused).toThrow(detail)
  })

  test('to a step without a result tells which', () => {
    expect(resolve({ a: { $from: 'broken.x' } })).toEqual({ without: 'broken' })
    expect(resolve([{ $from: 'later', default: 1 }])).toEqual({ without: 'later' })
  })

  test('to what is short does not become without end what is long', () => {
    const list: Json = Array.from({ length: 150_000 }, () => [])
    const many: Json = Array.from({ length: 30_000 }, () => ({ $param: 'p' }))
    expect(() => resolve(many, { p: list })).toThrow('limit_reached')
    expect(() => resolve({ p: { $param: 'p' }, q: { $param: 'p' } }, { p: list })).not.toThrow()
  })

  test('makes no prototype of what it finds', () => {
    const value = JSON.parse('{"__proto__": {"$param": "p"}}') as Json
    const { value: made } = resolve(value, { p: { admin: true } }) as { value: object }
    expect(Object.hasOwn(made, '__proto__')).toBe(true)
    expect((made as { admin?: boolean }).admin).toBeUndefined()
  })
})
