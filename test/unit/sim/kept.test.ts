import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { openKept } from '../../sim/kept.ts'
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

const seeds = (run: Parameters<typeof openKept>[2] = RUN) => [...openKept(file, bundle, run).results.keys()]

describe('a run that is noted', () => {
  test('goes on where it was', () => {
    const kept = openKept(file, bundle, RUN)
    expect(kept.results.size).toBe(0)
    kept.add(result(3))
    kept.add(result(4))
    expect([...openKept(file, bundle, RUN).results.values()]).toEqual([result(3), result(4)])
    openKept(file, bundle, RUN).add(result(5))
    expect(seeds()).toEqual([3, 4, 5])
  })

  test('forgets half a line, which the seed it was of is run again for', () => {
    openKept(file, bundle, RUN).add(result(3))
    fs.appendFileSync(file, JSON.stringify(result(4)).slice(0, 20))
    const kept = openKept(file, bundle, RUN)
    expect([...kept.results.keys()]).toEqual([3])
    kept.add(result(4))
    expect(seeds()).toEqual([3, 4])
  })

  test('begins anew with other code, and knows of how many', () => {
    openKept(file, bundle, RUN).add(result(3))
    fs.writeFileSync(bundle, 'simulate()\n//# sourceMappingURL=two')
    expect(seeds()).toEqual([3])
    fs.writeFileSync(bundle, 'simulate(1)\n')
    const kept = openKept(file, bundle, RUN)
    expect([kept.results.size, kept.forgotten]).toEqual([0, 1])
    expect(openKept(file, bundle, RUN).forgotten).toBe(0)
  })

  test.each([
    [{ steps: 41 }, '1 seeds of --steps 40, not of --steps 41'],
    [{ steps: 40, only: new Set([1, 2, 5]) }, '1 seeds of --steps 40, not of --steps 40 --only 1-2,5'],
  ])('is left alone by a run of other steps: %j', (run, why) => {
    openKept(file, bundle, RUN).add(result(3))
    fs.appendFileSync(bundle, 'changed')
    expect(() => openKept(file, bundle, run)).toThrow(why)
    fs.writeFileSync(bundle, 'simulate()\n')
    expect(seeds()).toEqual([3])
  })

  test('leaves a file alone that holds something else', () => {
    fs.writeFileSync(file, 'dear diary\n')
    expect(() => openKept(file, bundle, RUN)).toThrow(/something else/)
    expect(fs.readFileSync(file, 'utf8')).toBe('dear diary\n')
  })

  test('is noted nowhere unless a file is named', () => {
    expect(openKept(undefined, '/no/bundle', RUN).results.size).toBe(0)
  })
})
