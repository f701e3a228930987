/** Inputs to begin with: values that a schema takes, and files of the fixtures. */
import fs from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import type { z } from 'zod'
import { jsonSchema } from '../../src/kernel/schema.ts'
import { arbitraryOf } from '../support/arbitrary-of-schema.ts'

/** JSON Schema says less than a schema knows: of so many made by it for each that is wanted, some will do. */
const MADE_FOR_EACH = 10

/** Worlds are opened anew by the hundred, and making samples takes longer than that. */
const known = new WeakMap<z.ZodType, Map<number, readonly unknown[]>>()

/**
 * The same ones at every run. What the schema itself would refuse is left out: it would stop at the door, and show the
 * fuzzer nothing of what is behind. Fewer where too little of what is made will do.
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

/** Texts of all files below a folder of the fixtures. */
export function fixtures(folder: string, suffix = ''): string[] {
  const root = path.join(FIXTURES, folder)
  return fs
    .readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(suffix) && fs.statSync(path.join(root, name)).isFile())
    .sort()
    .map((name) => fs.readFileSync(path.join(root, name), 'utf8'))
}
