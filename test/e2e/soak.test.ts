/**
 * A short day of a small team of real processes, some of which are killed on the way. `npm run soak` has the long one.
 * The seed is printed; `TURNBELL_SEED=n` replays the choices.
 */
import fs from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { report } from '../soak/report.ts'
import { soak } from '../soak/soak.ts'

test('a team loses nothing in half a minute of kills and stops, and everything comes to rest', async () => {
  const seed = Number(process.env['TURNBELL_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
  const result = await soak({
    ...{ minutes: 0.5, personas: 6, seed, kills_per_minute: 40 },
    say: () => {},
    onStarted: ({ killNow }) => onTestFinished(killNow),
  })
  console.log(`seed ${seed}\n${report(result)}`)
  const broken = result.broken.map(({ message }) => message)
  expect(broken, `${broken.join(' | ')}; the home is kept: ${result.home}`).toEqual([])
  expect(result.fate?.lost).toBe(0)
  expect(result.fate?.delivered).toBeGreaterThan(0)
  expect(result.signals.duplicates).toBeLessThanOrEqual(result.signals.released)
  fs.rmSync(result.home, { recursive: true, force: true })
}, 600_000)
