/** Validates a plugin's manifest: its schema, its own consistency, and conflicts with what is already loaded. */
import * as z from 'zod'
import { describeParams } from '../../contracts/validation/describe-issues.ts'
import { recordInput, storedRecord } from '../../contracts/memory/record-schemas.ts'
import type { RecordKind } from '../../contracts/memory/records.ts'
import type { Facade } from '../../kernel/define.ts'
import type { Plugin } from '../../kernel/plugins/plugin.ts'
import { PluginForm } from '../../kernel/plugins/plugin-schema.ts'
import { jsonSchema } from '../../kernel/schema.ts'
import { createStepTypes, type StepType } from '../../modules/routines/step-type.ts'

/** Throws an error that names the field, the value found and the allowed values. */
export function manifestFrom(value: unknown): Plugin {
  const parsed = PluginForm.safeParse(value)
  if (parsed.success) return parsed.data as unknown as Plugin
  throw new Error(`its manifest is not valid: ${describeParams(PluginForm, value, parsed.error, 'manifest')}`)
}

/**
 * A plugin's name is the facet of its facades, which are hidden until the operator exposes that facet. Under the name of a
 * built-in facet they would be exposed without the operator's decision.
 */
export function requireOwnName({ name }: Plugin, builtin: readonly Facade[]): void {
  const facets = new Set(builtin.map(({ facet }) => facet))
  if (!facets.has(name)) return
  throw new Error(
    `name: ${name} is a built-in facet, and a plugin needs a name of its own; built-in facets: ${[...facets].join(', ')}`,
  )
}

/** Because a schema without a JSON form would break every list of actions. */
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

/** The parameters of a step (`with`) are an object. */
export function requireSteps(before: readonly StepType[], theirs: readonly StepType[]): void {
  for (const { name, input } of theirs) naming(`the step ${name}: input`, () => requireObject(input))
  // Throws if a name is in use.
  createStepTypes(before, theirs)
}

/** `facades`: all facades that a kind may name in `changed_by`. */
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
  if (jsonSchema(input, 'input')['type'] !== 'object') throw new Error('it is not an object')
}

/** Because agents copy the examples. */
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
