/** What routines need of the rest of the hub. */
import type { Problem } from '../../contracts/errors.ts'
import type { HubEvent } from '../../contracts/events.ts'
import type { Json } from '../../contracts/ids.ts'
import type { KeptReport, Report } from '../../contracts/routine.ts'
import type { Caller } from '../../contracts/token.ts'

/** Who runs something, and what it is about: a handler's own context is one. */
export interface RoutineCall {
  caller: Caller
  context: { scope: string | null }
  kernel: KernelCalls
}

/** The kernel as the caller's own calls see it: what would refuse these refuses a step as well. */
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

/** Reports of former runs, in the order of their generations. */
export interface Reports {
  /** Numbers it and keeps it. Throws `store_unavailable`; then no number is used up. */
  keep(report: UnkeptReport): Promise<KeptReport>
  /** Newest first. */
  list(query: ReportQuery): Promise<KeptReport[]>
}

export interface ReportQuery {
  routine?: string | undefined
  report_id?: string | undefined
  limit: number
}
