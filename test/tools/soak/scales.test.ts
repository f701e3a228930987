import { describe, expect, test } from 'vitest'
import type { Weight } from '../../soak/gauges.ts'
import { notFlat, Scales, steadyGrowth, type Scale } from '../../soak/scales.ts'
import type { Supervised } from '../../soak/supervised.ts'

const MINUTES = 6
const SIGNALS = 4_500

/** Weighed every two seconds; garbage comes and goes by so much. */
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
  test('a hub may fill what it has started anew with', () => {
    expect(judged('hub', (minute) => 123 + 54 * (1 - Math.exp(-minute / 2)))).toBeNull()
  })

  test('a hub may keep a little of each signal', () => {
    expect(judged('hub', (minute) => 130 + 3 * minute)).toBeNull()
  })

  test('a hub may grow once, at any time', () => {
    for (const at of [1, 2, 3, 4, 5]) expect(judged('hub', (minute) => (minute < at ? 120 : 160))).toBeNull()
  })

  test('a hub that leaks 8 MiB a minute is found, and told with what it grew by', () => {
    expect(judged('hub', (minute) => 125 + 8 * minute)).toMatch(/hub grew by (15|16)\.\d MiB in 2\.0 minutes/)
  })

  test('a daemon is flat', () => {
    expect(judged('p01', (minute) => 68 + 0.25 * minute)).toBeNull()
    expect(judged('p01', (minute) => (minute < 3 ? 60 : 70))).toBeNull()
    expect(judged('p01', (minute) => 60 + 3 * minute)).toMatch(/p01 grew by [56]\.\d MiB/)
  })

  test('nothing is said of some seconds', () => {
    const weights = weighed((minute) => 100 + 400 * minute, 0).slice(0, 3)
    expect(notFlat(scale('hub', weights), 0)).toBeNull()
    expect(steadyGrowth(weights.slice(0, 2))).toBeNull()
  })
})

test.runIf(process.platform === 'linux')('nothing stands in for what was not weighed', () => {
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

test.runIf(process.platform === 'linux')('what was down when the watch began is watched from then on', () => {
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
})
