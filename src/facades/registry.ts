/** Projects and their names. Personas refer to the same records. */
import * as z from 'zod'
import { defineAction, defineFacade, READERS } from '../kernel/define.ts'
import { Identity } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import { Project, ProjectAlias } from '../contracts/registry.ts'

const Path = z.string().min(1).max(4_096)
/** Id, alias, directory, or any path inside the directory. */
const AnyName = Path

export const registry = defineFacade({
  name: 'registry',
  summary: 'Known projects, their directories and names.',
  overview:
    'Projects: add {path, name?, aliases?}, list, alias {project, alias, remove?}, resolve {project: id, alias or path}.',
  compact: 'Projects and their names.',
  facet: 'admin',
  actions: {
    add: defineAction({
      summary: 'Register a directory as a project: {path, name?, aliases?}.',
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
      handle: (input, { modules: { projects } }) => projects.add(input),
    }),

    remove: defineAction({
      summary: 'Unregister a project and remove its personas; its files stay: {project}.',
      mutates: true,
      idempotent: true,
      destructive: true,
      input: z.strictObject({ project: AnyName }),
      output: z.object({ removed: z.array(Identity) }),
      errors: ['operator_required', 'store_unavailable'],
      allow: [],
      examples: [{ project: 'shop' }],
      handle: ({ project }, { modules: { personas } }) => personas.removeProject(project),
    }),

    list: defineAction({
      summary: 'All known projects with their directories and aliases.',
      mutates: false,
      input: z.strictObject({}),
      output: z.object({ projects: z.array(Project) }),
      errors: [],
      allow: READERS,
      handle: (_, { modules: { projects } }) => ({ projects: projects.list() }),
    }),

    alias: defineAction({
      summary: 'Add or remove an alias of a project: {project, alias, remove?}.',
      mutates: true,
      idempotent: true,
      input: z.strictObject({ project: AnyName, alias: ProjectAlias, remove: z.boolean().default(false) }),
      output: Project,
      errors: ['project_unknown', 'alias_taken', 'limit_reached', 'store_unavailable'],
      allow: ['agent'],
      examples: [{ project: '/home/ada/work/shop', alias: 'shop' }],
      handle: ({ project, alias, remove }, { modules: { projects } }) =>
        projects.alias(project, alias, remove),
    }),

    resolve: defineAction({
      summary: 'Find the project of an id, an alias or a path inside it: {project}.',
      mutates: false,
      input: z.strictObject({ project: AnyName }),
      output: Project,
      errors: ['project_unknown'],
      allow: READERS,
      examples: [{ project: 'shop' }],
      handle: ({ project }, { modules: { projects } }) => projects.get(project),
    }),
  },
})
