import { expect, test } from 'vitest'
import { addConfiguredPersonas } from '../../../src/hub/configured-personas.ts'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import type { Persona, PersonaState } from '../../../src/contracts/registry.ts'
import { silentLog } from '../../../src/ports/log.ts'

const persona = (identity: string, state: PersonaState): Persona => ({
  ...{ identity, surface: 'mcp', state },
  ...{ created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-01T00:00:00.000Z' },
})

test('configured personas exist from the start, and only wrapped ones stay unchanged', async () => {
  const states: Record<string, PersonaState> = { rests: 'wrapped', again: 'removed', known: 'active' }
  const added: string[] = []
  const warned: object[] = []
  await addConfiguredPersonas(
    {
      get: (identity) => (states[identity] === undefined ? null : persona(identity, states[identity])),
      add: async ({ identity }) => {
        added.push(identity)
        if (identity === 'operator') throw new TurnbellError('params_invalid', { detail: 'reserved' })
        return persona(identity, 'active')
      },
    },
    {
      fresh: { surface: 'mcp' },
      rests: { surface: 'mcp' },
      operator: { surface: 'mcp' },
      again: { surface: 'mcp' },
      known: { surface: 'codex' },
    },
    { ...silentLog, warn: (fields) => void warned.push(fields) },
  )
  expect(added).toEqual(['fresh', 'operator', 'again', 'known'])
  expect(warned).toMatchObject([{ identity: 'operator' }])
})
