/** Dependencies of the routines module. */
import type { Problem } from '../../contracts/errors/errors.ts'
import type { HubEvent } from '../../contracts/events.ts'
import type { Json } from '../../contracts/ids.ts'
import type { KeptReport, Report } from '../../contracts/runs/routine.ts'
import type { Caller } from '../../contracts/token.ts'

/** The caller of a routine and the scope of the call. The context of a handler is one. */
export interface RoutineCall {
  caller: Caller
  context: { scope: string | null }
  kernel: KernelCalls
}

/** The kernel as the caller sees it; steps are permitted as the caller's own calls. */
export interface KernelCalls {
  call(facade: string, action: string, params: unknown): Promise<Outcome>
  check(facade: string, action: string, params: unknown): { mutates: boolean }
  events(wanted: {
    types?: readonly string[] | undefined
    text?: string | undefined
    limit: number
  }): HubEvent[]
}

type Outcome = { ok: true; result: Json } | { ok: false; problem: Problem }

export type UnkeptReport = Omit<Report, 'report_id' | 'generation'>

/** Reports of earlier runs, in the order of their generations. */
export interface Reports {
  /** Numbers and stores a report. Throws `store_unavailable`; then no number is used up. */
  keep(report: UnkeptReport): Promise<KeptReport>
  /** Newest first. */
  list(query: ReportQuery): Promise<KeptReport[]>
}

export interface ReportQuery {
  routine?: string | undefined
  report_id?: string | undefined
  limit: number
}
