import { describe, expect, test } from 'vitest'
import { PROJECT_CONFIG_DEFAULT } from '../../../../src/contracts/memory/project-config.ts'
import { recency, TYPE_BOOST, weightedSum, type Features } from '../../../../src/modules/context/scorer.ts'

const WEIGHTS = PROJECT_CONFIG_DEFAULT.context_assembly.priority_weights
const score = weightedSum(WEIGHTS, 7)

describe('the scorer', () => {
  const features: Features = {
    similarity: 0.5,
    age_ms: 7 * 86_400_000,
    proximity: 0.3,
    confidence: 'medium',
    status: 'active',
    type: 'decision',
    connectivity: 1,
  }

  test('the score is the weighted sum of six features', () => {
    const sum = 0.4 * 0.5 + 0.3 * 0.5 + 0.2 * 0.6 + 0.1 * 0.8 + 0.2 * 0.3 + 0.1 * 1
    expect(score(features)).toBeCloseTo(sum / 1.3, 10)
  })

  test('the score uses only features with a weight in the project', () => {
    const none = Object.fromEntries(Object.keys(WEIGHTS).map((name) => [name, 0])) as typeof WEIGHTS
    expect(weightedSum(none, 7)(features)).toBe(0)
    expect(weightedSum({ ...none, relevance: 3 }, 7)(features)).toBe(0.5)
    expect(weightedSum({ ...none, graph_connectivity: 1 }, 7)(features)).toBe(1)
  })

  test('recency halves after every half-life, and a future time counts as now', () => {
    expect([0, 7, 14].map((days) => recency(days * 86_400_000, 7))).toEqual([1, 0.5, 0.25])
    expect(recency(-1_000_000, 7)).toBe(1)
  })

  test('provisional decisions and low confidence lower the score', () => {
    const of = (changed: Partial<Features>) => score({ ...features, ...changed })
    expect(of({ confidence: 'high' })).toBeGreaterThan(of({ confidence: 'medium' }))
    expect(of({ confidence: 'medium' })).toBeGreaterThan(of({ confidence: 'low' }))
    expect(of({ status: 'provisional' })).toBeLessThan(of({}))
  })

  test('the score ranks warnings before decisions, decisions before findings, findings before the rest', () => {
    const { warning, decision, finding, status } = TYPE_BOOST
    expect([warning, decision, finding, status]).toEqual(
      [warning, decision, finding, status].toSorted((a, b) => b - a),
    )
  })
})
