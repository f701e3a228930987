/** The graph: entities of a project and their relations. */
import { defineAction, defineFacade, READERS } from '../kernel/define.ts'
import {
  AddEntityInput,
  AddRelationInput,
  ENTITY_KIND,
  GraphPath,
  GraphQueryAnswer,
  GraphQueryInput,
  Made,
  Neighbors,
  NeighborsInput,
  PathInput,
  RELATION_KIND,
} from '../contracts/memory/graph.ts'
import { MEMORY_READ_ERRORS } from './lib/record-fields.ts'

const FIND_ERRORS = [...MEMORY_READ_ERRORS, 'entity_unknown'] as const

export const graph = defineFacade({
  name: 'graph',
  summary: 'Entities of this project and their relations. Decisions add to them automatically.',
  overview:
    'Entities and relations: add_entity {name, type, properties?}, add_relation {source, target, type}, neighbors {entity, ' +
    'depth?: 1 to 3}, path {from, to}, query {query}.',
  compact: 'Entities and relations.',
  facet: 'core',
  kinds: [ENTITY_KIND, RELATION_KIND],
  actions: {
    add_entity: defineAction({
      summary:
        'Add or change an entity: {name, type: module, function, class, file, concept, …, properties?}.',
      mutates: true,
      idempotent: true,
      aliases: ['twining_add_entity'],
      input: AddEntityInput,
      output: Made,
      errors: [...MEMORY_READ_ERRORS, 'limit_reached'],
      allow: ['agent'],
      examples: [{ name: 'src/auth/jwt.ts', type: 'file', properties: { owner: 'ada' } }],
      handle: (input, call) => call.modules.graph.addEntity(call, input),
    }),

    add_relation: defineAction({
      summary: 'Relate two entities, by id or name: {source, target, type: depends_on, calls, tested_by, …}.',
      mutates: true,
      idempotent: true,
      aliases: ['twining_add_relation'],
      input: AddRelationInput,
      output: Made,
      errors: [...FIND_ERRORS, 'limit_reached'],
      allow: ['agent'],
      examples: [{ source: 'src/auth/jwt.ts', target: 'src/auth/keys.ts', type: 'imports' }],
      handle: (input, call) => call.modules.graph.addRelation(call, input),
    }),

    neighbors: defineAction({
      summary:
        'Neighbours of an entity, nearest first: {entity: id or name, depth?: 1 to 3, relation_types?}.',
      mutates: false,
      aliases: ['twining_neighbors'],
      input: NeighborsInput,
      output: Neighbors,
      errors: FIND_ERRORS,
      allow: READERS,
      examples: [{ entity: 'src/auth/jwt.ts', depth: 2 }],
      handle: (input, call) => call.modules.graph.neighbors(call, input),
    }),

    path: defineAction({
      summary: 'The shortest path between two entities: {from, to, max_length?}.',
      mutates: false,
      input: PathInput,
      output: GraphPath,
      errors: FIND_ERRORS,
      allow: READERS,
      examples: [{ from: 'src/auth/jwt.ts', to: 'src/billing/' }],
      handle: (input, call) => call.modules.graph.path(call, input),
    }),

    query: defineAction({
      summary: 'Find entities by name and properties: {query, entity_types?, limit?}.',
      mutates: false,
      aliases: ['twining_graph_query'],
      input: GraphQueryInput,
      output: GraphQueryAnswer,
      errors: MEMORY_READ_ERRORS,
      allow: READERS,
      examples: [{ query: 'jwt', entity_types: ['file'] }],
      handle: (input, call) => call.modules.graph.query(call, input),
    }),
  },
})
