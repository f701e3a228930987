/** zod schemas as JSON Schema 2020-12, as the projections show them. */
import * as z from 'zod'

export type JsonSchema = Record<string, unknown>

/** `io` says which side of defaults and transforms is meant. Throws for a schema that JSON cannot say. */
export function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...said } = z.toJSONSchema(schema, { io, reused: 'inline', override: tidy })
  return said
}

/**
 * Schemas that stand inside each other, each once: where one is met in another there is a `$ref`, as
 * `refer` makes it of the name. JSON Schema draft 7, which is what AsyncAPI builds on.
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
    Object.entries(schemas).map(([name, { $schema: _, $id: __, id: ___, ...said }]) => [name, said]),
  )
}

/** What zod adds for JavaScript's sake and no caller needs to read. */
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
