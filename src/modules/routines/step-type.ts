/** What a type of step is: a declaration, as an action is one. Plugins add theirs beside the built-in ones. */
import * as z from 'zod'
import type { KernelCalls } from './needs.ts'
import type { Reach } from './reach.ts'
import { TurnbellError, type Problem } from '../../contracts/errors.ts'
import type { Json } from '../../contracts/ids.ts'
import { nearest } from '../../contracts/names.ts'
import { StepTypeName, type StepTypeLine } from '../../contracts/routine.ts'
import type { Caller } from '../../contracts/token.ts'

/** What a step may use. */
export interface StepContext {
  caller: Caller
  kernel: KernelCalls
  /** Programs, the network and secrets, as far as the leash goes. */
  reach: Reach
  /** The directory of the project that the call is about. Throws `project_unknown`. */
  root: () => string
}

/** What came of a step; it may have failed and have something to show all the same. */
export type StepDone = { result: Json } | { failure: TurnbellError | Problem; result?: Json }

export interface StepType<I extends z.ZodType = z.ZodType> {
  name: string
  summary: string
  /** Whether it can change anything; a dry run leaves that at a plan. May refuse, as `check` may. */
  mutates: boolean | ((input: z.output<I>, context: StepContext) => boolean)
  /** What it cannot do without the operator's leave. */
  leash?: 'exec' | 'network'
  input: I
  /** Throws what would refuse a run, as far as that can be known without one. For dry runs. */
  check?(input: z.output<I>, context: StepContext): void
  /** Throws refusals. Anything else that it throws is a bug of the step, and the run goes on. */
  run(input: z.output<I>, context: StepContext): Promise<StepDone> | StepDone
}

/** Only gives the literal its types. */
export function defineStep<I extends z.ZodType>(type: StepType<I>): StepType {
  return type
}

export interface StepTypes {
  /** Throws `step_unknown`. */
  get(name: string): StepType
  has(name: string): boolean
  lines(): StepTypeLine[]
}

/** Two types of one name are a mistake of whoever brings the second, and refuse to start. */
export function createStepTypes(builtin: readonly StepType[], more: readonly StepType[] = []): StepTypes {
  const types = new Map<string, StepType>()
  for (const type of [...builtin, ...more]) {
    if (!StepTypeName.safeParse(type.name).success)
      throw new Error(`no type of step may be called ${type.name}`)
    if (types.has(type.name)) throw new Error(`two types of steps are called ${type.name}`)
    types.set(type.name, type)
  }
  let lines: StepTypeLine[] | null = null
  return {
    has: (name) => types.has(name),
    // Made when first asked for: a schema takes longer to describe than anything else here.
    lines: () => (lines ??= [...types.values()].map(lineOf)),
    get(name) {
      const type = types.get(name)
      if (type !== undefined) return type
      const meant = nearest(name, types.keys())
      throw new TurnbellError('step_unknown', {
        detail: `There is no step ${JSON.stringify(name)}. There are: ${[...types.keys()].join(', ')}.`,
        ...(meant === null ? {} : { hint: `Did you mean ${meant}?` }),
      })
    },
  }
}

function lineOf({ name, summary, mutates, leash, input }: StepType): StepTypeLine {
  const { $schema: _, ...input_schema } = z.toJSONSchema(input, { io: 'input' })
  return {
    ...{ name, summary, mutates: typeof mutates === 'boolean' ? mutates : null, leash: leash ?? null },
    input_schema: input_schema as StepTypeLine['input_schema'],
  }
}
