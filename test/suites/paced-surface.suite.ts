/**
 * Checks an adapter under the daemon's own rules, with a place that loses, delays, repeats and breaks. An agent that
 * drains on every doorbell must receive every signal, one doorbell per turn, within a time limit.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { SurfaceHost } from '../../src/ports/surface.ts'
import { atRest, seededRandom } from '../support/fakes/fake-clock.ts'
import { paceSurface, type PacedSurface } from '../support/fakes/paced-surface.ts'
import type { PlaceMode, SurfaceTraits, SurfaceUnderTest } from './surface.suite.ts'

const STEP_MS = 100
/** More than any adapter needs to deliver one doorbell. */
const MARGIN_MS = 15_000

export function describePaced(
  name: string,
  traits: SurfaceTraits,
  open: (host: SurfaceHost) => Promise<SurfaceUnderTest>,
): void {
  describe(`${name}, paced by a daemon,`, () => {
    let under: SurfaceUnderTest
    let paced: PacedSurface
    let heard = 0
    /**
     * Time after which a doorbell without a receipt is repeated; without receipts, the reminder interval of an idle
     * agent.
     */
    const lost_after_ms = traits.receipts
      ? Math.max(LIMITS.bell_receipt_ms, traits.lost_ms ?? 0)
      : LIMITS.reconnect_patience_ms
    /** If the doorbell itself begins a turn that ends without a receipt, a reminder follows. */
    const rung_again_ms = Math.max(lost_after_ms, LIMITS.reminders_ms[0]) + MARGIN_MS

    beforeEach(async () => {
      heard = 0
      // Its clock is part of it, so reports before the daemon exists are dropped.
      let daemon: PacedSurface | null = null
      under = await open({ report: async (report) => daemon?.host.report(report) ?? { doorbell: null } })
      daemon = paced = paceSurface(under.clock, { receipts: traits.receipts })
      paced.surface = under.surface
      await paced.host.report(await under.surface.status())
    })
    afterEach(() => {
      paced.close()
      under.close()
    })

    const rung = () => under.rung().length > heard

    async function passes(ms: number, until: () => boolean): Promise<number> {
      let waited = 0
      for (; waited < ms && !until(); waited += STEP_MS) await under.clock.advance(STEP_MS)
      await atRest()
      return waited
    }

    /** The agent's reaction to a doorbell: a turn in which it drains. */
    async function answers(turn_ms = 1_000): Promise<number> {
      if ((await under.surface.status()).turn !== 'busy') await under.beginTurn()
      const drained = paced.drain()
      await busyFor(turn_ms)
      return drained
    }

    /** Runs the rest of a turn. A doorbell already on its way may still arrive in it. */
    async function busyFor(turn_ms: number): Promise<void> {
      const left = paced.bells.length
      await under.clock.advance(turn_ms)
      expect(paced.bells, 'a bell left during a turn').toHaveLength(left)
      heard = under.rung().length
      await under.endTurn()
      await atRest()
    }

    test('one signal leads to one bell and one turn', async () => {
      paced.send()
      await passes(lost_after_ms, rung)
      expect(await answers()).toBe(1)
      await under.clock.advance(2 * LIMITS.reconnect_patience_ms)
      expect(under.rung()).toHaveLength(1)
    })

    test('all signals are drained within a limit although every first bell is swallowed', async () => {
      let drained = 0
      for (let signal = 1; signal <= 8; signal++) {
        under.mode('swallows')
        const before = paced.bells.length
        paced.send()
        await passes(MARGIN_MS, () => paced.bells.length > before)
        expect(paced.bells.length, 'a bell left').toBeGreaterThan(before)
        await atRest()
        under.mode('takes')
        const waited = await passes(rung_again_ms, rung)
        expect(rung(), `heard within ${rung_again_ms} ms, waited ${waited}`).toBe(true)
        drained += await answers()
      }
      expect({ drained, pending: paced.pending() }).toEqual({ drained: 8, pending: 0 })
      expect(new Set(under.rung()).size).toBe(under.rung().length)
    })

    test.each([['delays'], ['duplicates']] as const)(
      'a place that %s bells costs one turn per bell, and no bell is rung twice',
      async (mode) => {
        under.mode(mode)
        for (let signal = 1; signal <= 4; signal++) {
          paced.send()
          await passes(lost_after_ms, rung)
          expect(await answers()).toBe(1)
        }
        await under.clock.advance(2 * LIMITS.reconnect_patience_ms)
        expect(under.rung()).toHaveLength(4)
        expect(paced.pending()).toBe(0)
      },
    )

    test.each([1, 2, 3, 4, 5, 6])(
      'every signal is drained whatever the place does, by seed %i',
      async (seed) => {
        const random = seededRandom(seed * 7919)
        const one = <T>(among: readonly T[]): T => among[Math.floor(random.next() * among.length)] as T
        const modes: readonly PlaceMode[] = ['takes', 'takes', 'swallows', 'delays', 'duplicates', 'breaks']
        let [sent, drained] = [0, 0]
        for (let round = 0; round < 40; round++) {
          under.mode(one(modes))
          for (let signals = Math.floor(random.next() * 3); signals > 0; signals--) {
            paced.send()
            sent += 1
          }
          await passes(one([100, 1_000, 20_000]), rung)
          if (rung()) drained += await answers(one([100, 3_000]))
          else if (random.next() < 0.3) {
            // A turn of the user: doorbells wait until it ends.
            await under.beginTurn()
            paced.send()
            sent += 1
            await busyFor(one([500, 30_000]))
          }
        }
        under.mode('takes')
        for (let last = 0; last < 5 && paced.pending() > 0; last++) {
          await passes(LIMITS.reconnect_patience_ms + MARGIN_MS, rung)
          drained += await answers()
        }
        expect({ drained, pending: paced.pending() }).toEqual({ drained: sent, pending: 0 })
      },
    )
  })
}
