/** The types of steps that are always there. */
import { callStep } from './call.ts'
import { eventsStep } from './events.ts'
import { execStep } from './exec.ts'
import { expectStep } from './expect.ts'
import { httpStep } from './http.ts'
import { createPatternLine } from './pattern-line.ts'
import type { StepType } from '../step-type.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Patterns } from '../../../ports/patterns.ts'

export function builtInSteps(needs: { patterns: Patterns; clock: Pick<Clock, 'soon'> }): StepType[] {
  return [callStep, execStep, httpStep, expectStep(createPatternLine(needs)), eventsStep]
}
