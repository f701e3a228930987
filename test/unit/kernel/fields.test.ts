/** Tests the short notation of schemas, for every form that a declaration may use. */
import { expect, test } from 'vitest'
import * as z from 'zod'
import { boundsOf, fieldsOf } from '../../../src/kernel/fields.ts'
import { jsonSchema } from '../../../src/kernel/schema.ts'
import { Json } from '../../../src/contracts/ids.ts'

const Named = z.object({ at: z.string() }).meta({ title: 'Place' })

test.each<[string, z.ZodType, string, string]>([
  ['a string', z.string(), 'string', 'string'],
  ['a count', z.number().int(), 'integer', 'integer'],
  ['one of a few', z.enum(['a', 'b']), '"a"|"b"', '"a"|"b"'],
  ['many of a few', z.array(z.enum(['a', 'b'])), '("a"|"b")[]', '("a"|"b")[]'],
  ['always the same', z.literal(true), 'true', 'true'],
  ['perhaps nothing', z.string().nullable(), 'string|null', 'string|null'],
  ['an object', z.object({ a: z.string(), b: z.boolean().optional() }), 'object', '{a: string, b?: boolean}'],
  ['objects', z.array(z.object({ a: z.enum(['x', 'y']) })), 'object[]', '{a: "x"|"y"}[]'],
  ['an object with a name', Named, 'object', 'Place'],
  ['objects with a name', z.array(Named), 'object[]', 'Place[]'],
  [
    'one of two objects',
    z.array(z.union([Named, z.object({ b: z.null() })])),
    '(object|object)[]',
    '(Place|{b: null})[]',
  ],
  [
    'told apart by a word',
    z.discriminatedUnion('is', [z.object({ is: z.literal('a') }), z.object({ is: z.literal('b') })]),
    'object|object',
    '{is: "a"}|{is: "b"}',
  ],
  ['a dictionary', z.record(z.string(), z.number()), 'object', '{…: number}'],
  ['an object without fields', z.object({}), 'object', 'object'],
  ['anything', Json, 'json', 'json'],
])('%s', (_, form, short, spelled) => {
  const schema = jsonSchema(z.object({ field: form }), 'output')
  expect(fieldsOf(schema)[0]?.type).toBe(short)
  expect(fieldsOf(schema, true)[0]?.type).toBe(spelled)
})

test('a field is required unless it has a default or is optional', () => {
  const input = z.object({ a: z.string(), b: z.string().optional(), c: z.string().default('x') })
  expect(fieldsOf(jsonSchema(input, 'input'))).toMatchObject([
    { name: 'a', required: true },
    { name: 'b', required: false },
    { name: 'c', required: false, default: 'x' },
  ])
  expect(fieldsOf({ type: 'object' })).toEqual([])
})

test.each<[z.ZodType, string]>([
  [z.string(), ''],
  [z.boolean(), ''],
  [z.number().int(), ''],
  [z.number().int().min(0).max(9), '0 to 9'],
  [z.number().min(1), '1 or more'],
  [z.number().max(1), 'at most 1'],
  [z.string().min(1).max(64), '1 to 64 characters'],
  [z.string().max(64).nullable(), 'at most 64 characters'],
  [z.string().regex(/^[a-z]+$/), '`^[a-z]+$`'],
  [
    z
      .string()
      .max(5)
      .regex(/^[a-z]+$/),
    'at most 5 characters, `^[a-z]+$`',
  ],
  [z.array(z.string()), ''],
  [z.array(z.string().min(1)).min(1).max(9), '1 to 9 entries, each 1 or more characters'],
  [z.array(z.number().max(3)), 'each at most 3'],
  [z.union([z.string().max(3), z.number().max(3)]), ''],
])('the limits of %#', (form, bounds) => expect(boundsOf(jsonSchema(form, 'input'))).toBe(bounds))
