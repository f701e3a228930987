/** The newest reports, stored as records of the hub and numbered in the order of storage. */
import type { ReportQuery, Reports } from './deps.ts'
import { KeptReport } from '../../contracts/runs/routine.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Log } from '../../ports/log.ts'
import type { Ids } from '../../ports/random.ts'
import type { RecordStore } from '../../ports/record-store.ts'
import { createSerialQueue } from '../../ports/serial-queue.ts'
import { createTypedRecords, schemaCodec, type TypedRecords } from '../lib/typed-records.ts'

type Known = Pick<KeptReport, 'report_id' | 'generation' | 'routine'>

/** Reads the store on first use. */
export function createReports(deps: {
  records: RecordStore
  ids: Pick<Ids, 'next'>
  log: Pick<Log, 'warn'>
}): Reports {
  const { ids, log } = deps
  const stored = createTypedRecords(
    deps.records,
    schemaCodec('routine_report', KeptReport, (report) => report.report_id),
    log,
  )
  let opened: Promise<Known[]> | null = null
  /** Stored reports, oldest first. */
  const known = (): Promise<Known[]> => {
    opened ??= read(stored)
    // A failed read is retried at the next use.
    opened.catch(() => (opened = null))
    return opened
  }
  // A failed write uses up no number.
  const enqueue = createSerialQueue()

  const forgetOldest = async (kept: Known[]) => {
    while (kept.length > LIMITS.routine_reports_max) {
      const oldest = kept.shift()
      if (oldest === undefined) return
      await stored
        .remove(oldest.report_id)
        .catch((err: unknown) => log.warn({ err, report_id: oldest.report_id }, 'old report not removed'))
    }
  }

  return {
    keep: (unkept) =>
      enqueue(async () => {
        const kept = await known()
        const generation = (kept.at(-1)?.generation ?? 0) + 1
        const report: KeptReport = { report_id: ids.next(), generation, ...unkept }
        await stored.put(report)
        kept.push({ report_id: report.report_id, generation, routine: report.routine })
        await forgetOldest(kept)
        return report
      }),
    async list(query) {
      const wanted = (await known()).filter((one) => isMeant(one, query)).toReversed()
      const found: KeptReport[] = []
      for (const { report_id } of wanted) {
        if (found.length === query.limit) break
        // An unreadable report must not hide the others.
        const report = await stored.get(report_id)
        if (report !== null) found.push(report)
      }
      return found
    },
  }
}

function isMeant(one: Known, { routine, report_id }: ReportQuery): boolean {
  if (report_id !== undefined && one.report_id !== report_id) return false
  return routine === undefined || one.routine === routine
}

async function read(stored: TypedRecords<KeptReport>): Promise<Known[]> {
  return (await stored.list())
    .map(({ report_id, generation, routine }) => ({ report_id, generation, routine }))
    .sort((a, b) => a.generation - b.generation)
}
