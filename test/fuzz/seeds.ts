/** Initial inputs: values that a schema accepts, and fixture files. */
import fs from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import type { z } from 'zod'
import { jsonSchema } from '../../src/kernel/schema.ts'
import { arbitraryOf } from '../support/arbitrary-of-schema.ts'

/**
 * Number of generated values for each wanted one. JSON Schema is less strict than the zod schema, so only some of them
 * are valid.
 */
const MADE_FOR_EACH = 10

/** Worlds are reopened hundreds of times, and generating samples takes longer than that. */
const known = new WeakMap<z.ZodType, Map<number, readonly unknown[]>>()

/**
 * Returns the same samples in every run. Samples that the schema itself rejects are excluded, because they would not
 * reach the code after validation. Returns fewer if too few are valid.
 */
export function samplesOf(schema: z.ZodType, count: number): readonly unknown[] {
  const by_count = known.get(schema) ?? new Map<number, readonly unknown[]>()
  known.set(schema, by_count)
  const samples = by_count.get(count) ?? taken(schema, count)
  by_count.set(count, samples)
  return samples
}

function taken(schema: z.ZodType, count: number): readonly unknown[] {
  return fc
    .sample(arbitraryOf(jsonSchema(schema, 'input')), { numRuns: count * MADE_FOR_EACH, seed: 1 })
    .filter((value) => schema.safeParse(value).success)
    .slice(0, count)
}

export function linesOf(schema: z.ZodType, count: number): string[] {
  return samplesOf(schema, count).map((value) => JSON.stringify(value))
}

const FIXTURES = path.resolve('test/fixtures')

/** Returns the texts of all files below a fixture folder. */
export function fixtures(folder: string, suffix = ''): string[] {
  const root = path.join(FIXTURES, folder)
  return fs
    .readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(suffix) && fs.statSync(path.join(root, name)).isFile())
    .sort()
    .map((name) => fs.readFileSync(path.join(root, name), 'utf8'))
}
