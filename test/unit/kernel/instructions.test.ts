import { encode } from 'gpt-tokenizer'
import { expect, test } from 'vitest'
import { FACADES } from '../../../src/facades/all.ts'
import { projectInstructions } from '../../../src/kernel/project-instructions.ts'

const TOKENS_MAX = 400

test('what agents are told fits its budget', () => {
  expect(encode(projectInstructions(FACADES)).length).toBeLessThanOrEqual(TOKENS_MAX)
})

test('agents are told the routine, and only of facades that are there', () => {
  const none = projectInstructions([])
  expect(none).toContain('`signals_pending` once')
  expect(none).not.toContain('`ack`')
  const all = projectInstructions(FACADES)
  expect(all).toContain('`ack`')
  for (const facade of FACADES.filter(({ agent_hint }) => agent_hint === undefined))
    expect(all).not.toContain(`\`${facade.name}\``)
})

test('a facade that says nothing to agents costs nothing', () => {
  const [signals] = FACADES
  if (signals === undefined) throw new Error('there is no facade')
  const { agent_hint: _, ...silent } = signals
  expect(projectInstructions([silent])).toBe(projectInstructions([]))
})

test('agents are told how to use what others know, and how to leave what they found out', () => {
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
