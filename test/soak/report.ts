/** The figures of a soak, as plain lines. */
import type { SoakResult } from './figures.ts'
import type { Fate } from './ledger.ts'
import type { Scale } from './scales.ts'
import type { Weight } from './gauges.ts'

export function report(result: SoakResult): string {
  const { signals, fate, mishaps, restarts, agents, calls, scales, disk, broken } = result
  const journal_per_signal = disk.journal / Math.max(1, signals.receipts)
  const lines = [
    `signals wished ${signals.wishes}, receipts ${signals.receipts}, the same receipt again ${signals.repeated_receipts}, refused ${signals.refused}, without a receipt ${signals.given_up}`,
    ...(fate === null ? ['lost: not known, as it ended before everything could arrive'] : fateLines(fate)),
    `handed over ${signals.received}, duplicates ${signals.duplicates}`,
    `leases released ${signals.released} (${signals.restart_released} by restarts that told, ${signals.inferred} by ones killed before they could), dead ${signals.died}, expired ${signals.expired}`,
    `calls ${calls.asked}, answers lost ${calls.lost}`,
    `killed: hub ${mishaps.hub}, daemons ${mishaps.daemon}, shims ${mishaps.shim}, agents in a turn ${agents.deaths}`,
    `stopped for seconds: hub ${mishaps['hub stands still']}, daemons ${mishaps['daemon stands still']}`,
    `restarts: hub ${restarts.hub}, daemons ${restarts.daemons}, shims attached ${agents.shims}`,
    `doorbells ${agents.bells + agents.taken} (${agents.taken} in answers), turns ${agents.turns}, drains ${agents.drains}`,
    ...scales.map(weightLine),
    `disk: journal ${mib(disk.journal)} MiB (${Math.round(journal_per_signal)} bytes a signal), rest of hub ${mib(disk.hub)} MiB, logs ${mib(disk.logs)} MiB, home ${mib(disk.whole)} MiB`,
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

function weightLine({ name, marks, rss_mib_per_minute, fds_per_minute, steady }: Scale): string {
  const { idle, start, middle, watched, end } = marks
  const all = (of: (weight: Weight) => string) => [idle, start, middle, watched, end].map(of).join(' ')
  const steadily = steady === null ? 0 : (steady.mib / steady.minutes).toFixed(2)
  const rss = all(({ rss_mib }) => rss_mib.toFixed(1))
  return `${name}: RSS ${rss} MiB, descriptors ${all(({ fds }) => String(fds))}, of them sockets ${all(({ sockets }) => String(sockets))} (idle, start, middle, watched from, end); watched: ${rss_mib_per_minute.toFixed(2)} MiB and ${fds_per_minute.toFixed(2)} descriptors a minute, steadily ${steadily} MiB`
}

function mib(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1)
}
