/** zod schemas as JSON Schema 2020-12, as the projections show them. */
import * as z from 'zod'

export type JsonSchema = Record<string, unknown>

/** `io` selects the side of defaults and transforms. Throws for a schema that JSON Schema cannot express. */
export function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...json_schema } = z.toJSONSchema(schema, { io, reused: 'inline', override: tidy })
  return json_schema
}

/**
 * Converts nested schemas, each once: `refer` returns the `$ref` for a name where one schema contains another. JSON Schema
 * draft 7, which AsyncAPI uses.
 */
export function namedSchemas(
  named: Record<string, z.ZodType>,
  io: 'input' | 'output',
  refer: (name: string) => string,
): Record<string, JsonSchema> {
  const names = z.registry<{ id: string }>()
  for (const [id, schema] of Object.entries(named)) names.add(schema, { id })
  const { schemas } = z.toJSONSchema(names, { io, target: 'draft-07', uri: refer, override: tidy })
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema: _, $id: __, id: ___, ...rest }]) => [name, rest]),
  )
}

/** Bounds that zod adds for JavaScript and that callers do not need. */
function tidy({ jsonSchema }: { jsonSchema: JsonSchema }): void {
  if (jsonSchema['maximum'] === Number.MAX_SAFE_INTEGER) delete jsonSchema['maximum']
  if (jsonSchema['format'] === 'date-time') delete jsonSchema['pattern']
  const { allOf } = jsonSchema
  if (Array.isArray(allOf) && allOf.length === 1 && Object.keys(jsonSchema).length === 1) {
    delete jsonSchema['allOf']
    Object.assign(jsonSchema, allOf[0])
  }
  if (jsonSchema['minimum'] === Number.MIN_SAFE_INTEGER) delete jsonSchema['minimum']
}
