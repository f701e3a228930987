/** What must hold of a plugin's manifest besides its form: that it fits itself, and what is there already. */
import * as z from 'zod'
import { describeParams } from '../contracts/describe.ts'
import { recordInput, storedRecord } from '../contracts/record-schemas.ts'
import type { RecordKind } from '../contracts/records.ts'
import type { Facade } from '../kernel/define.ts'
import type { Plugin } from '../kernel/plugin.ts'
import { PluginForm } from '../kernel/plugin-form.ts'
import { jsonSchema } from '../kernel/schema.ts'
import { createStepTypes, type StepType } from '../modules/routines/step-type.ts'

/** Throws what is wrong with its form: field, found and allowed. */
export function manifestFrom(told: unknown): Plugin {
  const parsed = PluginForm.safeParse(told)
  if (parsed.success) return parsed.data as unknown as Plugin
  throw new Error(`its manifest does not fit: ${describeParams(PluginForm, told, parsed.error, 'manifest')}`)
}

/**
 * A plugin's name is the facet of its facades, which stay closed until the operator opens it. Under a name
 * that is opened already, or for something else, they would be open unasked.
 */
export function requireOwnName({ name }: Plugin, builtin: readonly Facade[]): void {
  const facets = new Set(builtin.map(({ facet }) => facet))
  if (!facets.has(name)) return
  throw new Error(
    `name: no plugin may be called ${name}, which is a facet of turnbell's own, as are ${[...facets].join(', ')}`,
  )
}

/** A schema that JSON cannot say would break every list it stands in. */
export function requireActions(facades: readonly Facade[]): void {
  for (const facade of facades) {
    for (const [name, { input, output, examples }] of Object.entries(facade.actions)) {
      const subject = `${facade.name}.${name}`
      naming(`${subject}: input`, () => requireObject(input))
      naming(`${subject}: output`, () => jsonSchema(output, 'output'))
      requireExamples(subject, input, examples)
    }
  }
}

/** What a step is given under `with` is an object. */
export function requireSteps(before: readonly StepType[], theirs: readonly StepType[]): void {
  for (const { name, input } of theirs) naming(`the step ${name}: input`, () => requireObject(input))
  // Refuses names that are taken.
  createStepTypes(before, theirs)
}

/** `facades` are all that its records may be left to. */
export function requireKinds(kinds: readonly RecordKind[], facades: readonly Facade[]): void {
  for (const kind of kinds) {
    const subject = `the kind ${kind.name}`
    naming(`${subject}: fields`, () => {
      jsonSchema(recordInput(kind), 'input')
      jsonSchema(storedRecord(kind), 'output')
    })
    const { closing } = kind.status ?? {}
    naming(`${subject}: status.closing.fields`, () =>
      jsonSchema(z.strictObject({ ...closing?.fields }), 'input'),
    )
    requireExamples(subject, recordInput(kind), kind.examples)
    const { changed_by } = kind
    if (changed_by === undefined || facades.some(({ name }) => name === changed_by)) continue
    throw new Error(`${subject}: changed_by: there is no facade ${changed_by}`)
  }
}

function requireObject(input: z.ZodType): void {
  if (jsonSchema(input, 'input')['type'] !== 'object') throw new Error('it is no object')
}

/** Agents copy them. */
function requireExamples(subject: string, schema: z.ZodType, examples: readonly unknown[] = []): void {
  for (const [at, example] of examples.entries()) {
    const place = `${subject}: examples.${at}`
    const parsed = naming(place, () => schema.safeParse(example))
    if (!parsed.success) throw new Error(`${place}: ${describeParams(schema, example, parsed.error)}`)
  }
}

function naming<T>(place: string, check: () => T): T {
  try {
    return check()
  } catch (cause) {
    throw new Error(`${place}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}
