/** Fuzzes routines from callers and from files of the home: steps, references, and the patterns of `expect`. */
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import type { Json } from '../../../src/contracts/ids.ts'
import { parseJsonOrNull } from '../../../src/contracts/validation/json.ts'
import { Routine, RoutineSteps, withIds } from '../../../src/contracts/runs/routine.ts'
import { resolved, type Earlier } from '../../../src/modules/routines/references.ts'
import { systemPatterns } from '../../../src/system/patterns.ts'
import { linesOf } from '../seeds.ts'
import { insist, type Target } from '../target.ts'

const PATTERN_LENGTH_MAX = 200

export const routines: Target = {
  name: 'routines',
  promise:
    'steps have ids that differ, a reference leads to what an earlier step found or is refused, a pattern ends in time',
  share: 4,
  bytes_max: 4_096,
  words: [
    '$from',
    '$param',
    'default',
    'look',
    'look.signals.0',
    'steps',
    'matches',
    '(a+)+$',
    '(?<=x)',
    '\\p{L}',
    '[^]',
    '{1,999}',
  ],

  open() {
    const earlier = new Map<string, Earlier>([
      [
        'look',
        { status: 'ok', result: { signals: [{ from: 'ada' }], text: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!' } },
      ],
      ['skipped', { status: 'skipped' }],
    ])
    return {
      seeds: [
        ...linesOf(RoutineSteps, 20),
        ...linesOf(Routine, 10),
        '[{"id":"a","pattern":"^a+$","value":{"$from":"look.signals.0.from"}}]',
        '{"value":{"$from":"skipped.x","default":1},"to":{"$param":"x"}}',
        '"(a+)+$"',
      ],
      attempt(input) {
        const said = parseJsonOrNull(input.toString()) as Json
        const steps = RoutineSteps.safeParse(said)
        if (steps.success) {
          const ids = withIds(steps.data).map(({ id }) => id)
          insist(new Set(ids).size === ids.length, () => `ids that are there twice: ${ids.join()}`)
        }
        const reference = refusable('reference_unknown', () => {
          const found = resolved(said, { params: { x: 1 }, earlier })
          return 'without' in found ? 'without' : 'found'
        })
        const [pattern] = patternsIn(said)
        if (pattern === undefined) return `${steps.success} ${reference}`
        return `${steps.success} ${reference} ${refusable('params_invalid', () => String(systemPatterns.matches(pattern, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!')))}`
      },
    }
  },
}

function refusable(code: string, act: () => string): string {
  try {
    return act()
  } catch (error) {
    if (error instanceof TurnbellError && error.code === code) return code
    throw error
  }
}

/** Returns a text, or the first one in `pattern`. */
function patternsIn(said: unknown): string[] {
  if (typeof said === 'string') return said.length <= PATTERN_LENGTH_MAX ? [said] : []
  if (typeof said !== 'object' || said === null) return []
  return Object.entries(said).flatMap(([name, value]) =>
    name === 'pattern' || typeof value === 'object' ? patternsIn(value) : [],
  )
}
