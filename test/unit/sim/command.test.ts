import { afterEach, describe, expect, test, vi } from 'vitest'
import { main, told } from '../../sim/main.ts'

afterEach(() => vi.restoreAllMocks())

const ending = {
  ...{
    interrupted: false,
    removes: (path: string) => path,
    keeps: () => undefined,
    onInterrupt: () => undefined,
  },
}

describe('npm run sim', () => {
  test.each([
    ['--only 20-17', '"20-17" ends before it begins'],
    ['--only 50-60 --steps 40', '--only: "50-60" is none of the steps 1-40'],
    ['--only 0', '--only: "0" is none of the steps 1-2000'],
    ['--seed=', '--seed: "" is no such number'],
    ['--hours=', '--hours: "" is no such number'],
    ['--hours 1 --seeds 5', '--hours takes seeds until so long is over'],
    ['--trace --seeds 2', '--trace prints a single run'],
    ['--trace --hours 1', '--trace prints a single run'],
    ['--trace --keep night.jsonl', '--trace prints a single run'],
    ['--keep package.json', '--keep: package.json is something else'],
  ])('refuses %s', async (line, why) => {
    const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    expect(await main(line.split(' '), 'package.json', ending)).toBe(2)
    expect(said.mock.calls.join()).toMatch(why)
  })

  test('tells of a broken promise with the command that breaks it again', () => {
    const broken = { promise: 'x', detail: 'x was lost', step: 7 }
    const result = { seed: 3, steps: 40, broken, counts: {} }
    expect(told(result, undefined)).toContain('npm run sim -- --seed 3 --steps 40\n')
    expect(told(result, new Set([5, 6, 7]))).toContain('npm run sim -- --seed 3 --steps 40 --only 5-7\n')
  })
})
