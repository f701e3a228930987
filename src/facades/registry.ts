/** Which projects there are, and the names they go by. One record a project, which personas refer to as well. */
import * as z from 'zod'
import { defineAction, defineFacade, READERS } from '../kernel/define.ts'
import { Identity } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits.ts'
import { Project, ProjectAlias } from '../contracts/registry.ts'

const Path = z.string().min(1).max(4_096)
/** Its id, an alias, its directory, or any path inside of that. */
const AnyName = Path

export const registry = defineFacade({
  name: 'registry',
  summary: 'Which projects there are, where they are, and the names they go by.',
  overview:
    'Projects: add {path, name?, aliases?}, list, alias {project, alias, remove?}, resolve {project: id, alias or path}.',
  compact: 'Projects and their names.',
  facet: 'admin',
  actions: {
    add: defineAction({
      summary: 'Make a directory known as a project: {path, name?, aliases?}.',
      mutates: true,
      idempotent: true,
      input: z.strictObject({
        path: Path,
        name: z.string().min(1).max(128).optional(),
        aliases: z.array(ProjectAlias).max(LIMITS.project_aliases_max).optional(),
      }),
      output: Project,
      errors: ['project_unknown', 'alias_taken', 'limit_reached', 'store_unavailable'],
      allow: ['agent'],
      examples: [{ path: '/home/ada/work/shop', name: 'Shop', aliases: ['shop'] }],
      handle: (input, { projects }) => projects.add(input),
    }),

    remove: defineAction({
      summary: 'Forget a project and remove every persona that belongs to it; its files stay: {project}.',
      mutates: true,
      idempotent: true,
      destructive: true,
      input: z.strictObject({ project: AnyName }),
      output: z.object({ removed: z.array(Identity) }),
      errors: ['operator_required', 'store_unavailable'],
      allow: [],
      examples: [{ project: 'shop' }],
      handle: ({ project }, { personas }) => personas.removeProject(project),
    }),

    list: defineAction({
      summary: 'All known projects with their directories and aliases.',
      mutates: false,
      input: z.strictObject({}),
      output: z.object({ projects: z.array(Project) }),
      errors: [],
      allow: READERS,
      handle: (_, { projects }) => ({ projects: projects.list() }),
    }),

    alias: defineAction({
      summary: 'Give a project another name, or take one away: {project, alias, remove?}.',
      mutates: true,
      idempotent: true,
      input: z.strictObject({ project: AnyName, alias: ProjectAlias, remove: z.boolean().default(false) }),
      output: Project,
      errors: ['project_unknown', 'alias_taken', 'limit_reached', 'store_unavailable'],
      allow: ['agent'],
      examples: [{ project: '/home/ada/work/shop', alias: 'shop' }],
      handle: ({ project, alias, remove }, { projects }) => projects.alias(project, alias, remove),
    }),

    resolve: defineAction({
      summary: 'Which project is meant by an id, an alias or a path, also one inside of it: {project}.',
      mutates: false,
      input: z.strictObject({ project: AnyName }),
      output: Project,
      errors: ['project_unknown'],
      allow: READERS,
      examples: [{ project: 'shop' }],
      handle: ({ project }, { projects }) => projects.get(project),
    }),
  },
})
