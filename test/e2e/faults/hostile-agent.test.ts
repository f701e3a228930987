/**
 * A hostile agent with a valid token, for a few seconds: the hub survives, and all other callers are served. `npm run
 * soak -- hostile` runs longer and measures the delay for others.
 */
import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ATTACKS } from '../../soak/hostile/attacks.ts'
import { attackInWorker, MEMORY_MIB_MAX, prepare } from '../../soak/hostile/hostile.ts'
import { emptyTally, work } from '../../soak/hostile/team.ts'
import { weigh } from '../../soak/gauges.ts'
import { bundled } from '../../support/command/bundled.mjs'
import { calmEnding } from '../../support/command/called-command.ts'
import { end, startHub, temporaryHome } from '../../support/processes/processes.ts'

const SECONDS = 12

test('one agent with a valid token neither ends the hub nor locks others out', async () => {
  // In this thread the attacker would delay the others' requests, and the hub closes connections that send none.
  const out = await bundled('hostile', ['test/soak/hostile/worker.ts'], calmEnding)
  onTestFinished(() => fs.rmSync(out, { recursive: true, force: true }))
  const home = temporaryHome()
  const hub = await startHub(home)
  const over = AbortSignal.timeout(SECONDS * 1_000)
  const tally = emptyTally()
  let most_mib = 0
  const scales = setInterval(() => {
    most_mib = Math.max(most_mib, weigh(hub.child.pid as number)?.rss_mib ?? 0)
  }, 50)
  try {
    const { world, target } = await prepare(home, 4)
    const attacker = attackInWorker(path.join(out, 'worker.js'), target, [])
    await work(world, tally, over)
    const strikes = await attacker.end()
    expect(Object.keys(strikes)).toEqual(ATTACKS.map(({ name }) => name))
    expect(hub.child.exitCode).toBeNull()
    expect(Object.fromEntries(tally.refused)).toEqual({})
    expect(tally.sent).toBeGreaterThan(0)
    expect(most_mib).toBeLessThan(MEMORY_MIB_MAX)
  } finally {
    clearInterval(scales)
    await end(hub, 'SIGTERM')
    fs.rmSync(home, { recursive: true, force: true })
  }
})
