import { encode } from 'gpt-tokenizer'
import { expect, test } from 'vitest'
import { FACADES } from '../../../src/facades/all.ts'
import { projectInstructions } from '../../../src/kernel/projections/project-instructions.ts'

const TOKENS_MAX = 400

test('the instructions fit their budget', () => {
  expect(encode(projectInstructions(FACADES)).length).toBeLessThanOrEqual(TOKENS_MAX)
})

test('the instructions contain the routine, and only facades that exist', () => {
  const none = projectInstructions([])
  expect(none).toContain('`signals_pending` once')
  expect(none).not.toContain('`ack`')
  const all = projectInstructions(FACADES)
  expect(all).toContain('`ack`')
  for (const facade of FACADES.filter(({ agent_hint }) => agent_hint === undefined))
    expect(all).not.toContain(`\`${facade.name}\``)
})

test('a facade without instructions adds nothing', () => {
  const [signals] = FACADES
  if (signals === undefined) throw new Error('there is no facade')
  const { agent_hint: _, ...silent } = signals
  expect(projectInstructions([silent])).toBe(projectInstructions([]))
})

test('the instructions explain how to use and share knowledge', () => {
  const told = projectInstructions(FACADES)
  for (const part of [
    ...['`context assemble`', 'open needs', 'warnings', '`decisions why`', '`blackboard post`'],
    ...[
      'finding or warning',
      '`decisions decide`',
      'rationale',
      'at least one alternative with reason_rejected',
    ],
    ...[
      'high (researched, tested)',
      'medium (some',
      'low (a guess)',
      'status before you rely on a provisional',
    ],
    ...['only by `decisions reconsider`', 'relates_to'],
  ])
    expect(told).toContain(part)
})
