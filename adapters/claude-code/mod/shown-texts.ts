/** The texts of the view. They name the persona, because the person who reads them is another one. */
import type { ClientView, ViewUpdate } from './messages.ts'
import { CLAUDE_MODULE_LIMITS as LIMITS } from '../../../src/contracts/limits/claude-module.ts'

type Arrived = NonNullable<ViewUpdate['arrived']>

const AWAY = 'hub not reachable'

export interface TeamRow {
  name: string
  turn: string
  waiting: string
}

/** Returns the line under the prompt: `ada · 2 waiting · inbox 1`. The client shows the name of the plugin before it. */
export function statusLine({ persona, team, refused }: ClientView): string {
  if (team === null) return refused === true ? persona : `${persona} · ${AWAY}`
  const { waiting, in_progress, person } = team
  return [
    persona,
    ...(waiting.count > 0 ? [`${waiting.count} waiting`] : []),
    ...(in_progress.count > 0 ? [`${in_progress.count} not completed`] : []),
    ...(person.pending_count > 0 ? [`inbox ${person.pending_count}`] : []),
  ].join(' · ')
}

/** Returns the row above the prompt without its title: what waits, and who waits for whom. Null if nothing waits. */
export function waitingRow({ persona, team }: ClientView): string | null {
  if (team === null) return null
  const { waiting, in_progress, blocks, blocked_by } = team
  const parts = [
    ...(waiting.count > 0 ? [`${waitingSignals(waiting.count)} for ${persona}${from(waiting.from)}`] : []),
    ...(in_progress.count > 0
      ? [`${signals(in_progress.count)} not completed by ${persona}${from(in_progress.from)}`]
      : []),
    ...(blocks.length > 0
      ? [`${names(blocks)} ${blocks.length === 1 ? 'waits' : 'wait'} for ${persona}`]
      : []),
    ...(blocked_by.length > 0 ? [`${persona} waits for ${names(blocked_by)}`] : []),
  ]
  return parts.length === 0 ? null : parts.join(' · ')
}

/** Returns the note of new signals in the person's inbox. */
export function arrivalNote({ count, from: senders, more }: Arrived): string {
  const arrived =
    count === 1 && more === undefined
      ? 'New signal'
      : `${count}${more === true ? ' or more' : ''} new signals`
  return `${arrived} in your inbox${from(senders)}`
}

/** Returns the rows of the pane. A last row without a turn counts the members that are not listed. */
export function teamRows(view: ClientView | null): TeamRow[] {
  const team = view?.team ?? null
  if (team === null) return [{ name: missingTeam(view), turn: '', waiting: '' }]
  const rows = team.team.map(({ identity, turn, pending_count }) => ({
    name: identity,
    turn: turn === 'unknown' ? 'connected' : turn,
    waiting: pending_count > 0 ? `${pending_count} waiting` : '',
  }))
  const others = team.team_count - rows.length
  return others > 0 ? [...rows, { name: `and ${others} more`, turn: '', waiting: '' }] : rows
}

function missingTeam(view: ClientView | null): string {
  if (view === null) return 'not connected'
  return view.refused === true ? view.persona : AWAY
}

/** Whether the pane has other members to show. */
export function hasTeam({ team }: ClientView): boolean {
  return team !== null && team.team_count > 1
}

function waitingSignals(count: number): string {
  return `${signals(count)} ${count === 1 ? 'waits' : 'wait'}`
}

function signals(count: number): string {
  return count === 1 ? '1 signal' : `${count} signals`
}

function from(senders: readonly string[]): string {
  return senders.length === 0 ? '' : `, from ${names(senders)}`
}

function names(all: readonly string[]): string {
  const shown = all.slice(0, LIMITS.mod_names_shown_max)
  const others = all.length - shown.length
  return others > 0 ? `${shown.join(', ')} and ${others} more` : shown.join(', ')
}
