/** Output of `up` without a terminal: one line for each change. Pure. */
import type { DaemonStatus } from '../../contracts/control.ts'
import { count } from '../render.ts'
import { STAGE_WORDS, type RecentDoorbell } from './recent-doorbells.ts'
import { describeMail } from './mail.ts'
import type { ProcessView } from './managed-process.ts'
import { onlyWatches, WATCHING, type Snapshot } from './view.ts'

function changedProcesses(before: readonly ProcessView[], now: readonly ProcessView[]): string[] {
  const known = new Map(before.map((view) => [view.name, describeProcess(view)]))
  return now.map(describeProcess).filter((line, at) => known.get(now[at]?.name ?? '') !== line)
}

export function changes(before: Snapshot | null, now: Snapshot): string[] {
  const parts = (snapshot: Snapshot) => [snapshot.hub, ...snapshot.daemons.map(({ view }) => view)]
  const statuses = new Map(before?.daemons.map(({ view, status }) => [view.name, status]))
  const rung = new Map(before?.doorbells.map((bell) => [bell.doorbell_id, bell.stage]))
  const gone = (before?.daemons ?? []).filter(
    ({ view }) => !now.daemons.some((one) => one.view.name === view.name),
  )
  return [
    ...changedProcesses(before === null ? [] : parts(before), parts(now)),
    ...gone.map(({ view }) => `${view.name}: no longer configured or active`),
    ...now.daemons.flatMap(({ view, status }) => {
      const line = status === null ? null : describeStatus(status)
      const known = statuses.get(view.name)
      return line === null || (known != null && describeStatus(known) === line) ? [] : [line]
    }),
    ...[...now.doorbells]
      .reverse()
      .filter((bell) => rung.get(bell.doorbell_id) !== bell.stage)
      .map(describeDoorbell),
    ...[...(now.mail ?? [])]
      .reverse()
      .filter(({ signal_id }) => !before?.mail?.some((one) => one.signal_id === signal_id))
      .map(describeMail),
    ...(before === null && onlyWatches(now) ? [WATCHING] : []),
  ]
}

function describeProcess({ name, state, pid, ours, note }: ProcessView): string {
  const whose = state === 'running' && !ours ? ', already running' : ''
  const process = pid === null ? '' : ` (process ${pid}${whose})`
  return `${name}: ${state}${process}${note === null ? '' : `, ${note.replace(/\s+/g, ' ')}`}`
}

/** Includes only fields whose change is worth a line; heartbeats and ages are left out. */
function describeStatus({ identity, connected, pending_count, delivery, surface }: DaemonStatus): string {
  const where = surface.attached ? `${surface.kind} ${surface.turn}` : `${surface.kind} absent`
  const link = connected ? 'connected' : 'not connected'
  return `${identity}: ${link}, ${where}, ${count(pending_count, 'signal')} pending, delivery ${delivery}`
}

function describeDoorbell({ identity, stage, signal_id }: RecentDoorbell): string {
  return `${identity}: doorbell ${STAGE_WORDS[stage]} for ${signal_id}`
}
