/** What a caller is told of parameters that do not fit: the field, what stands there, and what may. */
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { describeParams } from '../../../src/contracts/describe.ts'

const Form = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z]+$/, 'a name is lower_case words')
    .optional(),
  since: z
    .string()
    .regex(/^\d{4}$/, 'expected a year as 2026')
    .optional(),
  count: z.int().optional(),
  tags: z.record(z.string(), z.string()).optional(),
  level: z.enum(['low', 'high']).optional(),
  many: z.union([z.string(), z.array(z.string())]).optional(),
  inside: z.array(z.strictObject({ name: z.string().optional() })).nullish(),
  either: z.union([z.boolean(), z.strictObject({ not: z.boolean() })]).optional(),
})

function told(params: unknown, schema: z.ZodType = Form): string {
  const { error } = schema.safeParse(params)
  if (error === undefined) throw new Error('it fits')
  return describeParams(schema, params, error)
}

describe('what does not fit', () => {
  test.each([
    [{ name: 'Ada' }, 'name: a name is lower_case words, found "Ada"'],
    [{ since: 'soon' }, 'since: expected a year as 2026, found "soon"'],
    [{ count: 1.5 }, 'count: expected integer, found 1.5'],
    [{ count: 'x' }, 'count: expected number, found "x"'],
    [{ tags: [] }, 'tags: expected object, found []'],
    [{ level: 'is' }, 'level: expected one of low, high, found "is"'],
    [{ many: 7 }, 'many: expected string or array, found 7'],
    [{ either: { $not: 1 } }, 'either.not: expected boolean, found nothing; unknown field "$not" in either'],
    [
      { lvel: 1 },
      `unknown field "lvel" (did you mean level?); allowed: ${Object.keys(Form.shape).join(', ')}`,
    ],
    [7, 'params: expected object, found 7'],
    [{ inside: [{ nmae: 'x' }] }, 'unknown field "nmae" in inside.0 (did you mean name?); allowed: name'],
    [{ either: { not: true, so: 1 } }, 'unknown field "so" in either'],
  ])('%j', (params, sentence) => expect(told(params)).toBe(sentence))

  test('where no field is known', () =>
    expect(told({ x: 1 }, z.strictObject({}))).toBe('unknown field "x"; there are none'))

  test('is told of the first five, and of how many more there are', () => {
    const form = z.object(Object.fromEntries('abcdefg'.split('').map((name) => [name, z.string()])))
    expect(told({}, form)).toMatch(/^a: .*; e: expected string, found nothing; and 2 more$/)
  })
})
