/** Descriptions of invalid parameters: the field, the value and the allowed values. */
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { describeParams } from '../../../../src/contracts/validation/describe-issues.ts'

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

function describedAs(params: unknown, schema: z.ZodType = Form): string {
  const { error } = schema.safeParse(params)
  if (error === undefined) throw new Error('it fits')
  return describeParams(schema, params, error)
}

describe('invalid parameters', () => {
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
  ])('%j', (params, sentence) => expect(describedAs(params)).toBe(sentence))

  test('an unknown field is described where no fields are allowed', () =>
    expect(describedAs({ x: 1 }, z.strictObject({}))).toBe('unknown field "x"; there are none'))

  test('the first five issues are described, and the others are counted', () => {
    const form = z.object(Object.fromEntries('abcdefg'.split('').map((name) => [name, z.string()])))
    expect(describedAs({}, form)).toMatch(/^a: .*; e: expected string, found nothing; and 2 more$/)
  })
})
