/** Fails unless a value meets all conditions. */
import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { defineStep, type StepType } from '../step-type.ts'
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import { Json } from '../../../contracts/ids.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import type { PatternLine } from './pattern-line.ts'

const CONDITIONS = {
  equals: Json.optional(),
  /** A regular expression to find in a text, or in the JSON of another value. */
  matches: z.string().max(LIMITS.pattern_length_max).optional(),
  at_most: z.number().optional(),
  at_least: z.number().optional(),
  /** Null and an empty text, list or object are empty. */
  is_empty: z.boolean().optional(),
}
type Conditions = { [K in keyof typeof CONDITIONS]?: z.output<(typeof CONDITIONS)[K]> }

export function expectStep(patterns: PatternLine): StepType {
  return defineStep({
    name: 'expect',
    summary: 'Fails unless a value is as it should be; several conditions hold together.',
    mutates: false,
    input: z
      .strictObject({ value: Json, ...CONDITIONS })
      .refine(
        (input) => Object.keys(CONDITIONS).some((name) => input[name as keyof Conditions] !== undefined),
        `one of ${Object.keys(CONDITIONS).join(', ')}`,
      ),
    async run({ value, ...conditions }) {
      const unmet = await unmetBy(value, conditions, patterns)
      if (unmet === null) return { result: { holds: true } }
      const detail = `Expected ${unmet}, found ${shown(value)}.`
      return { result: { holds: false }, failure: new TurnbellError('expectation_failed', { detail }) }
    },
  })
}

async function unmetBy(value: Json, wanted: Conditions, patterns: PatternLine): Promise<string | null> {
  const { equals, matches, at_most, at_least, is_empty } = wanted
  if (equals !== undefined && !isDeepStrictEqual(value, equals)) return shown(equals)
  if (at_most !== undefined && !(typeof value === 'number' && value <= at_most)) return `at most ${at_most}`
  if (at_least !== undefined && !(typeof value === 'number' && value >= at_least))
    return `at least ${at_least}`
  if (is_empty !== undefined && isEmpty(value) !== is_empty)
    return is_empty ? 'an empty value' : 'a value that is not empty'
  if (matches === undefined) return null
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return (await patterns.matches(matches, text)) ? null : `a match of ${matches}`
}

function isEmpty(value: Json): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0
  return value === null || value === ''
}

const SHOWN_LENGTH_MAX = 120

function shown(value: Json): string {
  const text = JSON.stringify(value)
  return text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text
}
