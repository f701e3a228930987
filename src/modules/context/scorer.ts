/**
 * How much something that is remembered is worth knowing for a task: six features between 0 and 1, and their sum by
 * the weights of the project.
 *
 * A weighted sum is easy to foresee and to tune; whoever wants another hands another `Scorer` to the assembler.
 */
import type { Confidence, DecisionStatus } from '../../contracts/decision.ts'
import type { EntryType } from '../../contracts/entry.ts'
import type { PriorityWeights } from '../../contracts/project-config.ts'
import { DAY_MS } from '../../ports/clock.ts'

export interface Features {
  /** How much it has to do with the task. */
  similarity: number
  /** How long ago it was said. */
  age_ms: number
  /** How near its scope is. */
  proximity: number
  /** Of a decision. */
  confidence: Confidence | null
  status: DecisionStatus | null
  type: EntryType
  /** How well what it is about is connected with the scope. */
  connectivity: number
}

/** From 0 to 1. */
export type Scorer = (features: Features) => number

const CONFIDENCE: Record<Confidence, number> = { high: 1, medium: 0.6, low: 0.3 }
/** Entries are told as they are known, neither well researched nor guessed. */
const CONFIDENCE_OF_ENTRIES = 0.5
/** Half as good as a decision that nobody doubts. */
const PROVISIONAL = 0.5

/** Warnings first: not to know them costs most. */
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

/** 1 for now, and half as much after every half-life. A time to come counts as now: clocks differ. */
export function recency(age_ms: number, half_life_days: number): number {
  return 0.5 ** (Math.max(age_ms, 0) / DAY_MS / half_life_days)
}

function confidenceOf({ confidence, status }: Features): number {
  if (confidence === null) return CONFIDENCE_OF_ENTRIES
  return CONFIDENCE[confidence] * (status === 'provisional' ? PROVISIONAL : 1)
}
