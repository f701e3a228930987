/** zod schemas as JSON Schema 2020-12, as the projections show them. */
import { z } from 'zod'

export type JsonSchema = Record<string, unknown>

/** `io` says which side of defaults and transforms is meant. Throws for a schema that JSON cannot say. */
export function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...said } = z.toJSONSchema(schema, { io, reused: 'inline', override: tidy })
  return said
}

/** What zod adds for JavaScript's sake and no caller needs to read. */
function tidy({ jsonSchema }: { jsonSchema: JsonSchema }): void {
  if (jsonSchema['maximum'] === Number.MAX_SAFE_INTEGER) delete jsonSchema['maximum']
  if (jsonSchema['format'] === 'date-time') delete jsonSchema['pattern']
  if (jsonSchema['minimum'] === Number.MIN_SAFE_INTEGER) delete jsonSchema['minimum']
}
