/** Formats the figures of a soak run as lines of text. */
import { FALSE_BELL, TWICE_IN_A_TURN } from './bell-rules.ts'
import type { SoakResult } from './figures.ts'
import type { Fate } from './ledger.ts'
import type { Weight } from './gauges.ts'
import type { Mark, Scale } from './scales.ts'

const MARKS: readonly (readonly [Mark, string])[] = [
  ['idle', 'idle'],
  ['start', 'start'],
  ['middle', 'middle'],
  ['watched', 'watched from'],
  ['end', 'end'],
]

/** Excludes figures that were not measured, such as after an early Ctrl-C. */
export function report(result: SoakResult): string {
  const { signals, fate, mishaps, restarts, agents, calls, scales, disk, broken } = result
  const per_signal =
    signals.receipts === 0 ? '' : ` (${Math.round(disk.journal / signals.receipts)} bytes a signal)`
  const lines = [
    `signals wished ${signals.wishes} (a broadcast is one), receipts ${signals.receipts}, the same receipt again ${signals.repeated_receipts}, refused ${signals.refused}, without a receipt ${signals.given_up}`,
    ...(fate === null
      ? ['lost: unknown, because the run ended before all signals could be delivered']
      : fateLines(fate)),
    `handed over ${signals.received}, duplicates ${signals.duplicates}`,
    `leases released ${signals.released} (${signals.restart_released} by reported restarts, ${signals.inferred} by hubs killed before reporting), dead ${signals.died}, expired ${signals.expired}`,
    `calls ${calls.asked}, answers lost ${calls.lost}${refusals(calls.refused)}`,
    `killed: hub ${mishaps.hub}, daemons ${mishaps.daemon}, shims ${mishaps.shim}, bridges ${mishaps.bridge}, agents in a turn ${agents.deaths}`,
    `stopped for seconds: hub ${mishaps['hub stands still']}, daemons ${mishaps['daemon stands still']}, bridges ${mishaps['bridge stands still']}`,
    ...faultLines(result),
    `restarts: hub ${restarts.hub}, daemons ${restarts.daemons}, shims attached ${agents.shims}`,
    `doorbells ${agents.bells + agents.taken} (${agents.taken} in answers), turns ${agents.turns}, drains ${agents.drains}`,
    ...scales.map(weightLine),
    `disk: journal ${mib(disk.journal)} MiB${per_signal}, rest of hub ${mib(disk.hub)} MiB, logs ${mib(disk.logs)} MiB, home ${mib(disk.whole)} MiB`,
    ...promiseLines(result),
    `broken promises ${broken.length}`,
    ...broken.map(({ message }) => `BROKEN  ${message}`),
  ]
  return `${lines.join('\n')}\n`
}

function fateLines({ delivered, explained, held, lost }: Fate): string[] {
  return [
    `delivered ${delivered}, explained ${explained} (expired, dead, or leased to a session that died unregistered: ${held})`,
    `lost ${lost}`,
  ]
}

function refusals(refused: SoakResult['calls']['refused']): string {
  const codes = Object.entries(refused).map(([code, count]) => `${code} ${count}`)
  return codes.length === 0 ? '' : `, refused: ${codes.join(', ')}`
}

function faultLines({ faults, strikes, refused_starts }: SoakResult): string[] {
  if (faults === null) return []
  const struck = Object.values(strikes).reduce((sum, count) => sum + count, 0)
  const happened = Object.entries(faults).map(([fault, count]) => `${fault} ${count}`)
  return [
    `faults: ${happened.join(', ')}`,
    `strikes of the hostile caller ${struck}, starts that failed on a disk ${refused_starts}`,
  ]
}

/** Lines for bad days. */
function promiseLines({ faults, fate, broken, hub_mib_max }: SoakResult): string[] {
  if (faults === null) return []
  const count = (...promises: readonly string[]) =>
    broken.filter(({ promise }) => promises.includes(promise)).length
  return [
    [
      `receipts lost ${fate?.lost ?? 'not known'}`,
      `bells twice in a turn ${count(...TWICE_IN_A_TURN)}`,
      `false bells ${count(FALSE_BELL)}`,
      `memory of the hub at most ${Math.round(hub_mib_max)} MiB`,
    ].join(', '),
  ]
}

function weightLine({ name, marks, latest, per_minute, steady }: Scale): string {
  const weighed: [string, Weight][] = []
  for (const [mark, called] of MARKS) {
    const weight = marks[mark]
    if (weight !== undefined) weighed.push([called, weight])
  }
  if (marks.end === undefined) weighed.push(['now', latest])
  const all = (of: (weight: Weight) => string) => weighed.map(([, weight]) => of(weight)).join(' ')
  const names = weighed.map(([called]) => called).join(', ')
  return [
    `${name}: RSS ${all(({ rss_mib }) => rss_mib.toFixed(1))} MiB`,
    `descriptors ${all(({ fds }) => String(fds))}`,
    `of them sockets ${all(({ sockets }) => String(sockets))} (${names}); ${growth(per_minute, steady)}`,
  ].join(', ')
}

function growth(per_minute: Scale['per_minute'], steady: Scale['steady']): string {
  if (per_minute === null) return 'measured for too short a time'
  const watched = `watched: ${per_minute.rss_mib.toFixed(2)} MiB and ${per_minute.fds.toFixed(2)} descriptors a minute`
  return steady === null ? watched : `${watched}, steadily ${(steady.mib / steady.minutes).toFixed(2)} MiB`
}

function mib(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1)
}
