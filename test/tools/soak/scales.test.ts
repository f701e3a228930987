import { describe, expect, test } from 'vitest'
import type { Weight } from '../../soak/gauges.ts'
import { notFlat, Scales, steadyGrowth, type Scale } from '../../soak/scales.ts'
import type { Supervised } from '../../soak/supervised.ts'

const MINUTES = 6
const SIGNALS = 4_500

/** Memory measured every two seconds, with garbage of this size. */
function weighed(rssAt: (minute: number) => number, garbage_mib: number): Weight[] {
  return Array.from({ length: MINUTES * 30 }, (_, index) => ({
    at: index * 2_000,
    rss_mib: rssAt(index / 30) + ((index % 7) / 7) * garbage_mib,
    ...{ fds: 24, sockets: 6 },
  }))
}

function scale(name: string, weights: readonly Weight[]): Scale {
  const [watched, end] = [weights[0] as Weight, weights.at(-1) as Weight]
  const marks = { idle: watched, start: watched, middle: watched, watched, end }
  return { name, marks, latest: end, per_minute: null, steady: steadyGrowth(weights) }
}

const judged = (name: string, rssAt: (minute: number) => number) =>
  notFlat(scale(name, weighed(rssAt, name === 'hub' ? 12 : 3)), SIGNALS)?.message ?? null

describe('while a run of half an hour is watched', () => {
  test('a hub may fill its heap after a restart', () => {
    expect(judged('hub', (minute) => 123 + 54 * (1 - Math.exp(-minute / 2)))).toBeNull()
  })

  test('a hub may store a little of each signal', () => {
    expect(judged('hub', (minute) => 130 + 3 * minute)).toBeNull()
  })

  test('a hub may grow once, at any time', () => {
    for (const at of [1, 2, 3, 4, 5]) expect(judged('hub', (minute) => (minute < at ? 120 : 160))).toBeNull()
  })

  test('a hub that leaks 8 MiB per minute is detected and reported with its growth', () => {
    expect(judged('hub', (minute) => 125 + 8 * minute)).toMatch(/hub grew by (15|16)\.\d MiB in 2\.0 minutes/)
  })

  test('a daemon has flat memory', () => {
    expect(judged('p01', (minute) => 68 + 0.25 * minute)).toBeNull()
    expect(judged('p01', (minute) => (minute < 3 ? 60 : 70))).toBeNull()
    expect(judged('p01', (minute) => 60 + 3 * minute)).toMatch(/p01 grew by [56]\.\d MiB/)
  })

  test('a measurement of a few seconds gives no result', () => {
    const weights = weighed((minute) => 100 + 400 * minute, 0).slice(0, 3)
    expect(notFlat(scale('hub', weights), 0)).toBeNull()
    expect(steadyGrowth(weights.slice(0, 2))).toBeNull()
  })
})

test.runIf(process.platform === 'linux')('a missing measurement is not replaced', () => {
  const scales = new Scales([{ name: 'hub', pid: process.pid } as Supervised])
  expect(scales.read()).toEqual([])
  scales.weigh('idle')
  scales.weigh()
  const [read] = scales.read()
  expect(read).toMatchObject({ name: 'hub', per_minute: null, steady: null })
  expect(Object.keys(read?.marks ?? {})).toEqual(['idle'])
  scales.weigh('watched')
  expect(scales.read()[0]?.per_minute).toBeNull()
  scales.weigh('end')
  expect(scales.read()[0]?.per_minute).not.toBeNull()
})

test.runIf(process.platform === 'linux')(
  'a process that was down at the start of the period is measured after its restart',
  () => {
    const hub = { name: 'hub', pid: null as number | null }
    const scales = new Scales([hub as Supervised])
    scales.weigh('watched')
    expect(scales.read()).toEqual([])
    hub.pid = process.pid
    scales.weigh()
    scales.weigh('end')
    const [read] = scales.read()
    expect(Object.keys(read?.marks ?? {})).toEqual(['watched', 'end'])
    expect(read?.per_minute).not.toBeNull()
  },
)
