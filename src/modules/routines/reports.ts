/** The newest reports, in the hub's own records: one record each, numbered in the order in which they were kept. */
import type { ReportQuery, Reports } from './needs.ts'
import { KeptReport } from '../../contracts/routine.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Log } from '../../ports/log.ts'
import type { Ids } from '../../ports/random.ts'
import type { RecordBody, RecordStore } from '../../ports/record-store.ts'

const KIND = 'routine_report'

type Known = Pick<KeptReport, 'report_id' | 'generation' | 'routine'>

/** Nothing is read before something is asked for. */
export function createReports(needs: {
  records: Pick<RecordStore, 'list' | 'get' | 'put' | 'remove'>
  ids: Pick<Ids, 'next'>
  log: Pick<Log, 'warn'>
}): Reports {
  const { records, ids, log } = needs
  let opened: Promise<Known[]> | null = null
  /** What is there, oldest first. */
  const known = (): Promise<Known[]> => {
    opened ??= read(needs)
    // A store that cannot be read now may be mended later.
    opened.catch(() => (opened = null))
    return opened
  }
  // One at a time: a number is used up only by what was kept.
  let turn: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = turn.then(work)
    turn = mine.catch(() => undefined)
    return mine
  }

  const forgetOldest = async (kept: Known[]) => {
    while (kept.length > LIMITS.routine_reports_max) {
      const oldest = kept.shift()
      if (oldest === undefined) return
      await records
        .remove(KIND, oldest.report_id)
        .catch((err: unknown) => log.warn({ err, report_id: oldest.report_id }, 'an old report stays'))
    }
  }

  return {
    keep: (unkept) =>
      inTurn(async () => {
        const kept = await known()
        const generation = (kept.at(-1)?.generation ?? 0) + 1
        const report: KeptReport = { report_id: ids.next(), generation, ...unkept }
        await records.put(KIND, report.report_id, report as unknown as RecordBody)
        kept.push({ report_id: report.report_id, generation, routine: report.routine })
        await forgetOldest(kept)
        return report
      }),
    async list(query) {
      const wanted = (await known()).filter((one) => isMeant(one, query)).toReversed()
      const found: KeptReport[] = []
      for (const { report_id } of wanted) {
        if (found.length === query.limit) break
        // One that cannot be read hides no other.
        const parsed = KeptReport.safeParse(await records.get(KIND, report_id))
        if (parsed.success) found.push(parsed.data)
      }
      return found
    },
  }
}

function isMeant(one: Known, { routine, report_id }: ReportQuery): boolean {
  if (report_id !== undefined && one.report_id !== report_id) return false
  return routine === undefined || one.routine === routine
}

async function read({ records, log }: Parameters<typeof createReports>[0]): Promise<Known[]> {
  const found = (await records.list(KIND)).flatMap(({ id, body }) => {
    const parsed = KeptReport.safeParse(body)
    if (parsed.success && parsed.data.report_id === id) return [parsed.data]
    log.warn({ kind: KIND, id }, 'a record does not fit its schema and is left out')
    return []
  })
  return found
    .map(({ report_id, generation, routine }) => ({ report_id, generation, routine }))
    .sort((a, b) => a.generation - b.generation)
}
