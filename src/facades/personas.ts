/** Which personas exist, and their lifecycle. For the operator; everybody may look. */
import * as z from 'zod'
import { defineAction, defineFacade } from '../kernel/define.ts'
import { unknownPersona } from '../contracts/unknown-persona.ts'
import { Identity, SurfaceKind } from '../contracts/ids.ts'
import { Persona, PersonaOverview } from '../contracts/registry.ts'

const One = z.strictObject({ identity: Identity })

export const personas = defineFacade({
  name: 'personas',
  summary: 'Which personas exist, who is there for them, and their lifecycle.',
  compact: 'Personas and their lifecycle.',
  facet: 'core',
  actions: {
    add: defineAction({
      summary: 'Make a persona, or bring a wrapped or removed one back.',
      mutates: true,
      idempotent: true,
      input: z.strictObject({
        identity: Identity,
        surface: SurfaceKind,
        /** Root directory of the project it belongs to. */
        project: z.string().min(1).max(4096).optional(),
      }),
      output: Persona,
      errors: ['operator_required', 'limit_reached', 'store_unavailable'],
      allow: [],
      examples: [{ identity: 'alice', surface: 'claude-code' }],
      handle: (input, { personas }) => personas.add(input),
    }),

    list: defineAction({
      summary: 'All personas that are not removed, with what waits for them and who is connected.',
      mutates: false,
      input: z.strictObject({}),
      output: z.object({ personas: z.array(PersonaOverview) }),
      errors: [],
      allow: ['agent', 'daemon', 'observer'],
      handle: (_, { personas }) => ({ personas: personas.list() }),
    }),

    get: defineAction({
      summary: 'One persona, also a removed one.',
      mutates: false,
      input: One,
      output: PersonaOverview.partial({ pending_count: true, expired_count: true, registrations: true }),
      errors: ['target_unknown'],
      allow: ['agent', 'daemon', 'observer'],
      examples: [{ identity: 'bob' }],
      handle: ({ identity }, { personas }) => {
        const listed = personas.list().find((persona) => persona.identity === identity)
        const persona = listed ?? personas.get(identity)
        if (persona !== null) return persona
        throw unknownPersona(identity, { known: personas.list().map((one) => one.identity) })
      },
    }),

    wrap: defineAction({
      summary: 'Let a persona rest: its daemon stops, it takes no signals, what waits is kept.',
      mutates: true,
      idempotent: true,
      aliases: ['prism_wrap'],
      input: One,
      output: Persona,
      errors: ['operator_required', 'target_unknown', 'store_unavailable'],
      allow: [],
      examples: [{ identity: 'bob' }],
      handle: ({ identity }, { personas }) => personas.wrap(identity),
    }),

    remove: defineAction({
      summary: 'As wrap, and it disappears from lists.',
      mutates: true,
      idempotent: true,
      input: One,
      output: Persona,
      errors: ['operator_required', 'target_unknown', 'store_unavailable'],
      allow: [],
      examples: [{ identity: 'bob' }],
      handle: ({ identity }, { personas }) => personas.remove(identity),
    }),
  },
})
