/** Personas and their lifecycle. Changes are for the operator; all callers may read. */
import * as z from 'zod'
import { defineAction, defineFacade } from '../kernel/define.ts'
import { unknownPersona } from '../contracts/errors/unknown-persona.ts'
import { Identity, SurfaceKind } from '../contracts/ids.ts'
import { Persona, PersonaOverview } from '../contracts/registry.ts'

const One = z.strictObject({ identity: Identity })

export const personas = defineFacade({
  name: 'personas',
  summary: 'Personas, their sessions and their lifecycle.',
  compact: 'Personas and their lifecycle.',
  facet: 'core',
  actions: {
    add: defineAction({
      summary: 'Create a persona, or restore a wrapped or removed one.',
      mutates: true,
      idempotent: true,
      input: z.strictObject({
        identity: Identity,
        surface: SurfaceKind,
        /** Root directory of its project. */
        project: z.string().min(1).max(4096).optional(),
      }),
      output: Persona,
      errors: ['operator_required', 'limit_reached', 'store_unavailable'],
      allow: [],
      examples: [{ identity: 'alice', surface: 'claude-code' }],
      handle: (input, { modules: { personas } }) => personas.add(input),
    }),

    list: defineAction({
      summary: 'All personas except removed ones, with pending signals and connections.',
      mutates: false,
      input: z.strictObject({}),
      output: z.object({ personas: z.array(PersonaOverview) }),
      errors: [],
      allow: ['agent', 'daemon', 'observer'],
      handle: (_, { modules: { personas } }) => ({ personas: personas.list() }),
    }),

    get: defineAction({
      summary: 'One persona, also if it is removed.',
      mutates: false,
      input: One,
      output: PersonaOverview.partial({ pending_count: true, expired_count: true, registrations: true }),
      errors: ['target_unknown'],
      allow: ['agent', 'daemon', 'observer'],
      examples: [{ identity: 'bob' }],
      handle: ({ identity }, { modules: { personas } }) => {
        const listed = personas.list().find((persona) => persona.identity === identity)
        const persona = listed ?? personas.get(identity)
        if (persona !== null) return persona
        throw unknownPersona(identity, { known: personas.list().map((one) => one.identity) })
      },
    }),

    wrap: defineAction({
      summary: 'Suspend a persona: its daemon stops, it accepts no signals, pending ones are kept.',
      mutates: true,
      idempotent: true,
      aliases: ['prism_wrap'],
      input: One,
      output: Persona,
      errors: ['operator_required', 'target_unknown', 'store_unavailable'],
      allow: [],
      examples: [{ identity: 'bob' }],
      handle: ({ identity }, { modules: { personas } }) => personas.wrap(identity),
    }),

    remove: defineAction({
      summary: 'Suspend a persona and hide it from lists.',
      mutates: true,
      idempotent: true,
      input: One,
      output: Persona,
      errors: ['operator_required', 'target_unknown', 'store_unavailable'],
      allow: [],
      examples: [{ identity: 'bob' }],
      handle: ({ identity }, { modules: { personas } }) => personas.remove(identity),
    }),
  },
})
