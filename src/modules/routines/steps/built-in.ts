/** The built-in types of steps. */
import { callStep } from './call.ts'
import { eventsStep } from './events.ts'
import { execStep } from './exec.ts'
import { expectStep } from './expect.ts'
import { httpStep } from './http.ts'
import { createPatternLine } from './pattern-line.ts'
import type { StepType } from '../step-type.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { RegexMatcher } from '../../../ports/regex-matcher.ts'

export function builtInSteps(deps: { patterns: RegexMatcher; clock: Pick<Clock, 'soon'> }): StepType[] {
  return [callStep, execStep, httpStep, expectStep(createPatternLine(deps)), eventsStep]
}
