import { describe, expect, test } from 'vitest'
import { FAULTS, type Fault } from '../../soak/faults/faults.ts'
import type { Weight } from '../../soak/gauges.ts'
import { report } from '../../soak/report.ts'
import type { Scale } from '../../soak/scales.ts'
import { Violation } from '../../support/violation.ts'
import { result } from './result.ts'

const weight = (rss_mib: number): Weight => ({ at: 0, rss_mib, fds: rss_mib / 4, sockets: 3 })

function lineOf(scale: Partial<Scale>): string | undefined {
  const hub = { name: 'hub', marks: {}, latest: weight(108), per_minute: null, steady: null, ...scale }
  const lines = report({ ...result({ receipts: 1 }), scales: [hub] }).split('\n')
  return lines.find((line) => line.startsWith('hub: '))
}

describe('the report of a soak', () => {
  const [idle, start, middle, watched, end] = [80, 84, 88, 92, 96].map(weight) as [
    Weight,
    Weight,
    Weight,
    Weight,
    Weight,
  ]

  test('the report contains all measurements of a whole day', () => {
    const marks = { idle, start, middle, watched, end }
    const growths = { per_minute: { rss_mib: 1.5, fds: 0.25 }, steady: { mib: 3, minutes: 2 } }
    expect(lineOf({ marks, ...growths })).toBe(
      'hub: RSS 80.0 84.0 88.0 92.0 96.0 MiB, descriptors 20 21 22 23 24, of them sockets 3 3 3 3 3' +
        ' (idle, start, middle, watched from, end); watched: 1.50 MiB and 0.25 descriptors a minute, steadily 1.50 MiB',
    )
  })

  test('the report of an interrupted day contains current measurements and none for later marks', () => {
    expect(lineOf({ marks: { idle, start } })).toBe(
      'hub: RSS 80.0 84.0 108.0 MiB, descriptors 20 21 27, of them sockets 3 3 3 (idle, start, now);' +
        ' measured for too short a time',
    )
  })

  test('the report omits a mark at which a process was down', () => {
    expect(lineOf({ marks: { idle, start, watched, end } })).toContain('(idle, start, watched from, end)')
  })

  test('the report contains no steady growth with too few measurements', () => {
    const line = lineOf({ marks: { idle, start, middle, watched, end }, per_minute: { rss_mib: 1, fds: 0 } })
    expect(line).toMatch(/; watched: 1\.00 MiB and 0\.00 descriptors a minute$/)
  })

  test('the report contains bytes per signal only if there was a signal', () => {
    expect(report(result({ receipts: 2 }))).toContain('(2048 bytes a signal)')
    expect(report(result({ wishes: 2 }))).not.toContain('a signal)')
  })

  test('the report does not count lost signals before all could be delivered', () => {
    expect(report(result({ receipts: 1 }))).toContain('lost: unknown')
    const fate = { delivered: 1, explained: 0, held: 0, lost: 0 }
    expect(report({ ...result({ receipts: 1 }), fate })).toContain('\nlost 0\n')
  })

  test('the report of a bad day contains the faults and the promises that must hold', () => {
    const faults = Object.fromEntries(FAULTS.map((fault, at) => [fault, at])) as Record<Fault, number>
    const broken = [
      new Violation('one bell a turn', 'p01'),
      new Violation('no bell with nothing pending', 'p02'),
    ]
    const told = { ...result({ receipts: 1 }), faults, broken, hub_mib_max: 123.4, refused_starts: 2 }
    const lines = report({ ...told, strikes: { inbox: 3, searches: 4 } }).split('\n')
    expect(lines.find((line) => line.startsWith('faults: '))).toMatch(
      /full disk, no bytes 0, .*hostile caller 14$/,
    )
    expect(lines).toContain('strikes of the hostile caller 7, starts that failed on a disk 2')
    expect(lines).toContain(
      'receipts lost not known, bells twice in a turn 1, false bells 1, memory of the hub at most 123 MiB',
    )
    expect(report(result({ receipts: 1 }))).not.toContain('faults: ')
  })
})
