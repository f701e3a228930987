/** Tests that the fuzzer finds existing bugs; otherwise "no crashes" would prove nothing. */
import { describe, expect, test } from 'vitest'
import { Coverage } from '../../fuzz/coverage/coverage.ts'
import { Dice } from '../../fuzz/dice.ts'
import { fuzz, type Crash, type Settings } from '../../fuzz/fuzz.ts'
import type { Opened, Target } from '../../fuzz/target.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const ways = new Uint8Array(16)

async function fuzzed(
  attempt: (text: string) => string | Promise<string>,
  more: Partial<Target & Settings> = {},
) {
  const tried: string[] = []
  const crashes: Crash[] = []
  const target: Target = {
    ...{ name: 'x', promise: 'x', share: 1 },
    open: () => ({ seeds: ['{"type":"a","n":1}'], attempt: (input) => attempt(input.toString()) }),
    ...more,
  }
  const outcome = await fuzz(target, new Coverage(ways), {
    ...{
      inputs: 6_000,
      changed_min: 0,
      seed: 1,
      regressions: [],
      goOn: () => true,
      directory: temporaryDirectory,
    },
    trying: (input) => void tried.push(input.toString('latin1')),
    found: (crash) => void crashes.push(crash),
    ...more,
  })
  return { ...outcome, tried, crashes }
}

/** Like the counters in a bundle. */
const way = (at: number) => (ways[at] = (ways[at] as number) + 1)

describe('the fuzzer', () => {
  test('the fuzzer finds code behind several branches step by step, and reports the smallest input', async () => {
    const { crashes, ways } = await fuzzed(
      (text) => {
        if (!text.includes('deep')) return 'same'
        way(1)
        if (!text.includes('deeper')) return 'same'
        way(2)
        if (!text.includes('deepest')) return 'same'
        throw new TypeError('found')
      },
      { words: ['deep', 'er', 'est'], inputs: 15_000 },
    )
    expect(crashes).toMatchObject([{ alone: true, error: { message: 'found' } }])
    expect(crashes[0]?.input.toString()).toContain('deepest')
    expect(crashes[0]?.input.length).toBeLessThanOrEqual(13)
    expect(ways).toBeGreaterThanOrEqual(2)
  })

  test('the fuzzer mutates inputs even if there are more seeds than requested inputs', async () => {
    const seeds = ['a', 'b', 'c']
    const open = () => ({ seeds, attempt: (input: Buffer) => input.toString('latin1').slice(0, 1) })
    const { inputs } = await fuzzed(() => '', { open, inputs: 1, changed_min: 5 })
    expect(inputs).toBe(seeds.length + 5)
  })

  test('the fuzzer detects delayed effects of the last input, and does not blame an unrelated one', async () => {
    const attempt = (text: string) => {
      if (text === 'second') void Promise.reject(new Error('left behind'))
      return 'same'
    }
    const kept = ['first', 'second'].map((text) => Buffer.from(text))
    const only = { inputs: 0, regressions: kept }
    const { crashes } = await fuzzed(attempt, only)
    expect(crashes).toMatchObject([{ input: kept[1], alone: true, error: { message: 'left behind' } }])
    const { crashes: earlier } = await fuzzed(attempt, { ...only, regressions: kept.toReversed() })
    expect(earlier).toMatchObject([{ alone: false, error: { message: 'left behind' } }])
  })

  test('the fuzzer keeps one input for each kind of outcome', async () => {
    const { corpus, crashes } = await fuzzed((text) => String(Math.min(text.length % 7, 6)))
    expect(corpus).toBe(1 + 6)
    expect(crashes).toEqual([])
  })

  test('the fuzzer tries the same inputs for the same seed, and others for another', async () => {
    const once = await fuzzed((text) => text.slice(0, 1))
    const again = await fuzzed((text) => text.slice(0, 1))
    const other = await fuzzed((text) => text.slice(0, 1), { seed: 2 })
    expect(again.tried).toEqual(once.tried)
    expect(other.tried).not.toEqual(once.tried)
  })

  test('the fuzzer detects delayed exceptions that no code awaits', async () => {
    const { crashes } = await fuzzed((text) => {
      if (text.includes('null')) void Promise.reject(new Error('later'))
      return 'same'
    })
    expect(crashes).toMatchObject([{ error: { message: 'later' } }])
  })

  test('the fuzzer detects a changed prototype, and restores it', async () => {
    const { crashes } = await fuzzed((text) => {
      if (text.includes('polluted')) Reflect.set(Object.prototype, 'polluted', 1)
      return 'same'
    })
    expect(crashes.map(({ error }) => String(error))).toEqual([
      'Broken: Object.prototype was changed for all objects',
    ])
    expect('polluted' in {}).toBe(false)
  })

  test.each<[string, object, PropertyKey, unknown]>([
    ['a name', Array.prototype, 'polluted', 1],
    ['a name of functions', Function.prototype, 'polluted', 1],
    ['a number', Object.prototype, 0, 1],
    ['what stood there before', Object.prototype, 'toString', () => 'changed'],
  ])('the fuzzer detects %s that was changed, and restores it', async (_, prototype, key, value) => {
    const keys = Reflect.ownKeys(prototype)
    const was: unknown = Reflect.get(prototype, key)
    const changes = () => {
      Object.defineProperty(prototype, key, { value, configurable: true, writable: true })
      return 'same'
    }
    const { crashes } = await fuzzed(changes, { inputs: 0, regressions: [Buffer.from('once')] })
    expect(crashes).toHaveLength(1)
    expect(Reflect.ownKeys(prototype)).toEqual(keys)
    expect(Reflect.get(prototype, key)).toBe(was)
  })

  const rejects = () => Promise.reject(new Error('while it closed'))
  test.each<[string, Partial<Opened>]>([
    ['at the end', { close: () => void rejects() }],
    ['in between', { close: () => void rejects(), lasts: 1 }],
    ['at the end, and waited for', { close: rejects }],
    ['in between, and waited for', { close: rejects, lasts: 1 }],
  ])('the fuzzer detects rejections while a world closes, %s', async (_, closing) => {
    const opened = { seeds: [], attempt: () => 'same', ...closing }
    const only = { open: () => opened, inputs: 0, regressions: [Buffer.from('one')] }
    const { crashes } = await fuzzed(() => '', only)
    expect(crashes).toMatchObject([{ error: { message: 'while it closed' } }])
  })

  test('the fuzzer combines mutations up to its limit', () => {
    const next = { lowest: () => 0, highest: () => 1 - Number.EPSILON }
    for (const below of [1, 2, 5, 8]) {
      const small = (random: () => number) => new Dice({ next: random } as never).small(below)
      expect([small(next.lowest), small(next.highest)]).toEqual([0, below - 1])
    }
  })

  test('the fuzzer reports a crash before the next input, which may end the process', async () => {
    const told: string[] = []
    await fuzzed(
      (text) => {
        told.push(text)
        if (text === 'bad') throw new Error('no')
        return 'same'
      },
      {
        regressions: [Buffer.from('bad'), Buffer.from('next')],
        found: ({ error }) => void told.push(String(error)),
      },
    )
    expect(told.slice(0, told.indexOf('next')).at(-1)).toBe('Error: no')
  })

  test('the fuzzer begins with regression inputs, and reports if an input fails only after others', async () => {
    let broken = 0
    const { crashes } = await fuzzed(
      (text) => {
        if (text === 'once' && (broken += 1) === 1) throw new Error('the first time')
        return 'same'
      },
      { regressions: [Buffer.from('once')] },
    )
    expect(crashes).toMatchObject([{ alone: false }])
  })
})
