/** `<root>/.turnbell/config.yml`: what a project wants of its shared memory. */
import * as z from 'zod'
import { LIMITS } from './limits.ts'

const Weight = z.number().min(0).max(10)

/** How much each feature of relevance counts. Only how they relate matters. */
export const PriorityWeights = z.object({
  /** How new it is. */
  recency: Weight.default(0.3),
  /** How much it says of the task. */
  relevance: Weight.default(0.4),
  decision_confidence: Weight.default(0.2),
  /** Warnings before decisions, decisions before findings, findings before the rest. */
  warning_boost: Weight.default(0.1),
  /** How near its scope is to the one asked for. */
  scope_proximity: Weight.default(0.2),
  /** How well what it is about is connected with what the scope is about. */
  graph_connectivity: Weight.default(0.1),
})
export type PriorityWeights = z.infer<typeof PriorityWeights>

export const ProjectConfig = z.object({
  version: z.literal(1).default(1),
  /** The name of the directory where it is empty. */
  project_name: z.string().max(200).default(''),
  embedding_model: z.string().max(200).default('all-MiniLM-L6-v2'),
  archive: z
    .object({
      auto_archive_on_commit: z.boolean().default(true),
      auto_archive_on_context_switch: z.boolean().default(true),
      max_blackboard_entries_before_archive: z.number().int().min(10).max(1_000_000).default(500),
    })
    .prefault({}),
  context_assembly: z
    .object({
      default_max_tokens: z
        .number()
        .int()
        .min(LIMITS.assemble_tokens_min)
        .max(LIMITS.assemble_tokens_max)
        .default(4_000),
      priority_weights: PriorityWeights.prefault({}),
      /** After so many days something counts half as new. */
      recency_half_life_days: z.number().min(0.01).max(10_000).default(7),
    })
    .prefault({}),
  /** Conflicts between decisions are for people to settle. */
  conflict_resolution: z.literal('human').default('human'),
})
export type ProjectConfig = z.infer<typeof ProjectConfig>

export const PROJECT_CONFIG_DEFAULT: ProjectConfig = ProjectConfig.parse({})
