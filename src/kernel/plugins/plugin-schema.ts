/**
 * Schema of a plugin's manifest, for plugins written without types. All fields are validated at the start of the hub, so
 * that errors do not appear in later calls.
 */
import * as z from 'zod'
import type { Action, Facade } from '../define.ts'
import type { Plugin } from './plugin.ts'
import { ERRORS } from '../../contracts/errors/error-catalogue.ts'
import { FacetName, Json, RegistrationKind } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { toSnakeCase } from '../../contracts/text/names.ts'
import { KindName, RecordStatus, type RecordKind } from '../../contracts/memory/records.ts'
import { StepTypeName } from '../../contracts/runs/routine.ts'
import type { StepType } from '../../modules/modules.ts'

const NAME = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/
const Name = z.string().max(LIMITS.plugin_name_length_max).regex(NAME, 'a name is lower_case words')
const Text = z.string().min(1).max(LIMITS.plugin_text_length_max)
const True = z.literal(true).optional()
const Schema = z.custom<z.ZodType>(isSchema, 'a zod schema')
const ObjectSchema = z.custom<z.ZodObject>((value) => isSchema(value) && 'shape' in value, 'a zod object')
const Callable = z.custom<() => unknown>((value) => typeof value === 'function', 'a function')
const ErrorName = z.enum(Object.keys(ERRORS) as [keyof typeof ERRORS, ...(keyof typeof ERRORS)[]])
const Example = z.record(z.string(), Json)

/** Callers may use any spelling with the same words. */
const OldName = z
  .string()
  .max(LIMITS.plugin_name_length_max)
  .refine((name) => NAME.test(toSnakeCase(name)), 'an old name is words, as in old_name')

const PluginActionForm = z.strictObject({
  summary: Text,
  mutates: z.boolean(),
  idempotent: z.boolean().optional(),
  destructive: z.boolean().optional(),
  harmless: Callable.optional(),
  hands_over: True,
  aliases: z.array(z.union([OldName, z.strictObject({ name: OldName, params: Callable })])).optional(),
  input: Schema,
  output: Schema,
  errors: z.array(ErrorName),
  allow: z.array(RegistrationKind),
  examples: z.array(Example).optional(),
  handle: Callable,
  // Only for built-in actions; ignored for plugins.
  own_tool: z
    .strictObject({ description: Text, meta: z.record(z.string(), z.unknown()).optional() })
    .optional(),
  delegates: True,
} satisfies Record<keyof Action, z.ZodType>)

const PluginKindForm = z.strictObject({
  name: KindName,
  summary: Text,
  keeper: z.enum(['project', 'hub']),
  fields: ObjectSchema,
  status: z
    .strictObject({
      initial: RecordStatus,
      moves: z.record(RecordStatus, z.array(RecordStatus)),
      closing: z.strictObject({ to: RecordStatus, fields: z.record(Name, Schema).optional() }).optional(),
    })
    .optional(),
  changed_by: Name.optional(),
  unique: z.array(z.string().min(1)).min(1).optional(),
  examples: z.array(Example).optional(),
} satisfies Record<Exclude<keyof RecordKind, 'toRecord'>, z.ZodType>)

const PluginStepForm = z.strictObject({
  name: StepTypeName,
  summary: Text,
  mutates: z.union([z.boolean(), Callable]),
  leash: z.enum(['exec', 'network']).optional(),
  input: Schema,
  check: Callable.optional(),
  run: Callable,
} satisfies Record<keyof StepType, z.ZodType>)

const PluginFacadeForm = z.strictObject({
  name: Name,
  summary: Text,
  compact: Text,
  agent_hint: Text.optional(),
  facet: FacetName.optional(),
  pro: True,
  actions: z.record(Name, PluginActionForm),
  // As above.
  overview: Text.optional(),
  listed: True,
  micro: z.array(Name).optional(),
  old_path: z.string().startsWith('/', 'an old path begins with /').optional(),
  everywhere: True,
  for_watchers: True,
  kinds: z.custom((value) => value === undefined, 'kinds belong to the plugin, not to a facade').optional(),
} satisfies Record<keyof Facade, z.ZodType>)

/** Strict, because an unknown field may be misspelled. */
export const PluginForm = z.strictObject({
  // Default facet of its facades.
  name: Name.pipe(FacetName),
  facet: FacetName.optional(),
  facades: z.array(PluginFacadeForm).default([]),
  kinds: z.array(PluginKindForm).default([]),
  steps: z.array(PluginStepForm).default([]),
} satisfies Record<keyof Plugin, z.ZodType>)

function isSchema(value: unknown): value is object {
  return typeof value === 'object' && value !== null && '_zod' in value && 'safeParse' in value
}
