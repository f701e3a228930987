/** Redacts events: all texts in `data`, at any depth. */
import type { CapturedText, CutText, ReportedEvent } from '../../contracts/activity/event.ts'
import type { Json } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { REDACTED, type Redactor } from './redactor.ts'

/** Fields of `data` that are ids, names or numbers by their meaning. A redacted id would no longer be found. */
const KEPT: ReadonlySet<string> = new Set([
  'action_id',
  'subtask_id',
  'parent_id',
  'waiting_id',
  'request_id',
  'usage_id',
  'continues',
  'project',
  'tool',
  'agent_type',
  'model',
  'pid_started',
  'for',
  'until',
  'status',
  'trigger',
  'prompt_type',
])
/** Names of members whose value is a secret, whatever it looks like. */
const SECRET_NAME =
  /(?:password|passwd|passphrase|secret|secret[_-]?(?:access[_-]?)?key|api[_-]?key|access[_-]?key|private[_-]?key|token|authorization)$/i

/** Returns a copy of the event without secrets, and with its texts cut to the limit. The strings are redacted together. */
export async function redactEvent<Event extends ReportedEvent>(
  event: Event,
  redactor: Redactor,
): Promise<Event> {
  const fields = await Promise.all(
    Object.entries(event.data).map(async ([name, value]): Promise<[string, unknown]> => {
      if (KEPT.has(name) || value === undefined) return [name, value]
      if (name === 'input') return [name, await captureValue(value, redactor)]
      return [name, await redactText(value as CapturedText | Exclude<Json, object>, redactor)]
    }),
  )
  return { ...event, data: Object.fromEntries(fields) }
}

/** Redacts a tool's input. A value whose JSON is too long becomes the beginning of its JSON text. */
export async function captureValue(value: Json, redactor: Redactor): Promise<Json> {
  if (isCut(value)) return redactCut(value, redactor)
  const clean = await redactJson(value, redactor)
  const text = JSON.stringify(clean)
  // The number of UTF-16 units bounds the size from below, and a third of the limit from above.
  if (text.length * 3 <= LIMITS.activity_text_bytes_max) return clean
  const captured = await redactor.capture(text)
  return typeof captured === 'string' ? clean : captured
}

async function redactText<Value>(value: Value, redactor: Redactor): Promise<Value | CapturedText> {
  if (typeof value === 'string') return redactor.capture(value)
  return isCut(value) ? redactCut(value, redactor) : value
}

/** Size and digest remain those of the whole text. */
async function redactCut(cut: CutText, redactor: Redactor): Promise<CutText> {
  const captured = await redactor.capture(cut.text)
  return { ...cut, text: typeof captured === 'string' ? captured : captured.text }
}

/** Values that are nested deeper become their JSON text, because each level takes a part of the stack. */
const DEPTH_MAX = 64

async function redactJson(value: Json, redactor: Redactor, depth = 0): Promise<Json> {
  if (typeof value === 'string') return redactor.redact(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth === DEPTH_MAX) return redactor.redact(JSON.stringify(value))
  if (Array.isArray(value)) return Promise.all(value.map((inner) => redactJson(inner, redactor, depth + 1)))
  const members = await Promise.all(
    Object.entries(value).map(async ([name, inner]): Promise<[string, Json]> => {
      if (typeof inner === 'string' && inner !== '' && SECRET_NAME.test(name)) return [name, REDACTED]
      const [clean, content] = await Promise.all([
        redactor.redact(name),
        redactJson(inner, redactor, depth + 1),
      ])
      return [clean, content]
    }),
  )
  return Object.fromEntries(members)
}

function isCut(value: unknown): value is CutText {
  if (typeof value !== 'object' || value === null) return false
  const { text, bytes, sha256 } = value as Partial<CutText>
  return typeof text === 'string' && typeof bytes === 'number' && typeof sha256 === 'string'
}
