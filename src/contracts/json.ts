import type { z } from 'zod'

/** JSON of a person's own; some editors put a mark in front of the text, which nobody sees. Throws as `JSON.parse` does. */
export function handwrittenJson(text: string): unknown {
  return JSON.parse(text.replace(/^\uFEFF/, ''))
}

/** What a JSON text says; null where it is none, or missing. For text of others, which a schema looks at next. */
export function jsonIn(text: string | null | undefined): unknown {
  try {
    return JSON.parse(text ?? 'null')
  } catch {
    return null
  }
}

/** The same in the form that is expected; null where it has another. */
export function jsonAs<T>(form: z.ZodType<T>, text: string | null | undefined): T | null {
  return form.safeParse(jsonIn(text)).data ?? null
}
