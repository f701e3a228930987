/** `<root>/.turnbell/config.yml`: settings of a project's shared memory. */
import * as z from 'zod'
import { LIMITS } from '../limits/limits.ts'

const Weight = z.number().min(0).max(10)

/** Relative weights of the ranking features. */
export const PriorityWeights = z.object({
  /** Recency. */
  recency: Weight.default(0.3),
  /** Relevance to the task. */
  relevance: Weight.default(0.4),
  decision_confidence: Weight.default(0.2),
  /** Warnings before decisions, decisions before findings, findings before the rest. */
  warning_boost: Weight.default(0.1),
  /** Proximity of its scope to the requested one. */
  scope_proximity: Weight.default(0.2),
  /** Connection between its entities and those of the scope. */
  graph_connectivity: Weight.default(0.1),
})
export type PriorityWeights = z.infer<typeof PriorityWeights>

export const ProjectConfig = z.object({
  version: z.literal(1).default(1),
  /** Default: the name of the directory. */
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
      /** Half-life of recency, in days. */
      recency_half_life_days: z.number().min(0.01).max(10_000).default(7),
    })
    .prefault({}),
  /** Conflicts between decisions are resolved by people. */
  conflict_resolution: z.literal('human').default('human'),
})
export type ProjectConfig = z.infer<typeof ProjectConfig>

export const PROJECT_CONFIG_DEFAULT: ProjectConfig = ProjectConfig.parse({})
