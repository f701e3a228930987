/** Facts of an agent's work as an adapter captures them: without numbers, and with texts of any length. */
import { createHash } from 'node:crypto'
import type { ActivityData, ActivityKind, CutText } from '../../src/contracts/activity/event.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'

/** A fact before it is an event of a report. */
export type Captured = {
  [Kind in ActivityKind]: { kind: Kind; data: ActivityData<Kind> }
}[ActivityKind]

/** Fields with texts of people, models and tools. */
const TEXTS: readonly string[] = ['prompt', 'input', 'output', 'error', 'description', 'result', 'message']

/** Returns the fact without what people, models and tools wrote. */
export function withoutTexts<Fact extends Captured>(fact: Fact): Fact {
  const data = Object.fromEntries(Object.entries(fact.data).filter(([field]) => !TEXTS.includes(field)))
  return { ...fact, data }
}

/** Cuts long texts. What remains is longer than the stored part, so that no cut hides a part of a secret from the hub. */
export function withCutTexts<Fact extends Captured>(fact: Fact): Fact {
  const data = Object.fromEntries(
    Object.entries(fact.data).map(([field, value]) => [field, TEXTS.includes(field) ? cut(value) : value]),
  )
  return { ...fact, data }
}

function cut(value: unknown): unknown {
  if (value === undefined || isCut(value)) return value
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length <= LIMITS.activity_sent_text_length_max ? value : cutText(text)
}

function cutText(text: string): CutText {
  return {
    text: text.slice(0, LIMITS.activity_sent_text_length_max).replace(/[\uD800-\uDBFF]$/, ''),
    bytes: Buffer.byteLength(text),
    sha256: createHash('sha256').update(text).digest('hex'),
  }
}

function isCut(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'sha256' in value && 'bytes' in value
}
