/** Values that small models write as text in place of numbers, booleans and lists. */
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { parseParamsLeniently } from '../../../../src/contracts/validation/parse-params.ts'
import { FACADES } from '../../../../src/facades/all.ts'
import { createRegistry } from '../../../../src/kernel/registry.ts'

const Form = z.strictObject({
  limit: z.number().int().max(100).optional(),
  ratio: z.number().optional(),
  peek: z.boolean().default(false),
  ids: z.array(z.string()).optional(),
  counts: z.array(z.number()).optional(),
  within: z.strictObject({ depth: z.int().optional() }).optional(),
  either: z.union([z.number(), z.boolean()]).optional(),
  among: z.union([z.enum(['a', 'b']), z.array(z.enum(['a', 'b']))]).optional(),
  since: z.union([z.number().int(), z.iso.datetime()]).optional(),
  text: z.string().optional(),
  any: z.json().optional(),
  name: z.string().nullable().optional(),
})

describe('text is converted to the accepted type', () => {
  test.each<[object, object, string | undefined]>([
    [{ limit: '5' }, { limit: 5 }, 'limit: "5" was taken as 5'],
    [{ limit: '5.0' }, { limit: 5 }, 'limit: "5.0" was taken as 5'],
    [{ ratio: '-0.5' }, { ratio: -0.5 }, 'ratio: "-0.5" was taken as -0.5'],
    [{ peek: 'true' }, { peek: true }, 'peek: "true" was taken as true'],
    [{ peek: 'False' }, { peek: false }, 'peek: "False" was taken as false'],
    [{ ids: '["a","b"]' }, { ids: ['a', 'b'] }, String.raw`ids: "[\"a\",\"b\"]" was taken as ["a","b"]`],
    [{ counts: '["1",2]' }, { counts: [1, 2] }, undefined],
    [{ within: '{"depth":"3"}' }, { within: { depth: 3 } }, undefined],
    [{ within: { depth: '3' } }, { within: { depth: 3 } }, 'within.depth: "3" was taken as 3'],
    [{ either: 'true' }, { either: true }, undefined],
    [{ among: '["a"]' }, { among: ['a'] }, undefined],
    [{ among: null }, {}, 'among: null was taken as absent'],
    [{ either: '7' }, { either: 7 }, undefined],
    [{ limit: null, peek: null }, {}, 'limit: null was taken as absent; peek: null was taken as absent'],
    [
      { limit: '5', peek: 'true' },
      { limit: 5, peek: true },
      'limit: "5" was taken as 5; peek: "true" was taken as true',
    ],
  ])('%j', (params, meant, note) => {
    const before = structuredClone(params)
    const fit = parseParamsLeniently(Form, params)
    expect(fit.value).toEqual({ peek: false, ...meant })
    expect(fit.note).toEqual(note ?? (expect.any(String) as string))
    expect(params).toEqual(before)
  })

  test('parameters in one JSON text are parsed', () => {
    expect(parseParamsLeniently(Form, '{"limit":5}').value).toEqual({ limit: 5, peek: false })
  })
})

test.each([{ text: '5' }, { any: '5' }, { any: 'true' }, { any: '[1]' }, { name: null }, { any: null }])(
  'a valid value is not converted: %j',
  (params) => {
    expect(parseParamsLeniently(Form, params)).toEqual({ value: { peek: false, ...params }, note: undefined })
  },
)

describe('an ambiguous value is rejected as it is', () => {
  test.each<[unknown, string]>([
    [{ limit: 'many' }, 'limit: expected number, found "many"'],
    [{ limit: '' }, 'limit: expected'],
    [{ limit: ' 5' }, 'limit: expected'],
    [{ limit: '0x10' }, 'limit: expected'],
    [{ limit: '007' }, 'limit: expected'],
    [{ limit: '5.5' }, 'limit: expected integer, found 5.5'],
    [{ limit: '500' }, 'limit: expected number of at most 100, found 500'],
    [{ ratio: '9007199254740993' }, 'ratio: expected number, found "9007199254740993"'],
    [{ ratio: '1e400' }, 'ratio: expected number, found "1e400"'],
    [{ peek: 'yes' }, 'peek: expected boolean, found "yes"'],
    [{ peek: '1' }, 'peek: expected boolean, found "1"'],
    [{ ids: 'a,b' }, 'ids: expected array, found "a,b"'],
    [{ ids: '[9007199254740993]' }, 'ids: expected array, found "[9007199254740993]"'],
    [{ ids: '{"a":1}' }, 'ids: expected array'],
    [{ since: '5' }, 'since: '],
    [{ text: 5 }, 'text: expected string, found 5'],
    [{ text: null, limit: '5' }, ''],
    ['[1]', 'params: expected object'],
    ['{"limit":9007199254740993}', 'limit: 9007199254740993 is beyond 2^53; send it as a text'],
  ])('%j', (params, why) => {
    if (why === '') return expect(parseParamsLeniently(Form, params).value).toEqual({ limit: 5, peek: false })
    expect(() => parseParamsLeniently(Form, params)).toThrow(why)
  })

  test('null in a required field is rejected', () => {
    const Must = z.strictObject({ to: z.string() })
    expect(() => parseParamsLeniently(Must, { to: null })).toThrow('to: expected string, found null')
  })
})

/** Every scalar and list of the value as text, with its path. */
function* asText(
  value: unknown,
  path: string[] = [],
): Iterable<{ path: string; put: (into: unknown) => void }> {
  if (typeof value !== 'object' || value === null) return
  for (const [name, one] of Object.entries(value)) {
    const here = [...path, name]
    if (typeof one === 'number' || typeof one === 'boolean' || Array.isArray(one))
      yield {
        path: here.join('.'),
        put(into) {
          let holder = into as Record<string, unknown>
          for (const step of path) holder = holder[step] as Record<string, unknown>
          holder[name] = JSON.stringify(one)
        },
      }
    yield* asText(one, here)
  }
}

test('in the examples of every action, text is converted to the number, the boolean or the list', () => {
  let tried = 0
  for (const { facade, name, action } of createRegistry(FACADES).actions) {
    for (const example of action.examples ?? []) {
      const meant = parseParamsLeniently(action.input, example).value
      for (const { path, put } of asText(example)) {
        const params = structuredClone(example) as Record<string, unknown>
        put(params)
        // A field that accepts any text rightly accepts this one.
        if (action.input.safeParse(params).success) continue
        tried += 1
        const { value, note } = parseParamsLeniently(action.input, params)
        expect(value, `${facade.name}.${name} ${path}`).toEqual(meant)
        expect(note).toContain(`${path}: `)
      }
    }
  }
  expect(tried).toBeGreaterThan(40)
})
