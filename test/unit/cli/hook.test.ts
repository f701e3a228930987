import { expect, test } from 'vitest'
import { hookPersona } from '../../../src/cli/hooks/hook-call.ts'
import { OWN_SERVER_PERSONA } from '../../../src/contracts/codex-environment.ts'

test('a hook tells for the persona it names, else for the one its client was started for', () => {
  expect(hookPersona('ada', { TURNBELL_PERSONA: 'bob' })).toBe('ada')
  expect(hookPersona(undefined, { TURNBELL_PERSONA: 'bob' })).toBe('bob')
  expect(hookPersona(undefined, {})).toBeNull()
  expect(hookPersona('No Name', {})).toBeNull()
})

test("a hook of the project's persona tells nothing of a thread that was begun for another", () => {
  expect(hookPersona('bob', { [OWN_SERVER_PERSONA]: 'ada' })).toBeNull()
  expect(hookPersona('ada', { [OWN_SERVER_PERSONA]: 'ada' })).toBe('ada')
  // As an agent's own commands have it, and whatever they start.
  expect(hookPersona('bob', { [OWN_SERVER_PERSONA]: '' })).toBe('bob')
})
