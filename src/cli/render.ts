/** Text for people, made from data. Pure: widths and times are parameters. */
import type { DaemonStatus } from '../contracts/control.ts'
import type { Json } from '../contracts/ids.ts'
import type { DrainedSignal } from '../contracts/signal.ts'

/** Formats rows in columns as wide as their widest cell, with two spaces between them. The last one is not padded. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, at) => Math.max(title.length, ...rows.map((row) => (row[at] ?? '').length)))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, at) => (at === cells.length - 1 ? cell : cell.padEnd(widths[at] ?? 0)))
      .join('  ')
      .trimEnd()
  return [head, ...rows].map(line).join('\n')
}

/** Formats `name  value` lines with aligned values. */
export function facts(lines: readonly (readonly [string, string])[], indent = 2): string {
  const width = Math.max(...lines.map(([name]) => name.length))
  return lines.map(([name, value]) => `${' '.repeat(indent)}${name.padEnd(width)}  ${value}`).join('\n')
}

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
] as const

/** Formats `4 s`, `3 min`, `2 h` or `5 d`, rounded down to one unit. */
export function duration(seconds: number): string {
  for (const [unit, size] of UNITS) if (seconds >= size) return `${Math.floor(seconds / size)} ${unit}`
  return `${Math.max(0, Math.floor(seconds))} s`
}

export const ago = (seconds: number | null) => (seconds === null ? 'never' : `${duration(seconds)} ago`)

export const count = (number: number, one: string, many = `${one}s`) =>
  `${number} ${number === 1 ? one : many}`

/** Formats `ok`, or the reason with its age: `not drained (3 doorbells, last seen 12:03), 4 min`. */
export function deliveryWords(status: DaemonStatus, now_ms: number): string {
  const { delivery_reason: reason } = status
  if (reason === null) return 'ok'
  const words =
    reason === 'not_drained' ? `not drained (${undrained(status, now_ms)})` : reason.replaceAll('_', ' ')
  return `${words}, ${duration(status.delivery_reason_age_s)}`
}

function undrained({ doorbells_undrained, last_seen_age_s }: DaemonStatus, now_ms: number): string {
  const seen =
    last_seen_age_s === null ? 'never seen' : `last seen ${clockTime(now_ms - last_seen_age_s * 1000)}`
  return `${count(doorbells_undrained, 'doorbell')}, ${seen}`
}

/** Formats `12:03` in the time zone of this machine. */
function clockTime(at_ms: number): string {
  const at = new Date(at_ms)
  return [at.getHours(), at.getMinutes()].map((part) => String(part).padStart(2, '0')).join(':')
}

function lastMessage({ last_received }: DaemonStatus): string {
  if (last_received === null) return 'none'
  return `${last_received.intent} from ${last_received.from}, ${ago(last_received.age_s)}`
}

/** `more`: further lines about the surface. */
export function describeStatus(
  status: DaemonStatus,
  project: string | null,
  now_ms: number,
  more: readonly (readonly [string, string])[] = [],
): string {
  const { surface } = status
  const interrupted =
    surface.interrupted_age_s === null ? '' : `, interrupted by a person ${ago(surface.interrupted_age_s)}`
  const last = surface.last_proof === null ? '' : `, the last one ${surface.last_proof}`
  const via = surface.via === null ? '' : `, by ${surface.via}`
  const session = surface.session_id === null ? '' : `, session ${surface.session_id}`
  return [
    `${status.identity}  ${status.state}  delivery ${deliveryWords(status, now_ms)}`,
    facts([
      ['tenant', status.tenant_id],
      ['project', project ?? 'none'],
      [
        'process',
        `${status.pid}, up ${duration(status.uptime_s)}, ${count(status.restarts, 'restart')} of its shim`,
      ],
      [
        'hub',
        `${status.connected ? 'connected' : 'not connected'}, last heartbeat ${ago(status.last_heartbeat_age_s)}`,
      ],
      [
        'queue',
        `${status.pending_count} pending, ${status.in_progress_count} in progress, last drain ${ago(status.last_drain_age_s)}`,
      ],
      ['last message', lastMessage(status)],
      [
        'surface',
        `${surface.kind} ${surface.attached ? 'attached' : 'not attached'}${session}, turn ${surface.turn}${interrupted}${via}`,
      ],
      ...more,
      ['doorbells', `${status.doorbells_rung} rung${last}`],
      [
        'last error',
        status.last_error_class === null
          ? 'none'
          : `${status.last_error_class}, ${ago(status.last_error_age_s)}`,
      ],
    ]),
  ].join('\n')
}

export const STATUS_HEAD = [
  'PERSONA',
  'STATE',
  'DELIVERY',
  'PENDING',
  'IN PROGRESS',
  'SURFACE',
  'TURN',
  'DRAINED',
  'BELLS',
  'LAST MESSAGE',
  'PROJECT',
]

export function statusRow(status: DaemonStatus, project: string | null, now_ms: number): string[] {
  return [
    status.identity,
    status.state,
    deliveryWords(status, now_ms),
    String(status.pending_count),
    String(status.in_progress_count),
    surfaceWords(status.surface),
    turnWords(status.surface),
    ago(status.last_drain_age_s),
    String(status.doorbells_rung),
    lastMessage(status),
    project ?? '',
  ]
}

/** Formats the turn, and whether the client asks its person something. */
function turnWords({ turn, presence }: DaemonStatus['surface']): string {
  return presence === null || presence.waiting.length === 0 ? turn : `${turn} (waits for you)`
}

/** Formats the kind, and what makes it slower or absent. */
function surfaceWords({ kind, attached, via }: DaemonStatus['surface']): string {
  if (!attached) return `${kind} (absent)`
  return via?.startsWith('hooks') === true ? `${kind} (hooks)` : kind
}

/** Formats a drained signal: one line of fields, then the payload, indented. */
export function describeSignal(signal: DrainedSignal, now_ms: number): string {
  const age_s = (now_ms - Date.parse(signal.created_at)) / 1000
  const about = [
    `${signal.signal_id}  ${signal.intent} from ${signal.from} (${signal.origin}), ${ago(age_s)}`,
    `priority ${signal.priority}`,
    ...(signal.topic === undefined ? [] : [`topic ${printableLine(signal.topic)}`]),
    ...(signal.reply_to === undefined ? [] : [`reply to ${signal.reply_to}`]),
    ...(signal.in_reply_to === undefined ? [] : [`in reply to ${signal.in_reply_to}`]),
    ...(signal.deliveries > 1 ? [`delivery ${signal.deliveries}`] : []),
  ].join(', ')
  return signal.payload === null ? about : `${about}\n${indent(payloadText(signal.payload))}`
}

export function payloadText(payload: Json): string {
  return typeof payload === 'string' ? printable(payload) : printableJson(payload)
}

/** Replaces control characters, so that a sender cannot move the reader's cursor or rename its window. */
export function printable(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '\ufffd')
}

/** Like `printable`, and also replaces line breaks and tabs by spaces. */
export const printableLine = (text: string) => printable(text.replace(/\r\n|[\t\n\r]/g, ' '))

/** Formats JSON, with escapes for the control characters that `JSON.stringify` leaves as they are. */
export function printableJson(value: unknown): string {
  const raw = JSON.stringify(value, null, 2)
  return raw.replace(/[\u007f-\u009f]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

const indent = (text: string) =>
  text
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n')

/** Adds a full stop unless the text has one. */
export const sentence = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`)

/** Formats the examples at the end of a command's help. */
export function examples(lines: readonly (readonly [string, string])[]): string {
  const width = Math.max(...lines.map(([command]) => command.length))
  return `\nExamples:\n${lines.map(([command, what]) => `  $ ${command.padEnd(width)}   ${what}`).join('\n')}\n`
}
