import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { openKept, type KeptOf } from '../../sim/promises/kept.ts'
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
const seeds = () => [...opened().passed]

describe('a run that is noted', () => {
  test('a stored run continues where it stopped', () => {
    const kept = opened()
    expect(kept.passed.size).toBe(0)
    for (const noted of [result(4), broke(5), result(3)]) kept.add(noted)
    const { passed, counts, broken } = opened()
    expect([passed, counts]).toEqual([new Set([4, 3]), { turns: 7 }])
    expect(broken).toEqual(new Map([[5, broke(5)]]))
  })

  test('a stored run has passed seeds in one line, and each failure in its own', () => {
    const kept = opened()
    for (const noted of [result(4), broke(5), result(3)]) kept.add(noted)
    opened().add({ ...broke(5), shrunk: 'shorter' })
    opened()
    expect(fs.readFileSync(file, 'utf8').trimEnd().split('\n').slice(1)).toEqual([
      '{"passed":"3-4","counts":{"turns":7}}',
      JSON.stringify({ ...broke(5), shrunk: 'shorter' }),
    ])
  })

  test('a repeated seed counts once', () => {
    opened().add(result(3))
    opened().add(result(3))
    const { passed, counts } = opened()
    expect([passed, counts]).toEqual([new Set([3]), { turns: 3 }])
  })

  test('a stored run is rejected if overlapping counts cannot be separated', () => {
    opened().add(result(3))
    opened().add(result(4))
    opened()
    fs.appendFileSync(file, '{"passed":"4-5","counts":{"turns":9}}\n')
    expect(() => opened()).toThrow(/line 3 of .* is damaged/)
  })

  test('a seed with different results in two runs counts as failed', () => {
    opened().add(result(3))
    opened().add(broke(3))
    const { passed, broken } = opened()
    expect([[...passed], [...broken.keys()]]).toEqual([[], [3]])
  })

  test('an incomplete line is discarded, and its seed runs again', () => {
    opened().add(result(3))
    fs.appendFileSync(file, JSON.stringify(result(4)).slice(0, 20))
    const kept = opened()
    expect([...kept.passed]).toEqual([3])
    kept.add(result(4))
    expect(seeds()).toEqual([3, 4])
  })

  test('a stored run starts over with different code, and reports that', () => {
    opened().add(result(3))
    fs.writeFileSync(bundle, 'simulate()\n//# sourceMappingURL=two')
    expect(seeds()).toEqual([3])
    fs.writeFileSync(bundle, 'simulate(1)\n')
    const { passed, forgotten } = opened()
    expect([passed.size, forgotten]).toEqual([0, true])
    expect(opened().forgotten).toBe(false)
    expect(fs.existsSync(`${file}.old`)).toBe(false)
  })

  test('failures of different code are moved to another file', () => {
    opened().add(result(3))
    opened().add({ ...broke(5), shrunk: 'shorter' })
    const before = fs.readFileSync(file, 'utf8')
    fs.writeFileSync(bundle, 'simulate(1)\n')
    expect(opened()).toMatchObject({ forgotten: true, set_aside: true, broken: new Map() })
    expect(fs.readFileSync(`${file}.old`, 'utf8')).toBe(before)
  })

  test.each([
    [{ steps: 41 }, 'is of --steps 40, not of --steps 41'],
    [{ steps: 40, only: new Set([1, 2, 5]) }, 'is of --steps 40, not of --steps 40 --only 1-2,5'],
  ])('a stored run of other steps is left unchanged: %j', (run, why) => {
    opened().add(result(3))
    fs.appendFileSync(bundle, 'changed')
    expect(() => opened(run)).toThrow(why)
    fs.writeFileSync(bundle, 'simulate()\n')
    expect(seeds()).toEqual([3])
  })

  test('the order of the given steps is irrelevant', () => {
    const run = (...only: number[]) => ({ steps: 40, only: new Set(only) })
    opened(run(5, 1, 2)).add(result(3))
    expect([...opened(run(1, 2, 5)).passed]).toEqual([3])
  })

  test.each(['dear diary', '{"code":"abc', '{"code":"abc"}', 'null'])(
    'a file with other contents is left unchanged: %s',
    (text) => {
      fs.writeFileSync(file, `${text}\n`)
      expect(() => opened()).toThrow(/something else/)
      expect(fs.readFileSync(file, 'utf8')).toBe(`${text}\n`)
    },
  )

  test.each(['{"seed":5,"st', 'null', '{}', '{"passed":"1-2"}', '{"passed":"2-1","counts":{}}'])(
    'a damaged line is named: %s',
    (text) => {
      opened().add(result(3))
      fs.appendFileSync(file, `\n${text}\n${JSON.stringify(result(4))}\n`)
      const before = fs.readFileSync(file, 'utf8')
      expect(() => opened()).toThrow(`--keep: line 4 of ${file} is damaged`)
      expect(fs.readFileSync(file, 'utf8')).toBe(before)
    },
  )

  test('a run without a file stores nothing', () => {
    expect(openKept(undefined, '/no/bundle', RUN).passed.size).toBe(0)
  })
})
