/**
 * The live view of `up` as lines. Pure: a snapshot and the size of the terminal are parameters. No line is wider and no
 * frame is higher than the terminal, for any names of personas.
 */
import type { DaemonStatus } from '../../contracts/control.ts'
import type { Cli } from '../cli.ts'
import { ago, count, duration } from '../render.ts'
import { STAGE_WORDS, type RecentDoorbell } from './recent-doorbells.ts'
import { describeMail, type Mail } from './mail.ts'
import type { ProcessView } from './managed-process.ts'

export interface Snapshot {
  version: string
  home: string
  hub: ProcessView
  hub_url: string
  hub_uptime_s: number | null
  daemons: { view: ProcessView; status: DaemonStatus | null }[]
  wrapped: string[]
  /** Newest first. */
  doorbells: RecentDoorbell[]
  /** Signals to the operator since this view began, the newest first. */
  mail?: Mail[]
}

export const WATCHING = 'watching processes of another `turnbell up` or a service'

/** Returns true if no process was started here, so that none will be stopped here. */
export function onlyWatches({ hub, daemons }: Snapshot): boolean {
  return !hub.ours && daemons.every(({ view }) => !view.ours)
}

export interface Size {
  columns: number
  rows: number
}

type Paint = (text: string) => string
type Colors = Cli['colors']
interface Cell {
  text: string
  paint?: Paint
}
interface Column {
  title: string
  /** Columns with a higher rank are dropped first on a narrow terminal. */
  rank: number
  right?: boolean
}

const COLUMNS: readonly Column[] = [
  { title: 'PERSONA', rank: 0 },
  { title: 'STATE', rank: 1 },
  { title: 'QUEUE', rank: 2, right: true },
  { title: 'SURFACE', rank: 4 },
  { title: 'TURN', rank: 3 },
  { title: 'DELIVERY', rank: 6 },
  { title: 'DRAINED', rank: 7 },
  { title: 'BELLS', rank: 5, right: true },
]
const GAP = 2

export function frame(snapshot: Snapshot, { columns, rows }: Size, colors: Colors): string[] {
  const bare = (text: string, paint: Paint = (same) => same) => paint(clip(text, columns))
  const title = `turnbell ${snapshot.version}  ${snapshot.hub_url}  ${snapshot.home}`
  const head = [bare(title, colors.bold), bare(hubLine(snapshot), hubPaint(snapshot.hub, colors)), '']
  const leave = onlyWatches(snapshot)
    ? `Only ${WATCHING}; Ctrl-C stops none of them.`
    : 'Ctrl-C stops the processes that were started here.'
  const newest = snapshot.mail?.[0]
  const mail = newest === undefined ? [] : ['', bare(describeMail(newest), colors.cyan)]
  const foot = [...mail, '', bare(leave, colors.dim)]
  const room = Math.max(0, rows - head.length - foot.length)
  const table = personaTable(snapshot, columns, room, colors)
  const bellRoom = room - table.length - 2
  const bells =
    bellRoom < 1 || snapshot.doorbells.length === 0
      ? []
      : [
          '',
          bare('LAST DOORBELLS', colors.dim),
          ...snapshot.doorbells.slice(0, bellRoom).map((bell) => bare(bellLine(bell))),
        ]
  return [...head, ...table, ...bells, ...foot].slice(0, Math.max(1, rows))
}

function hubLine({ hub, hub_uptime_s }: Snapshot): string {
  const up = hub_uptime_s === null ? '' : `, up ${duration(hub_uptime_s)}`
  const pid = hub.pid === null ? '' : `, process ${hub.pid}`
  const whose = hub.state === 'running' && !hub.ours ? ', already running' : ''
  return `hub ${hub.state}${pid}${up}${whose}${restartsOf(hub)}${noteOf(hub)}`
}

const hubPaint = (hub: ProcessView, colors: Colors): Paint =>
  hub.state === 'running' ? colors.green : hub.state === 'starting' ? colors.yellow : colors.red

const restartsOf = (view: ProcessView) =>
  view.restarts === 0 ? '' : `, restarted ${count(view.restarts, 'time')}`
const noteOf = (view: ProcessView) => (view.note === null ? '' : `: ${view.note.replace(/\s+/g, ' ')}`)

function personaTable(snapshot: Snapshot, columns: number, room: number, colors: Colors): string[] {
  const all = [
    ...snapshot.daemons.map(({ view, status }) => personaRow(view, status, colors)),
    ...snapshot.wrapped.map((name) => [{ text: name }, { text: 'wrapped', paint: colors.dim }]),
  ]
  if (all.length === 0) {
    return [clip('No personas yet. In another terminal: turnbell persona add NAME --surface KIND', columns)]
  }
  const fits = all.length + 1 <= room ? all.length : Math.max(0, room - 2)
  const shown = all.slice(0, fits)
  const widths = COLUMNS.map(({ title }, at) =>
    Math.max(title.length, ...shown.map((row) => (isSpan(row) && at > 0 ? 0 : (row[at]?.text.length ?? 0)))),
  )
  const kept = keptColumns(widths, columns)
  const header = line(
    COLUMNS.map(({ title }) => ({ text: title, paint: colors.dim })),
    kept,
    widths,
    columns,
  )
  const lines = shown.map((row) => line(row, kept, widths, columns))
  const hidden = all.length - shown.length
  return [header, ...lines, ...(hidden > 0 ? [clip(`… and ${hidden} more`, columns)] : [])]
}

/** Returns true for a row of only a name and a remark, which may span the other columns. */
const isSpan = (row: readonly Cell[]) => row.length === 2

function personaRow(view: ProcessView, status: DaemonStatus | null, colors: Colors): Cell[] {
  if (view.state !== 'running' || status === null) {
    const paint = view.state === 'failed' ? colors.red : colors.yellow
    return [{ text: view.name }, { text: `${view.state}${restartsOf(view)}${noteOf(view)}`, paint }]
  }
  const { surface } = status
  return [
    { text: view.name, paint: colors.bold },
    { text: status.state, paint: status.connected ? colors.green : colors.yellow },
    { text: String(status.pending_count) },
    {
      text: surface.attached ? surface.kind : `${surface.kind} absent`,
      ...(surface.attached ? {} : { paint: colors.yellow }),
    },
    {
      text: surface.attached ? surface.turn : '',
      ...(surface.turn === 'busy' ? { paint: colors.cyan } : {}),
    },
    { text: status.delivery, ...(status.delivery === 'ok' ? {} : { paint: colors.yellow }) },
    { text: ago(status.last_drain_age_s) },
    { text: String(status.doorbells_rung) },
  ]
}

/** Drops the columns with the highest rank until the rest fits. The name is never dropped. */
function keptColumns(widths: readonly number[], columns: number): number[] {
  const kept = COLUMNS.map((_, at) => at)
  const width = () => kept.reduce((sum, at) => sum + (widths[at] ?? 0) + GAP, -GAP)
  while (kept.length > 2 && width() > columns) {
    const least = kept.reduce((worst, at) => (rankOf(at) > rankOf(worst) ? at : worst))
    kept.splice(kept.indexOf(least), 1)
  }
  return kept
}
const rankOf = (at: number) => COLUMNS[at]?.rank ?? 0

function line(
  cells: readonly Cell[],
  kept: readonly number[],
  widths: readonly number[],
  columns: number,
): string {
  const span = isSpan(cells) && COLUMNS.length !== 2
  let left = columns
  const parts: string[] = []
  for (const [index, at] of (span ? [0, 1] : kept).entries()) {
    const gap = index === 0 ? 0 : GAP
    if (left <= gap) break
    const cell = cells[at] ?? { text: '' }
    const width = span && at === 1 ? cell.text.length : (widths[at] ?? 0)
    const padded = COLUMNS[at]?.right === true ? cell.text.padStart(width) : cell.text.padEnd(width)
    const clipped = clip(padded, left - gap)
    parts.push(' '.repeat(gap) + (cell.paint ?? ((same: string) => same))(clipped))
    left -= gap + clipped.length
  }
  return parts.join('')
}

function bellLine({ at, identity, stage, signal_id }: RecentDoorbell): string {
  return `${at.slice(11, 19)}  ${identity}  ${STAGE_WORDS[stage]}  for ${signal_id}`
}

/** Truncates to `width` characters, and replaces control characters by blanks. */
export function clip(text: string, width: number): string {
  const safe = text.replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ')
  if (safe.length <= width) return safe
  return width <= 1 ? safe.slice(0, Math.max(0, width)) : `${safe.slice(0, width - 1)}…`
}
