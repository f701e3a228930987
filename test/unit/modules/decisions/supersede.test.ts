/** Tests an override with a replacement, which writes two records: its answer is true whichever write fails. */
import { beforeEach, describe, expect, test } from 'vitest'
import { OverrideInput } from '../../../../src/contracts/memory/decision.ts'
import type { RecordBody } from '../../../../src/ports/record-store.ts'
import {
  refused,
  tooLarge,
  troubledMemory,
  type TroubledMemory,
} from '../../../support/disk/troubled-memory.ts'
import type { Trouble } from '../../../support/disk/troubled-records.ts'

let memory: TroubledMemory
/** The overridden decision, and one that contradicts it. */
let former: string
let contested: string

beforeEach(async () => {
  memory = await troubledMemory()
  former = (await memory.world.decide({ summary: 'A', affected_files: ['src/a.ts'] })).id
  contested = (await memory.world.decide({ summary: 'C' })).id
})

const override = () =>
  memory.world.decisions.override(
    memory.world.bob,
    OverrideInput.parse({ decision_id: former, reason: 'Legal.', new_decision: 'B' }),
  )
/** Fails at the n-th write or lock only. */
const atStep = (n: number, what: ReturnType<Trouble>): Trouble => {
  let steps = 0
  return () => (steps++ === n ? what : null)
}
const ofFormer = (kind: string, { id }: RecordBody) => kind === 'decision' && id === former

/** Expects the result of an undisturbed override, once. */
async function needDone(): Promise<void> {
  const rows = await memory.kept().list('decision')
  const made = rows.filter(({ body }) => body['summary'] === 'B')
  expect(made).toHaveLength(1)
  expect(made[0]?.body).toMatchObject({ status: 'active', supersedes: former })
  expect(made[0]?.body).not.toHaveProperty('outbox')
  expect(await memory.read(former)).toMatchObject({ status: 'overridden', override_reason: 'Legal.' })
  expect(await memory.read(former)).not.toHaveProperty('outbox')
  expect(await memory.statusOf(contested)).toBe('provisional')
  const told = await memory.said({ limit: 100 })
  const count = (beginning: string) => told.filter((summary) => summary.startsWith(beginning)).length
  expect(['Override: A (by human)', 'B', 'Potential conflict'].map(count)).toEqual([1, 1, 2])
  expect(await memory.said({ open: true })).toEqual([
    expect.stringContaining(`existing decision ${made[0]?.id}`),
  ])
}

/** Number of writes and locks of an override without faults; nothing is stored before the first two. */
const STEPS = 21

test('an override with a replacement takes the expected number of steps', async () => {
  let steps = 0
  memory.trouble = () => ((steps += 1), null)
  expect(await override()).toMatchObject({ overridden: true, new_decision_id: expect.any(String) as string })
  expect(steps).toBe(STEPS)
  await needDone()
})

describe.each(Array.from({ length: STEPS }, (_, n) => n))('an override with trouble at step %i', (n) => {
  test.each<[string, () => Error, string]>([
    ['that the store rejects', refused, 'store_unavailable'],
    ['with an unexpected error', () => new TypeError('not a function'), 'TypeError'],
  ])('an override %s is rejected whole or done', async (_, problem, code) => {
    memory.trouble = atStep(n, problem())
    const answer = await override().catch((error: Error & { code?: string }) => error.code ?? error.name)
    memory.mend()
    if (typeof answer === 'string') {
      expect(n).toBeLessThan(2)
      expect(answer).toBe(code)
      expect(await memory.statusOf(former)).toBe('active')
      expect(await memory.kept().list('decision')).toHaveLength(2)
      expect(await memory.said()).not.toContain('B')
      return
    }
    expect(answer.overridden).toBe((await memory.statusOf(former)) === 'overridden')
    expect(answer.new_decision_id).toBeDefined()
    await memory.later()
    await memory.world.decisions.sweep()
    await needDone()
  })

  test('an override interrupted by a crash is completed by the next process, or was never made', async () => {
    memory.trouble = atStep(n, 'dies')
    await memory.dieIn(override)
    await memory.said()
    await memory.world.decisions.sweep()
    if (n < 2) {
      expect(await memory.statusOf(former)).toBe('active')
      expect(await memory.kept().list('decision')).toHaveLength(2)
    } else await needDone()
  })
})

test('an override whose old decision cannot be written reports so, and is completed later', async () => {
  memory.trouble = (kind, body) => (ofFormer(kind, body) ? refused() : null)
  const { overridden, new_decision_id = '' } = await override()
  expect(overridden).toBe(false)
  expect([await memory.statusOf(former), await memory.statusOf(new_decision_id)]).toEqual([
    'active',
    'active',
  ])
  await memory.restart()
  await memory.another()
  expect(await memory.statusOf(former)).toBe('active')
  memory.mend()
  await memory.later()
  await memory.another()
  await needDone()
  expect(memory.world.told().map(({ data }) => [data['id'], data['status']])).toContainEqual([
    former,
    'overridden',
  ])
})

test('an override whose old decision is never written is stored, and does not block other decisions', async () => {
  memory.trouble = (kind, body) => (ofFormer(kind, body) ? tooLarge() : null)
  expect(await override()).toMatchObject({ overridden: false })
  await memory.later()
  expect(await memory.another()).toMatchObject({ status: 'active' })
})

test('a pending override is not applied over a change by someone else', async () => {
  memory.trouble = (kind, body) => (ofFormer(kind, body) ? refused() : null)
  const { new_decision_id = '' } = await override()
  memory.mend()
  const body = await memory.kept().get('decision', former)
  await memory.kept().put('decision', former, { ...body, status: 'overridden', override_reason: 'Other.' })
  await memory.later()
  await memory.world.decisions.sweep()
  expect(await memory.read(former)).toMatchObject({ status: 'overridden', override_reason: 'Other.' })
  expect(await memory.read(new_decision_id)).not.toHaveProperty('outbox')
})
