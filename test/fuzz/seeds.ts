/** Inputs to begin with: values that a schema takes, and files of the fixtures. */
import fs from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import type { z } from 'zod'
import { jsonSchema } from '../../src/kernel/schema.ts'
import { arbitraryOf } from '../support/arbitrary-of-schema.ts'

/** The same ones at every run. */
export function samplesOf(schema: z.ZodType, count: number): unknown[] {
  return fc.sample(arbitraryOf(jsonSchema(schema, 'input')), { numRuns: count, seed: 1 })
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
