/**
 * Looking at several things at once: each is a section of its own, and one that is not to be had is told by its code.
 */
import type { RoutineCall } from '../needs.ts'
import type { RoutineModule } from '../service.ts'
import type { Json } from '../../../contracts/ids.ts'
import type { GivenParams, RoutineStep } from '../../../contracts/routine.ts'

export interface Look {
  routine: string
  /** Steps that only read; the id of each names its section. */
  steps: readonly (RoutineStep & { id: string })[]
  /** What of a result its section shows; all of it where nothing is said. */
  shows: Readonly<Record<string, (result: Record<string, Json>, params: GivenParams) => Json | Away>>
}

/** What a section shows that is not to be had after all. */
export class Away {
  readonly code: string

  constructor(code: string) {
    this.code = code
  }
}

export interface Sections {
  /** Null where it is not to be had. */
  sections: Record<string, Json>
  /** Why, by the code of what refused it. */
  missing: Record<string, string>
}

/** Nothing is kept of it: who only looks changes nothing. */
export async function look(
  routines: Pick<RoutineModule, 'perform'>,
  call: RoutineCall,
  { routine, steps, shows }: Look,
  params: GivenParams = {},
): Promise<Sections> {
  const { report, ended } = await routines.perform(call, {
    routine,
    steps,
    params,
    dry_run: false,
    keep: false,
  })
  const told: Sections = { sections: {}, missing: {} }
  for (const { id, status, problem } of report.steps) {
    const { result } = ended.get(id) ?? {}
    const there = status === 'ok' && result !== undefined
    const show = shows[id] ?? ((whole: Json) => whole)
    const shown = there ? show(result as Record<string, Json>, params) : new Away(problem?.code ?? status)
    told.sections[id] = shown instanceof Away ? null : shown
    if (shown instanceof Away) told.missing[id] = shown.code
  }
  return told
}

/** Of a list of objects in a result the first few, with only these fields. */
export function briefly(list: Json | undefined, fields: readonly string[], limit: number): Json[] {
  return entries(list)
    .slice(0, limit)
    .map((entry) => only(entry, fields))
}

export function entries(list: Json | undefined): Record<string, Json>[] {
  return Array.isArray(list) ? (list as Record<string, Json>[]) : []
}

/** What is longer is only mentioned here. */
const TEXT_LENGTH_MAX = 200

export function only(value: Record<string, Json>, fields: readonly string[]): Record<string, Json> {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const told = value[field]
      if (told === undefined) return []
      const long = typeof told === 'string' && told.length > TEXT_LENGTH_MAX
      return [[field, long ? `${told.slice(0, TEXT_LENGTH_MAX - 1)}…` : told]]
    }),
  )
}
