import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { openKept, type KeptOf } from '../../sim/kept.ts'
import type { SimulationResult } from '../../sim/simulate.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const result = (seed: number): SimulationResult => ({
  seed,
  steps: 40,
  broken: null,
  counts: { turns: seed },
})
const RUN = { steps: 40 }

let bundle: string
let file: string
beforeEach(() => {
  const place = temporaryDirectory()
  bundle = path.join(place, 'worker.js')
  file = path.join(place, 'night.jsonl')
  fs.writeFileSync(bundle, 'simulate()\n//# sourceMappingURL=one')
})

const broke = (seed: number): SimulationResult => ({
  ...result(seed),
  broken: { promise: 'x', detail: 'x was lost', step: 7 },
})
const opened = (run: KeptOf = RUN) => openKept(file, bundle, run)
const seeds = () => [...opened().passed.seeds]

describe('a run that is noted', () => {
  test('goes on where it was', () => {
    const kept = opened()
    expect(kept.passed.seeds.size).toBe(0)
    for (const noted of [result(4), broke(5), result(3)]) kept.add(noted)
    const { passed, broken } = opened()
    expect(passed).toEqual({ seeds: new Set([4, 3]), counts: { turns: 7 } })
    expect(broken).toEqual(new Map([[5, broke(5)]]))
  })

  test('has what passed in one line, and what broke in a line each', () => {
    const kept = opened()
    for (const noted of [result(4), broke(5), result(3)]) kept.add(noted)
    opened().add({ ...broke(5), shrunk: 'shorter' })
    opened()
    expect(fs.readFileSync(file, 'utf8').trimEnd().split('\n').slice(1)).toEqual([
      '{"passed":"3-4","counts":{"turns":7}}',
      JSON.stringify({ ...broke(5), shrunk: 'shorter' }),
    ])
  })

  test('counts a seed once that was run again', () => {
    opened().add(result(3))
    opened().add(result(3))
    expect(opened().passed).toEqual({ seeds: new Set([3]), counts: { turns: 3 } })
  })

  test('forgets half a line, which the seed it was of is run again for', () => {
    opened().add(result(3))
    fs.appendFileSync(file, JSON.stringify(result(4)).slice(0, 20))
    const kept = opened()
    expect([...kept.passed.seeds]).toEqual([3])
    kept.add(result(4))
    expect(seeds()).toEqual([3, 4])
  })

  test('begins anew with other code, and knows of how many', () => {
    opened().add(result(3))
    fs.writeFileSync(bundle, 'simulate()\n//# sourceMappingURL=two')
    expect(seeds()).toEqual([3])
    fs.writeFileSync(bundle, 'simulate(1)\n')
    const { passed, forgotten } = opened()
    expect([passed.seeds.size, forgotten]).toEqual([0, 1])
    expect(opened().forgotten).toBe(0)
  })

  test.each([
    [{ steps: 41 }, '1 seeds of --steps 40, not of --steps 41'],
    [{ steps: 40, only: new Set([1, 2, 5]) }, '1 seeds of --steps 40, not of --steps 40 --only 1-2,5'],
  ])('is left alone by a run of other steps: %j', (run, why) => {
    opened().add(result(3))
    fs.appendFileSync(bundle, 'changed')
    expect(() => opened(run)).toThrow(why)
    fs.writeFileSync(bundle, 'simulate()\n')
    expect(seeds()).toEqual([3])
  })

  test('leaves a file alone that holds something else', () => {
    fs.writeFileSync(file, 'dear diary\n')
    expect(() => opened()).toThrow(/something else/)
    expect(fs.readFileSync(file, 'utf8')).toBe('dear diary\n')
  })

  test('is noted nowhere unless a file is named', () => {
    expect(openKept(undefined, '/no/bundle', RUN).passed.seeds.size).toBe(0)
  })
})
