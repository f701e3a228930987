/** Derives optional fields from the fields of another schema. */
import * as z from 'zod'

type Bare<T> = T extends z.ZodOptional<infer I> | z.ZodDefault<infer I> ? Bare<I> : T

/** Makes all fields optional and removes defaults, which zod would otherwise fill in. */
export function optionalFields<S extends z.ZodRawShape>(shape: S) {
  const optional = Object.entries(shape).map(([name, field]) => [name, bare(field as z.ZodType).optional()])
  return Object.fromEntries(optional) as { [K in keyof S]: z.ZodOptional<Bare<S[K]>> }
}

function bare(field: z.ZodType): z.ZodType {
  return field instanceof z.ZodOptional || field instanceof z.ZodDefault
    ? bare(field.unwrap() as z.ZodType)
    : field
}
