/** Entity graph of a project. */
import * as z from 'zod'
import { Timestamp, Ulid } from '../ids.ts'
import { LIMITS } from '../limits/limits.ts'
import { toRecordForm, type RecordKind } from './records.ts'

export const EntityType = z.enum([
  ...(['module', 'function', 'class', 'file', 'concept', 'pattern', 'dependency', 'api_endpoint'] as const),
])
export type EntityType = z.infer<typeof EntityType>
export const RelationType = z.enum([
  ...(['depends_on', 'implements', 'decided_by', 'affects', 'tested_by', 'calls', 'imports'] as const),
  ...(['related_to', 'supersedes'] as const),
])
export type RelationType = z.infer<typeof RelationType>

export const EntityName = z.string().min(1).max(LIMITS.entity_name_length_max)
export const Properties = z
  .record(z.string().min(1).max(64), z.string().max(LIMITS.property_length_max))
  .refine((properties) => Object.keys(properties).length <= LIMITS.properties_max, {
    message: `at most ${LIMITS.properties_max} properties`,
  })

const Kept = z.record(z.string(), z.unknown()).default({})

/** Stored entity; imported entities may have types of other tools. */
export const Entity = z
  .looseObject({
    id: Ulid,
    name: z.string().min(1),
    type: z.string().min(1),
    properties: Kept,
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ title: 'Entity' })
export type Entity = z.infer<typeof Entity>

export const Relation = z
  .looseObject({
    id: Ulid,
    /** Ids of entities. */
    source: Ulid,
    target: Ulid,
    type: z.string().min(1),
    properties: Kept,
    created_at: Timestamp,
  })
  .meta({ title: 'Relation' })
export type Relation = z.infer<typeof Relation>

export const Neighbor = z
  .object({
    entity: Entity,
    relation: Relation,
    /** Relative to the entity through which it was found. */
    direction: z.enum(['outgoing', 'incoming']),
  })
  .meta({ title: 'Neighbor' })
export type Neighbor = z.infer<typeof Neighbor>

export const Neighbors = z.object({
  center: Entity,
  /** Nearest first. */
  neighbors: z.array(Neighbor),
  /** There are more neighbours than listed. */
  truncated: z.boolean(),
})
export type Neighbors = z.infer<typeof Neighbors>

export const GraphPath = z.object({
  found: z.boolean(),
  /** Number of relations between the two. */
  length: z.number().int().nullable(),
  entities: z.array(Entity),
  relations: z.array(Relation),
})
export type GraphPath = z.infer<typeof GraphPath>

export const ENTITY_KIND: RecordKind = {
  name: 'entity',
  toRecord: toRecordForm('entity'),
  summary: 'File, function, concept or other node of the graph.',
  keeper: 'project',
  changed_by: 'graph',
  fields: z.strictObject({ name: z.string(), type: z.string(), properties: Kept }),
}

export const RELATION_KIND: RecordKind = {
  name: 'relation',
  toRecord: toRecordForm('relation'),
  summary: 'Relation between two entities.',
  keeper: 'project',
  changed_by: 'graph',
  fields: z.strictObject({ source: Ulid, target: Ulid, type: z.string(), properties: Kept }),
}

export const AddEntityInput = z.strictObject({
  name: EntityName,
  type: EntityType,
  properties: Properties.default({}),
})
export type AddEntityInput = z.infer<typeof AddEntityInput>

export const AddRelationInput = z.strictObject({
  /** By id or by name. */
  source: EntityName,
  target: EntityName,
  type: RelationType,
  properties: Properties.default({}),
})
export type AddRelationInput = z.infer<typeof AddRelationInput>
export const Made = z.object({ id: Ulid })

/** Any stored type: imported entities can have types that cannot be created here. */
const TypeName = z.string().min(1).max(64)
export const NeighborsInput = z.strictObject({
  entity: EntityName,
  depth: z.number().int().min(1).max(LIMITS.graph_depth_max).default(1),
  relation_types: z.array(TypeName).min(1).max(64).optional(),
  limit: z.number().int().min(1).max(LIMITS.neighbors_max).default(100),
})
export type NeighborsInput = z.infer<typeof NeighborsInput>

export const PathInput = z.strictObject({
  from: EntityName,
  to: EntityName,
  max_length: z.number().int().min(1).max(LIMITS.graph_path_length_max).default(6),
})
export type PathInput = z.infer<typeof PathInput>

export const GraphQueryInput = z.strictObject({
  query: z.string().min(1).max(LIMITS.query_length_max),
  entity_types: z.array(TypeName).min(1).max(64).optional(),
  limit: z.number().int().min(1).max(LIMITS.memory_results_max).default(LIMITS.search_results_default),
})
export type GraphQueryInput = z.infer<typeof GraphQueryInput>
export const GraphQueryAnswer = z.object({
  results: z.array(z.object({ entity: Entity, relevance: z.number() })),
})
export type GraphQueryAnswer = z.infer<typeof GraphQueryAnswer>
