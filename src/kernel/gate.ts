/**
 * Sanitizes text by others before a model reads it. All answers of the kernel and all frames and events for an agent pass
 * through it, so actions need not sanitize. People, daemons and observers get the stored text; for a model the markup of
 * its client is neutralized (`contracts/clients/client-markup.ts`).
 */
import type { DispatchOutcome } from './define.ts'
import { MARK, withoutClientMarkup } from '../contracts/clients/client-markup.ts'
import type { Caller } from '../contracts/token.ts'

/** Neutralizes client markup in keys and values. Returns the value itself if there is none. */
export function harmless<T>(value: T): T {
  if (typeof value === 'string') return withoutClientMarkup(value) as T
  if (typeof value !== 'object' || value === null) return value
  return (Array.isArray(value) ? harmlessList(value) : harmlessObject(value)) as T
}

/** Sanitizes a value if the caller is an agent. */
export function readableBy<T>({ kind }: Pick<Caller, 'kind'>, value: T): T {
  return kind === 'agent' ? harmless(value) : value
}

export function harmlessOutcome(outcome: DispatchOutcome): DispatchOutcome {
  if (!outcome.ok) {
    const problem = harmless(outcome.problem)
    return problem === outcome.problem ? outcome : { ok: false, problem }
  }
  const result = harmless(outcome.result)
  const note = harmless(outcome.note)
  if (result === outcome.result && note === outcome.note) return outcome
  return note === undefined ? { ...outcome, result } : { ...outcome, result, note }
}

function harmlessList(list: readonly unknown[]): readonly unknown[] {
  let changed: unknown[] | null = null
  for (let at = 0; at < list.length; at += 1) {
    const shown = harmless(list[at])
    if (shown === list[at]) continue
    changed ??= [...list]
    changed[at] = shown
  }
  return changed ?? list
}

function harmlessObject(value: object): object {
  const given = value as Record<string, unknown>
  const keys = Object.keys(given)
  let changed: [string, unknown][] | null = null
  for (let at = 0; at < keys.length; at += 1) {
    const key = keys[at] ?? ''
    const inner = given[key]
    const [shown_key, shown] = [withoutClientMarkup(key), harmless(inner)]
    if (shown_key !== key || shown !== inner) changed ??= keys.slice(0, at).map((one) => [one, given[one]])
    changed?.push([shown_key, shown])
  }
  return changed === null ? value : Object.fromEntries(withOwnKeys(keys, changed))
}

/** Marks a changed key again if it would equal another key, so that no value is lost. */
function withOwnKeys(keys: readonly string[], shown: readonly [string, unknown][]): [string, unknown][] {
  const taken = new Set(keys)
  return shown.map(([key, inner], at) => {
    if (key === keys[at]) return [key, inner]
    let own = key
    while (taken.has(own)) own = `${MARK}${own}`
    taken.add(own)
    return [own, inner]
  })
}
