/** Runs the simulation on the product, and on the product with a planted bug. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { MUTANTS } from '../sim/mutants/list.mjs'
import { numbersIn } from '../sim/ranges.ts'
import { REGRESSIONS } from '../sim/regressions.ts'
import { shrink } from '../sim/shrink.ts'
import { simulate } from '../sim/simulate.ts'
import { itemsOf, partOfCommit } from '../support/command/commit-part.mjs'

const root = path.resolve(import.meta.dirname, '../..')
const MINUTE_MS = 60_000
/** Number of seeds. The commit's hash chooses the range; `npm run prove` runs 200 seeds and all planted bugs. */
const SEEDS = 60
const SEED_RANGES = 4
const BUG_PARTS = 8

/** Returns the output of a script of package.json, and copies it to the output of the test run. */
function said(script: string, ...args: string[]): Promise<{ code: number | null; text: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn('npm', ['run', '-s', script, '--', ...args], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      text += part
      process.stdout.write(part)
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, text }))
  })
}

describe('the simulation', () => {
  test(`keeps every promise in ${SEEDS} seeds`, { timeout: 20 * MINUTE_MS }, async () => {
    const first = 1 + SEEDS * (partOfCommit(SEED_RANGES) - 1)
    const { code, text } = await said('sim', '--seed', `${first}`, '--seeds', `${SEEDS}`, '--steps', '2000')
    expect(text).toContain(`seeds ${SEEDS}, steps ${SEEDS * 2000}, failed 0,`)
    expect(code).toBe(0)
    // A world in which nothing happens breaks no promise either, so most sends must reach a running hub.
    expect(Number(/receipts (\d+)/.exec(text)?.[1])).toBeGreaterThan(SEEDS * 1000)
    expect(Number(/scrapes (\d+)/.exec(text)?.[1])).toBeGreaterThan(SEEDS * 20)
  })

  test('the simulation detects each planted bug of this part', { timeout: 20 * MINUTE_MS }, async () => {
    const part = { number: partOfCommit(BUG_PARTS), of: BUG_PARTS }
    const planted = itemsOf(MUTANTS, part).length
    const { code, text } = await said('mutants', '--part', `${part.number}/${part.of}`)
    expect(text).toContain(`mutants ${planted}, caught ${planted}, unnoticed 0, stale runs 0`)
    expect(code).toBe(0)
  })

  test('the simulation is reproducible by its seed', { timeout: MINUTE_MS }, async () => {
    const [one, other] = [await simulate({ seed: 7, steps: 120 }), await simulate({ seed: 7, steps: 120 })]
    expect(other).toEqual(one)
  })

  test.each(REGRESSIONS)(
    'the simulation finds no fixed bug again: $found',
    { timeout: MINUTE_MS },
    async ({ seed, steps, only }) => {
      const { broken } = await simulate({ seed, steps, only: new Set(numbersIn(only)) })
      expect(broken).toBeNull()
    },
  )

  test(
    'the simulation ends after Ctrl-C, also while every step is printed',
    { timeout: MINUTE_MS },
    async () => {
      const args = ['test/sim/run.mjs', '--trace', '--steps', '1000000']
      const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
      child.stdout.once('data', () => child.kill('SIGINT'))
      expect(await once(child, 'exit')).toEqual([130, null])
    },
  )

  test('the simulation names unknown arguments', async () => {
    const { code } = await said('sim', '--seeds', 'many')
    expect(code).toBe(2)
  })
})

describe('shrinking', () => {
  const steps = Array.from({ length: 100 }, (_, step) => step + 1)

  test('shrinking keeps the steps that a failure needs', async () => {
    const needed = [3, 42, 43, 99]
    const fails = (some: readonly number[]) => Promise.resolve(needed.every((step) => some.includes(step)))
    expect(await shrink(steps, fails, 500)).toEqual(needed)
  })

  test('shrinking stops after its maximum number of attempts', async () => {
    let tried = 0
    await shrink(
      steps,
      (some) => {
        tried += 1
        return Promise.resolve(some.includes(1) && some.includes(100))
      },
      10,
    )
    expect(tried).toBe(10)
  })
})
