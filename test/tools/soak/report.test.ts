import { describe, expect, test } from 'vitest'
import type { Weight } from '../../soak/gauges.ts'
import { report } from '../../soak/report.ts'
import type { Scale } from '../../soak/scales.ts'
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

  test('has all that was weighed in a whole day', () => {
    const marks = { idle, start, middle, watched, end }
    const growths = { per_minute: { rss_mib: 1.5, fds: 0.25 }, steady: { mib: 3, minutes: 2 } }
    expect(lineOf({ marks, ...growths })).toBe(
      'hub: RSS 80.0 84.0 88.0 92.0 96.0 MiB, descriptors 20 21 22 23 24, of them sockets 3 3 3 3 3' +
        ' (idle, start, middle, watched from, end); watched: 1.50 MiB and 0.25 descriptors a minute, steadily 1.50 MiB',
    )
  })

  test('has the weight of now, and of nothing that is still to come, for a day that was interrupted', () => {
    expect(lineOf({ marks: { idle, start } })).toBe(
      'hub: RSS 80.0 84.0 108.0 MiB, descriptors 20 21 27, of them sockets 3 3 3 (idle, start, now);' +
        ' not watched for long enough',
    )
  })

  test('leaves out a mark at which a process was down', () => {
    expect(lineOf({ marks: { idle, start, watched, end } })).toContain('(idle, start, watched from, end)')
  })

  test('says nothing of steady growth that was weighed too seldom', () => {
    const line = lineOf({ marks: { idle, start, middle, watched, end }, per_minute: { rss_mib: 1, fds: 0 } })
    expect(line).toMatch(/; watched: 1\.00 MiB and 0\.00 descriptors a minute$/)
  })

  test('has bytes of a signal only where there was one', () => {
    expect(report(result({ receipts: 2 }))).toContain('(2048 bytes a signal)')
    expect(report(result({ wishes: 2 }))).not.toContain('a signal)')
  })

  test('does not know what was lost before everything could arrive', () => {
    expect(report(result({ receipts: 1 }))).toContain('lost: not known')
    const fate = { delivered: 1, explained: 0, held: 0, lost: 0 }
    expect(report({ ...result({ receipts: 1 }), fate })).toContain('\nlost 0\n')
  })
})
