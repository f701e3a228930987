/** Generates values of a JSON Schema for fast-check; unsupported keywords generate any JSON. */
import fc from 'fast-check'

type Schema = Record<string, unknown>

/** `root` resolves `#/$defs/…`; `depth` limits recursion. */
export function arbitraryOf(schema: Schema, root: Schema = schema, depth = 0): fc.Arbitrary<unknown> {
  const of = (inner: unknown) => arbitraryOf((inner ?? {}) as Schema, root, depth + 1)
  if (depth > 6) return fc.constant(null)
  if (typeof schema['$ref'] === 'string') return of(resolved(schema['$ref'], root))
  if ('const' in schema) return fc.constant(schema['const'])
  if (Array.isArray(schema['enum'])) return fc.constantFrom(...(schema['enum'] as unknown[]))
  const options = schema['anyOf'] ?? schema['oneOf']
  if (Array.isArray(options)) return fc.oneof(...options.map(of))
  switch (schema['type']) {
    case 'object':
      return objectOf(schema, of)
    case 'array':
      return fc.array(of(schema['items']), {
        minLength: bound(schema, 'minItems', 0),
        maxLength: Math.min(bound(schema, 'maxItems', 4), bound(schema, 'minItems', 0) + 3),
      })
    case 'string':
      return stringOf(schema)
    case 'integer':
      return integerOf(schema)
    case 'number':
      return fc.double({
        min: bound(schema, 'minimum', -1e6),
        max: bound(schema, 'maximum', 1e6),
        noNaN: true,
      })
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    default:
      return fc.jsonValue({ maxDepth: 2 })
  }
}

function objectOf(schema: Schema, of: (inner: unknown) => fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const properties = (schema['properties'] ?? {}) as Record<string, unknown>
  const fields = Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, of(inner)]))
  const required = ((schema['required'] ?? []) as string[]).filter((name) => name in fields)
  const own = fc.record(fields, { requiredKeys: required })
  const more = schema['additionalProperties']
  if (typeof more !== 'object' || more === null) return own
  return fc
    .tuple(own, fc.dictionary(keysOf(schema, of), of(more), { maxKeys: 3 }))
    .map(([a, b]) => ({ ...b, ...a }))
}

function keysOf(
  { propertyNames }: Schema,
  of: (inner: unknown) => fc.Arbitrary<unknown>,
): fc.Arbitrary<string> {
  return propertyNames === undefined ? fc.string({ maxLength: 8 }) : of(propertyNames).map(String)
}

/** Years of four digits, as ISO 8601 requires, and no invalid dates, which fast-check generates by default. */
const TIMES = { min: new Date('2000-01-01'), max: new Date('2100-01-01'), noInvalidDate: true }

function integerOf(schema: Schema) {
  const min = bound(schema, 'minimum', -100)
  return fc.integer({ min, max: bound(schema, 'maximum', Math.max(1_000_000, 2 * min)) })
}

function stringOf(schema: Schema): fc.Arbitrary<string> {
  const { pattern, format } = schema
  if (format === 'date-time') return fc.date(TIMES).map((at) => at.toISOString())
  if (format === 'uri') return fc.webUrl()
  if (typeof pattern === 'string') {
    try {
      return fc.stringMatching(new RegExp(pattern), { size: 'small' })
    } catch {
      // fast-check cannot generate values for this pattern; most generated values then do not match, which is
      // acceptable.
    }
  }
  const least = bound(schema, 'minLength', 0)
  return fc.string({
    minLength: least,
    maxLength: Math.min(bound(schema, 'maxLength', 40), least + 40),
    unit: 'grapheme',
  })
}

function bound(schema: Schema, name: string, otherwise: number): number {
  const value = schema[name]
  return typeof value === 'number' ? value : otherwise
}

function resolved(ref: string, root: Schema): unknown {
  return ref
    .replace(/^#\/?/, '')
    .split('/')
    .filter((step) => step !== '')
    .reduce<unknown>((at, step) => (at as Schema | undefined)?.[step], root)
}
