/**
 * The promises of `ports/surface.ts`, in their order, for every adapter. The test simulates the place behind the
 * adapter: it can accept a doorbell, swallow it, respond slowly, show it twice, break, or be gone.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  type ReportAnswer,
  RingResult,
  type SurfaceReport,
  SurfaceStatus,
} from '../../src/contracts/control.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Surface, SurfaceHost } from '../../src/ports/surface.ts'
import { doorbell } from '../support/doorbells.ts'
import { atRest, type FakeClock } from '../support/fakes/fake-clock.ts'
import { describePaced } from './paced-surface.suite.ts'

export type PlaceMode = 'takes' | 'swallows' | 'delays' | 'duplicates' | 'breaks' | 'gone'

/** An adapter and the place where it delivers doorbells. */
export interface SurfaceUnderTest {
  surface: Surface
  clock: FakeClock
  /** Sets how the place handles doorbells from now on. */
  mode(mode: PlaceMode): void
  /** Returns the texts (or ids) of the doorbells that reached the agent. */
  rung(): string[]
  /** Begins a turn that no doorbell caused. */
  beginTurn(): Promise<void>
  /** Ends the current turn. */
  endTurn(): Promise<void>
  close(): void
}

export interface SurfaceTraits {
  /** Whether it delivers a doorbell in the response to the report at the end of a turn. */
  takes: boolean
  /** Whether it recognises a doorbell inside a turn. */
  receipts: boolean
  /** Whether it reports a doorbell whose prompt is stored, queued or shown until a turn begins with it. */
  outstanding?: boolean
  /** Time after which a prompt without a trace counts as lost. Default: `bell_receipt_ms` of the daemon. */
  lost_ms?: number
  /** Whether its shim ends with its client instead of reporting an absent one. */
  ends_with_client?: boolean
}

/** Collects reports; answers those with `take` with the prepared response. */
export function recordingHost(): SurfaceHost & { reports: SurfaceReport[]; ready: ReportAnswer } {
  const host = {
    reports: [] as SurfaceReport[],
    ready: { doorbell: null } as ReportAnswer,
    async report(report: SurfaceReport): Promise<ReportAnswer> {
      host.reports.push(report)
      if (report.take !== true) return { doorbell: null }
      const answer = host.ready
      host.ready = { doorbell: null }
      return answer
    },
  }
  return host
}

export function describeSurface(
  name: string,
  traits: SurfaceTraits,
  open: (host: SurfaceHost) => Promise<SurfaceUnderTest>,
): void {
  describe(`${name} keeps the promises of a surface`, () => {
    let host: ReturnType<typeof recordingHost>
    let under: SurfaceUnderTest
    beforeEach(async () => {
      host = recordingHost()
      under = await open(host)
    })
    afterEach(() => under.close())

    /** Rings and advances the clock by the time that the daemon would wait. */
    async function ring(bell = doorbell()): Promise<RingResult> {
      let answer: RingResult | null = null
      void under.surface.notify_surface(bell).then((result) => (answer = result))
      await atRest()
      for (let waited = 0; answer === null && waited < LIMITS.shim_answer_ms; waited += 100)
        await under.clock.advance(100)
      if (answer === null) throw new Error('a ring was not answered before the daemon gave it up')
      return RingResult.parse(answer)
    }

    describe('notify_surface', () => {
      test('notify_surface passes the bell once and reports only that it was sent', async () => {
        const bell = doorbell()
        const { accepted, proof } = await ring(bell)
        expect(accepted).toBe(true)
        expect(['sent', 'confirmed']).toContain(proof)
        expect(under.rung()).toEqual([bell.text])
      })

      test('notify_surface promises nothing about a place that swallows bells', async () => {
        under.mode('swallows')
        const { proof } = await ring()
        expect(proof).not.toBe('confirmed')
        expect(under.rung()).toEqual([])
      })

      test('notify_surface answers in time for a slow place', async () => {
        under.mode('delays')
        await ring()
      })

      test.each(['breaks', 'gone'] as const)(
        'notify_surface never throws for a place that %s',
        async (mode) => {
          under.mode(mode)
          const { accepted, proof } = await ring()
          expect(accepted).toBe(false)
          expect(['failed', 'unavailable']).toContain(proof)
        },
      )

      test('notify_surface reports that no agent is there if there is none to ring', async () => {
        expect((await under.surface.status()).absent).toBeUndefined()
        under.mode('gone')
        const { proof } = await ring()
        const { absent } = await under.surface.status()
        if (traits.ends_with_client === true) expect(absent).toBeUndefined()
        else expect(absent === true).toBe(proof === 'unavailable')
      })

      test('notify_surface is deferred during a turn, and the bell does not reach it', async () => {
        await under.beginTurn()
        expect(await ring()).toEqual({ accepted: false, proof: 'deferred' })
        expect(under.rung()).toEqual([])
      })

      test('a bell that was not delivered is not delivered later by itself', async () => {
        await under.beginTurn()
        await ring()
        await under.endTurn()
        under.mode('breaks')
        await ring()
        under.mode('takes')
        await under.endTurn()
        await under.clock.advance(120_000)
        expect(under.rung()).toEqual([])
      })

      test('notify_surface can be called again after the next turn', async () => {
        await ring()
        await under.beginTurn()
        await under.endTurn()
        await ring()
        expect(new Set(under.rung()).size).toBe(2)
      })
    })

    describe('resume_surface', () => {
      test('resume_surface attaches again and reports the state of the turn', async () => {
        const before = host.reports.length
        await under.surface.resume_surface()
        await atRest()
        expect(host.reports.length).toBeGreaterThan(before)
        expect(host.reports.at(-1)).toMatchObject(await under.surface.status())
      })
    })

    describe('status', () => {
      test('status is the same object as the last report', async () => {
        await under.beginTurn()
        const status = SurfaceStatus.parse(await under.surface.status())
        const { take: _, ...said } = host.reports.at(-1) as SurfaceReport
        expect(said).toEqual(status)
      })

      test('status distinguishes busy from idle', async () => {
        expect((await under.surface.status()).turn).toBe('idle')
        await under.beginTurn()
        expect((await under.surface.status()).turn).toBe('busy')
        await under.endTurn()
        expect((await under.surface.status()).turn).toBe('idle')
      })

      test('status counts every turn that begins, and never goes back', async () => {
        const first = (await under.surface.status()).turn_seq
        for (let turn = 1; turn <= 3; turn++) {
          await under.beginTurn()
          expect((await under.surface.status()).turn_seq).toBe(first + turn)
          await under.endTurn()
          expect((await under.surface.status()).turn_seq).toBe(first + turn)
        }
        const seqs = host.reports.map(({ turn_seq }) => turn_seq)
        expect(seqs).toEqual([...seqs].sort((a, b) => a - b))
      })
    })

    if (traits.takes)
      test('the bell in the response to a turn-end report is delivered', async () => {
        const bell = doorbell()
        host.ready = { doorbell: bell }
        await under.beginTurn()
        const { turn_seq } = await under.surface.status()
        await under.endTurn()
        expect(host.reports.filter(({ take }) => take === true)).toHaveLength(1)
        expect(under.rung()).toEqual([bell.text])
        expect(await under.surface.status()).toMatchObject({ turn: 'busy', turn_seq: turn_seq + 1 })
      })

    if (traits.receipts)
      test('a bell seen inside a turn gets a receipt, whether shown once or twice', async () => {
        under.mode('duplicates')
        const bell = doorbell()
        await ring(bell)
        await under.beginTurn()
        const receipts = host.reports.filter(({ seen_doorbell_id }) => seen_doorbell_id === bell.doorbell_id)
        expect(receipts.length).toBeGreaterThan(0)
        expect(new Set(receipts.map(({ turn_seq }) => turn_seq)).size).toBe(1)
      })

    if (traits.outstanding === true)
      test('a bell is outstanding until a turn begins with it, however long that takes', async () => {
        const bell = doorbell()
        await ring(bell)
        await under.clock.advance(30_000)
        expect((await under.surface.status()).outstanding_doorbell_id).toBe(bell.doorbell_id)
        await under.beginTurn()
        const status = await under.surface.status()
        expect(status.outstanding_doorbell_id).toBeUndefined()
        expect(status.seen_doorbell_id).toBe(bell.doorbell_id)
      })

    if (traits.receipts)
      test('a swallowed bell gets no receipt', async () => {
        under.mode('swallows')
        await ring()
        await under.beginTurn()
        await under.endTurn()
        expect(host.reports.some(({ seen_doorbell_id }) => seen_doorbell_id !== undefined)).toBe(false)
      })
  })

  describePaced(name, traits, open)
}
