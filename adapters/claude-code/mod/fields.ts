/** Fields of the events. */

import { CLAUDE_MODULE_LIMITS as LIMITS } from '../../../src/contracts/limits/claude-module.ts'

/** Cuts a text to the length that the worker accepts. */
export function cut(text: string): string
export function cut(text: string | undefined): string | undefined
export function cut(text: string | undefined): string | undefined {
  return text?.slice(0, LIMITS.mod_text_length_max)
}

type Given<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> }

/** Leaves out the fields that are undefined. */
export function given<T extends object>(fields: T): Given<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<T>
}
