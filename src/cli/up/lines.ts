/** `up` without a terminal: one line for everything that changed. Pure. */
import type { DaemonStatus } from '../../contracts/control.ts'
import { count } from '../render.ts'
import { STAGE_WORDS, type Bell } from './bells.ts'
import { describeMail } from './mail.ts'
import type { PartView } from './part.ts'
import { onlyWatches, WATCHING, type Snapshot } from './view.ts'

export function changedParts(before: readonly PartView[], now: readonly PartView[]): string[] {
  const known = new Map(before.map((part) => [part.name, describePart(part)]))
  return now.map(describePart).filter((line, at) => known.get(now[at]?.name ?? '') !== line)
}

export function changes(before: Snapshot | null, now: Snapshot): string[] {
  const parts = (snapshot: Snapshot) => [snapshot.hub, ...snapshot.daemons.map(({ part }) => part)]
  const statuses = new Map(before?.daemons.map(({ part, status }) => [part.name, status]))
  const rung = new Map(before?.bells.map((bell) => [bell.doorbell_id, bell.stage]))
  const gone = (before?.daemons ?? []).filter(
    ({ part }) => !now.daemons.some((one) => one.part.name === part.name),
  )
  return [
    ...changedParts(before === null ? [] : parts(before), parts(now)),
    ...gone.map(({ part }) => `${part.name}: is no longer wanted here`),
    ...now.daemons.flatMap(({ part, status }) => {
      const line = status === null ? null : describeStatus(status)
      const known = statuses.get(part.name)
      return line === null || (known != null && describeStatus(known) === line) ? [] : [line]
    }),
    ...[...now.bells]
      .reverse()
      .filter((bell) => rung.get(bell.doorbell_id) !== bell.stage)
      .map(describeBell),
    ...[...(now.mail ?? [])]
      .reverse()
      .filter(({ signal_id }) => !before?.mail?.some((one) => one.signal_id === signal_id))
      .map(describeMail),
    ...(before === null && onlyWatches(now) ? [WATCHING] : []),
  ]
}

function describePart({ name, state, pid, ours, note }: PartView): string {
  const whose = state === 'running' && !ours ? ', was running already' : ''
  const process = pid === null ? '' : ` (process ${pid}${whose})`
  return `${name}: ${state}${process}${note === null ? '' : `, ${note.replace(/\s+/g, ' ')}`}`
}

/** Only what a person would want a line for: not every heartbeat, not every look at the queue. */
function describeStatus({ identity, connected, pending_count, delivery, surface }: DaemonStatus): string {
  const where = surface.attached ? `${surface.kind} ${surface.turn}` : `${surface.kind} absent`
  const link = connected ? 'connected' : 'not connected'
  return `${identity}: ${link}, ${where}, ${count(pending_count, 'signal')} pending, delivery ${delivery}`
}

function describeBell({ identity, stage, signal_id }: Bell): string {
  return `${identity}: doorbell ${STAGE_WORDS[stage]} for ${signal_id}`
}
