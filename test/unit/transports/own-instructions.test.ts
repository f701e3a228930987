import { encode } from 'gpt-tokenizer'
import { expect, test } from 'vitest'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { ownInstructions } from '../../../src/bridge/own-instructions.ts'
import { INSTRUCTIONS, instructionsFor } from '../../../src/transports/mcp/instructions.ts'
import { renderPrimer } from '../../../src/modules/context/primer.ts'
import { PRIMER_LIMITS } from '../../../src/contracts/limits/primer.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'

const TOKENS_MAX = 320
const WHO = 'You are ada, an agent in a team (turnbell).\nOther agents: bob (codex).'
const of = (request: () => Promise<Record<string, unknown>>, clock = fakeClock()) =>
  ownInstructions({ identity: 'ada', upstream: { request }, clock })

test("the instructions of a bridge begin with the agent's identity and its teammates", async () => {
  const instructions = of(async () => ({ structuredContent: { text: 'x', who: WHO } }))
  expect(await instructions()).toBe(`${WHO}\n${INSTRUCTIONS}`)
})

test("the instructions contain only the persona's name if the hub is away or refuses", async () => {
  const alone = `You are ada, an agent in a team (turnbell).\n${INSTRUCTIONS}`
  expect(await of(() => Promise.reject(new Error('away')))()).toBe(alone)
  expect(await of(async () => ({ isError: true, structuredContent: { code: 'x' } }))()).toBe(alone)
})

test('the instructions do not introduce a persona that does not exist', async () => {
  const refusal = new TurnbellError('target_unknown', { detail: 'There is no ada.', hint: 'Correct it.' })
  const told = await of(() => Promise.reject(refusal))()
  expect(told).toContain('There is no ada.\nCorrect it.')
  expect(told).not.toContain('You are')
})

test('a hub that does not respond delays the client up to the limit', async () => {
  const clock = fakeClock()
  const told = of(() => new Promise(() => {}), clock)()
  await clock.advance(PRIMER_LIMITS.primer_answer_ms)
  expect(await told).toContain('You are ada')
})

test('observers get the usual instructions', async () => {
  const dispatch = () => Promise.reject(new Error('not called'))
  const caller = { tenant_id: 'local', kind: 'observer' as const, identity: 'eve' }
  expect(await instructionsFor({ dispatch }, { caller })).toBe(INSTRUCTIONS)
})

test('the instructions fit their budget, however many teammates there are', () => {
  const { who } = renderPrimer({
    identity: 'a'.repeat(63),
    project: 'p'.repeat(200),
    teammates: Array.from({ length: 50 }, (_, n) => ({ identity: `agent-${n}`, surface: 'claude-code' })),
    waiting: { count: 0, from: [] },
    in_progress: { count: 0, from: [] },
    memory: [],
  })
  expect(encode(`${who}\n${INSTRUCTIONS}`).length).toBeLessThanOrEqual(TOKENS_MAX)
})
