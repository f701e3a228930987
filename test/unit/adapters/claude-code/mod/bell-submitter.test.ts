import { expect, test } from 'vitest'
import { LIMITS } from '../../../../../src/contracts/limits/limits.ts'
import { bellSubmitter } from '../../../../../adapters/claude-code/mod/bell-submitter.ts'
import type { SubmitResult } from '../../../../../adapters/claude-code/mod/engine.ts'
import type { ModEvent } from '../../../../../adapters/claude-code/mod/messages.ts'

function submitter(busy: boolean | null = false) {
  const submitted: { text: string; answer: (result: SubmitResult) => void; fail: (error: Error) => void }[] =
    []
  const reported: ModEvent[] = []
  const bells = bellSubmitter({
    submit: (text) =>
      new Promise((answer, fail) => {
        submitted.push({ text, answer, fail })
      }),
    busy: () => busy,
    report: (event) => reported.push(event),
  })
  return { submitted, reported, ...bells }
}
const bell = (id: string) => ({ doorbell_id: id, text: `ring ${id}` })

test.each([null, false])(
  'a doorbell is submitted if busy is %s, and reported when a turn began',
  async (busy) => {
    const { submitted, reported, ring } = submitter(busy)
    const rung = ring(bell('a'))
    expect(submitted[0]?.text).toBe('ring a')
    expect(reported).toEqual([])
    submitted[0]?.answer({})
    await rung
    expect(reported).toEqual([{ kind: 'bell', doorbell_id: 'a' }])
  },
)

test('a doorbell is dropped as busy, without a submit, while a turn runs', async () => {
  const { submitted, reported, ring } = submitter(true)
  await ring(bell('a'))
  expect({ submitted, reported }).toEqual({
    submitted: [],
    reported: [{ kind: 'bell', doorbell_id: 'a', dropped: 'busy' }],
  })
})

test('a second doorbell is dropped as busy while one is under way', async () => {
  const { submitted, reported, ring } = submitter()
  const rung = ring(bell('a'))
  await ring(bell('b'))
  submitted[0]?.answer({})
  await rung
  expect(submitted).toHaveLength(1)
  expect(reported).toEqual([
    { kind: 'bell', doorbell_id: 'b', dropped: 'busy' },
    { kind: 'bell', doorbell_id: 'a' },
  ])
})

test.each([
  ['the session was stopped', { dropped: 'stopped' }],
  ['the prompt was removed from the queue before it ran', { dropped: 'dequeued' }],
  ['another reason', { dropped: 'failed', detail: 'another reason' }],
  ['x'.repeat(5_000), { dropped: 'failed', detail: 'x'.repeat(LIMITS.mod_text_length_max) }],
])("the client's reason %.20s has its code", async (drop, expected) => {
  const { submitted, reported, ring } = submitter()
  const rung = ring(bell('a'))
  submitted[0]?.answer({ drop })
  await rung
  expect(reported).toEqual([{ kind: 'bell', doorbell_id: 'a', ...expected }])
})

test('a rejected submit is reported, and the next doorbell is submitted', async () => {
  const { submitted, reported, ring } = submitter()
  const rung = ring(bell('a'))
  submitted[0]?.fail(new Error('no session'))
  await rung
  void ring(bell('b'))
  expect(reported).toEqual([
    { kind: 'bell', doorbell_id: 'a', dropped: 'failed', detail: 'Error: no session' },
  ])
  expect(submitted).toHaveLength(2)
})
