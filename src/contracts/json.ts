import type { z } from 'zod'

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
