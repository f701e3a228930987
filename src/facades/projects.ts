/** Directories that personas belong to. For the operator. */
import * as z from 'zod'
import { defineAction, defineFacade } from '../kernel/define.ts'
import { Identity } from '../contracts/ids.ts'
import { Project } from '../contracts/registry.ts'

export const projects = defineFacade({
  name: 'projects',
  summary: 'Projects that personas belong to.',
  compact: 'Projects of personas.',
  facet: 'core',
  actions: {
    list: defineAction({
      summary: 'All known projects with their root directories.',
      mutates: false,
      input: z.strictObject({}),
      output: z.object({ projects: z.array(Project) }),
      errors: ['operator_required'],
      allow: [],
      handle: (_, { modules: { personas } }) => ({ projects: personas.projects() }),
    }),

    remove: defineAction({
      summary: 'Unregister a project and remove its personas.',
      mutates: true,
      idempotent: true,
      input: z.strictObject({
        /** Id or root directory. */
        project: z.string().min(1).max(4096),
      }),
      output: z.object({ removed: z.array(Identity) }),
      errors: ['operator_required', 'store_unavailable'],
      allow: [],
      examples: [{ project: '/home/ada/shop' }],
      handle: ({ project }, { modules: { personas } }) => personas.removeProject(project),
    }),
  },
})
