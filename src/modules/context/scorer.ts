/**
 * Scores records for a task: six features between 0 and 1, summed by the weights of the project.
 *
 * A weighted sum is predictable and easy to tune. The assembler accepts any other `Scorer`.
 */
import type { Confidence, DecisionStatus } from '../../contracts/memory/decision.ts'
import type { EntryType } from '../../contracts/memory/entry.ts'
import type { PriorityWeights } from '../../contracts/memory/project-config.ts'
import { DAY_MS } from '../../ports/clock.ts'

export interface Features {
  /** Similarity to the task. */
  similarity: number
  age_ms: number
  /** Nearness of its scope. */
  proximity: number
  /** Null for entries. */
  confidence: Confidence | null
  status: DecisionStatus | null
  type: EntryType
  /** Connectivity of its subject with the scope. */
  connectivity: number
}

/** From 0 to 1. */
export type Scorer = (features: Features) => number

const CONFIDENCE: Record<Confidence, number> = { high: 1, medium: 0.6, low: 0.3 }
/** Between medium and low, because entries have no confidence of their own. */
const CONFIDENCE_OF_ENTRIES = 0.5
/** Factor of provisional decisions. */
const PROVISIONAL = 0.5

/** Warnings first, because missing a warning costs the most. */
export const TYPE_BOOST: Record<EntryType, number> = {
  warning: 1,
  decision: 0.8,
  need: 0.7,
  question: 0.65,
  constraint: 0.65,
  finding: 0.5,
  answer: 0.4,
  artifact: 0.3,
  offer: 0.3,
  status: 0.1,
}

export function weightedSum(weights: PriorityWeights, half_life_days: number): Scorer {
  const all = Object.values(weights).reduce((sum, weight) => sum + weight, 0)
  if (all === 0) return () => 0
  return (features) => {
    const { similarity, age_ms, proximity, type, connectivity } = features
    const sum =
      weights.relevance * similarity +
      weights.recency * recency(age_ms, half_life_days) +
      weights.decision_confidence * confidenceOf(features) +
      weights.warning_boost * TYPE_BOOST[type] +
      weights.scope_proximity * proximity +
      weights.graph_connectivity * connectivity
    return sum / all
  }
}

/** Returns 1 for now and half after every half-life. Future times count as now, because clocks differ. */
export function recency(age_ms: number, half_life_days: number): number {
  return 0.5 ** (Math.max(age_ms, 0) / DAY_MS / half_life_days)
}

function confidenceOf({ confidence, status }: Features): number {
  if (confidence === null) return CONFIDENCE_OF_ENTRIES
  return CONFIDENCE[confidence] * (status === 'provisional' ? PROVISIONAL : 1)
}
