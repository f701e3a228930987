/** The figures of a soak, as plain lines. */
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

/** Nothing of what was not measured: after Ctrl-C there may be little yet. */
export function report(result: SoakResult): string {
  const { signals, fate, mishaps, restarts, agents, calls, scales, disk, broken } = result
  const per_signal =
    signals.receipts === 0 ? '' : ` (${Math.round(disk.journal / signals.receipts)} bytes a signal)`
  const lines = [
    `signals wished ${signals.wishes} (a broadcast is one), receipts ${signals.receipts}, the same receipt again ${signals.repeated_receipts}, refused ${signals.refused}, without a receipt ${signals.given_up}`,
    ...(fate === null ? ['lost: not known, as it ended before everything could arrive'] : fateLines(fate)),
    `handed over ${signals.received}, duplicates ${signals.duplicates}`,
    `leases released ${signals.released} (${signals.restart_released} by restarts that told, ${signals.inferred} by ones killed before they could), dead ${signals.died}, expired ${signals.expired}`,
    `calls ${calls.asked}, answers lost ${calls.lost}`,
    `killed: hub ${mishaps.hub}, daemons ${mishaps.daemon}, shims ${mishaps.shim}, agents in a turn ${agents.deaths}`,
    `stopped for seconds: hub ${mishaps['hub stands still']}, daemons ${mishaps['daemon stands still']}`,
    `restarts: hub ${restarts.hub}, daemons ${restarts.daemons}, shims attached ${agents.shims}`,
    `doorbells ${agents.bells + agents.taken} (${agents.taken} in answers), turns ${agents.turns}, drains ${agents.drains}`,
    ...scales.map(weightLine),
    `disk: journal ${mib(disk.journal)} MiB${per_signal}, rest of hub ${mib(disk.hub)} MiB, logs ${mib(disk.logs)} MiB, home ${mib(disk.whole)} MiB`,
    `broken promises ${broken.length}`,
    ...broken.map(({ message }) => `BROKEN  ${message}`),
  ]
  return `${lines.join('\n')}\n`
}

function fateLines({ delivered, explained, held, lost }: Fate): string[] {
  return [
    `delivered ${delivered}, explained ${explained} (expired, dead, or with a session that died unheard of: ${held} in all)`,
    `lost ${lost}`,
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
  if (per_minute === null) return 'not watched for long enough'
  const watched = `watched: ${per_minute.rss_mib.toFixed(2)} MiB and ${per_minute.fds.toFixed(2)} descriptors a minute`
  return steady === null ? watched : `${watched}, steadily ${(steady.mib / steady.minutes).toFixed(2)} MiB`
}

function mib(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1)
}
