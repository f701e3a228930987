/** Declarations of types of steps. Plugins add types to the built-in ones. */
import * as z from 'zod'
import type { KernelCalls } from './deps.ts'
import type { Reach } from './sandbox.ts'
import { TurnbellError, type Problem } from '../../contracts/errors/errors.ts'
import type { Json } from '../../contracts/ids.ts'
import { nearest } from '../../contracts/text/names.ts'
import { StepTypeName, type StepTypeLine } from '../../contracts/runs/routine.ts'
import type { Caller } from '../../contracts/token.ts'

/** Context of a step. */
export interface StepContext {
  caller: Caller
  kernel: KernelCalls
  /** Programs, the network and secrets, within the sandbox policy. */
  reach: Reach
  /** Root of the call's project. Throws `project_unknown`. */
  root: () => string
}

/** Outcome of a step; a failed one may have a result as well. */
export type StepDone = { result: Json } | { failure: TurnbellError | Problem; result?: Json }

export interface StepType<I extends z.ZodType = z.ZodType> {
  name: string
  summary: string
  /** Whether the step can change anything; a dry run only plans such steps. May throw refusals, as `check`. */
  mutates: boolean | ((input: z.output<I>, context: StepContext) => boolean)
  /** The part of the sandbox policy that it needs. */
  leash?: 'exec' | 'network'
  input: I
  /** For dry runs: throws the refusals of a run that can be determined without running. */
  check?(input: z.output<I>, context: StepContext): void
  /** Throws refusals. Any other error is a bug of the step, and the run continues. */
  run(input: z.output<I>, context: StepContext): Promise<StepDone> | StepDone
}

/** Returns its argument; infers the types of the literal. */
export function defineStep<I extends z.ZodType>(type: StepType<I>): StepType {
  return type
}

export interface StepTypes {
  /** Throws `step_unknown`. */
  get(name: string): StepType
  has(name: string): boolean
  lines(): StepTypeLine[]
}

/** Throws for an invalid name and for two types with one name. */
export function createStepTypes(builtin: readonly StepType[], more: readonly StepType[] = []): StepTypes {
  const types = new Map<string, StepType>()
  for (const type of [...builtin, ...more]) {
    if (!StepTypeName.safeParse(type.name).success)
      throw new Error(`${type.name} is not a valid name of a type of step`)
    if (types.has(type.name)) throw new Error(`two types of steps are called ${type.name}`)
    types.set(type.name, type)
  }
  let lines: StepTypeLine[] | null = null
  return {
    has: (name) => types.has(name),
    // Created on first use, because describing a schema is slow.
    lines: () => (lines ??= [...types.values()].map(lineOf)),
    get(name) {
      const type = types.get(name)
      if (type !== undefined) return type
      const similar = nearest(name, types.keys())
      throw new TurnbellError('step_unknown', {
        detail: `There is no step ${JSON.stringify(name)}. Known steps: ${[...types.keys()].join(', ')}.`,
        ...(similar === null ? {} : { hint: `Did you mean ${similar}?` }),
      })
    },
  }
}

function lineOf({ name, summary, mutates, leash, input }: StepType): StepTypeLine {
  const { $schema: _, ...input_schema } = z.toJSONSchema(input, { io: 'input' })
  return {
    name,
    summary,
    mutates: typeof mutates === 'boolean' ? mutates : null,
    leash: leash ?? null,
    input_schema: input_schema as StepTypeLine['input_schema'],
  }
}
