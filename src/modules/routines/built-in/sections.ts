/** Reads several sections in one call; a section that is unavailable is reported with its error code. */
import type { RoutineCall } from '../deps.ts'
import type { RoutineModule } from '../service.ts'
import type { Json } from '../../../contracts/ids.ts'
import type { GivenParams, RoutineStep } from '../../../contracts/runs/routine.ts'

export interface Look {
  routine: string
  /** Read-only steps; the id of each is the name of its section. */
  steps: readonly (RoutineStep & { id: string })[]
  /** Selects the shown part of a result. Default: the whole result. */
  shows: Readonly<Record<string, (result: Record<string, Json>, params: GivenParams) => Json | Unavailable>>
}

/** Marks a section as unavailable although its step succeeded. */
export class Unavailable {
  readonly code: string

  constructor(code: string) {
    this.code = code
  }
}

export interface Sections {
  /** Null for an unavailable section. */
  sections: Record<string, Json>
  /** Error codes of unavailable sections. */
  missing: Record<string, string>
}

/** Stores no report, because the steps change nothing. */
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
  const answer: Sections = { sections: {}, missing: {} }
  for (const { id, status, problem } of report.steps) {
    const { result } = ended.get(id) ?? {}
    const there = status === 'ok' && result !== undefined
    const show = shows[id] ?? ((whole: Json) => whole)
    const shown = there
      ? show(result as Record<string, Json>, params)
      : new Unavailable(problem?.code ?? status)
    answer.sections[id] = shown instanceof Unavailable ? null : shown
    if (shown instanceof Unavailable) answer.missing[id] = shown.code
  }
  return answer
}

/** Returns the first objects of a list, with only these fields. */
export function briefly(list: Json | undefined, fields: readonly string[], limit: number): Json[] {
  return entries(list)
    .slice(0, limit)
    .map((entry) => only(entry, fields))
}

export function entries(list: Json | undefined): Record<string, Json>[] {
  return Array.isArray(list) ? (list as Record<string, Json>[]) : []
}

/** Longer texts are truncated. */
const TEXT_LENGTH_MAX = 200

export function only(value: Record<string, Json>, fields: readonly string[]): Record<string, Json> {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const text = value[field]
      if (text === undefined) return []
      const long = typeof text === 'string' && text.length > TEXT_LENGTH_MAX
      return [[field, long ? `${text.slice(0, TEXT_LENGTH_MAX - 1)}…` : text]]
    }),
  )
}
