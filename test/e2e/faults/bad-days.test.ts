/**
 * Two bad minutes of a small team of real processes: kills, stops, full and read-only disks, clock changes, deleted
 * directories, bursts, unauthenticated callers and a hostile agent, several at a time. `npm run soak -- bad-days` runs
 * longer. The seed is printed; `TURNBELL_SEED=n` replays the choices.
 */
import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { MEMORY_MIB_MAX } from '../../soak/hostile/hostile.ts'
import { report } from '../../soak/report.ts'
import { soak } from '../../soak/soak.ts'
import { bundled } from '../../support/command/bundled.mjs'
import { calmEnding } from '../../support/command/called-command.ts'

test(
  'a team loses no signal in two minutes of faults, and all queues become empty',
  { timeout: 900_000 },
  async () => {
    const seed = Number(process.env['TURNBELL_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
    console.log(`seed ${seed}`)
    const out = await bundled('bad-days', ['test/soak/hostile/worker.ts'], calmEnding)
    onTestFinished(() => fs.rmSync(out, { recursive: true, force: true }))
    const result = await soak({
      ...{ minutes: 2, personas: 5, seed, kills_per_minute: 24 },
      faults: { per_minute: 14, worker: path.join(out, 'worker.js') },
      say: () => {},
      onStarted: ({ killNow }) => onTestFinished(killNow),
    })
    console.log(report(result))
    const broken = result.broken.map(({ message }) => message)
    const hub_log = path.join(result.home, 'logs', 'hub.log')
    if (broken.length > 0 && fs.existsSync(hub_log))
      console.log(fs.readFileSync(hub_log, 'utf8').slice(-20_000))
    expect(broken, `seed ${seed}: ${broken.join(' | ')}; the home is kept: ${result.home}`).toEqual([])
    expect(result.fate?.lost).toBe(0)
    expect(result.fate?.delivered).toBeGreaterThan(0)
    expect(result.signals.duplicates).toBeLessThanOrEqual(result.signals.released)
    expect(result.hub_mib_max).toBeLessThan(MEMORY_MIB_MAX)
    fs.rmSync(result.home, { recursive: true, force: true })
  },
)
