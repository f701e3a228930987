/** Tests that reports are ordered by their generations, whatever the clock shows. */
import { beforeEach, describe, expect, test } from 'vitest'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import type { Reports, UnkeptReport } from '../../../../src/modules/routines/deps.ts'
import { createReports } from '../../../../src/modules/routines/reports.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import type { RecordStore } from '../../../../src/ports/record-store.ts'
import { createMemoryRecordStore } from '../../../../src/storage/memory/record-store.ts'
import { createIds } from '../../../../src/system/random.ts'
import { fakeClock, seededRandom, type FakeClock } from '../../../support/fakes/fake-clock.ts'
import { refusedWith } from '../../../support/worlds/small-hub.ts'

let records: RecordStore
let clock: FakeClock
let reports: Reports

const open = () =>
  createReports({
    records,
    ids: createIds(clock, seededRandom()),
    log: silentLog,
  })
const report = (routine: string | null = null): UnkeptReport => ({
  routine,
  identity: 'ada',
  dry_run: false,
  ok: true,
  duration_ms: 1,
  failures: 0,
  started_at: new Date(clock.now()).toISOString(),
  steps: [{ id: 'say_1', step: 'say', status: 'ok', duration_ms: 1, result: { a: 1 } }],
})
const generations = async (query: Parameters<Reports['list']>[0]) =>
  (await reports.list(query)).map(({ generation }) => generation)

beforeEach(() => {
  records = createMemoryRecordStore()
  clock = fakeClock()
  reports = open()
})

describe('a report', () => {
  test('a report is returned as stored, with its number', async () => {
    const told = report('nightly')
    const kept = await reports.keep(told)
    expect(kept).toEqual({
      ...told,
      generation: 1,
      report_id: expect.stringMatching(/^[0-9A-Z]{26}$/) as string,
    })
    expect(await reports.list({ report_id: kept.report_id, limit: 5 })).toEqual([kept])
    expect(await reports.list({ report_id: '01JZ0000000000000000000000', limit: 5 })).toEqual([])
  })

  test('concurrent reports have consecutive numbers', async () => {
    const kept = await Promise.all([1, 2, 3].map(() => reports.keep(report())))
    expect(kept.map(({ generation }) => generation)).toEqual([1, 2, 3])
    expect(await generations({ limit: 9 })).toEqual([3, 2, 1])
    expect(await generations({ limit: 2 })).toEqual([3, 2])
  })

  test('an unreadable report does not hide others', async () => {
    await reports.keep(report())
    const { report_id } = await reports.keep(report())
    const body = await records.get('routine_report', report_id)
    await records.put('routine_report', report_id, { ...body, steps: 'none' })
    expect(await generations({ limit: 1 })).toEqual([1])
  })

  test('a report stays in order when the clock is set back', async () => {
    await reports.keep(report())
    clock.setBack(24 * 3_600_000)
    await reports.keep(report())
    expect(await generations({ limit: 9 })).toEqual([2, 1])
    reports = open()
    expect((await reports.keep(report())).generation).toBe(3)
    expect(await generations({ limit: 9 })).toEqual([3, 2, 1])
  })

  test('a report is found by its routine', async () => {
    for (const routine of ['a', 'b', null, 'a']) await reports.keep(report(routine))
    expect(await generations({ routine: 'a', limit: 9 })).toEqual([4, 1])
    expect(await generations({ routine: 'c', limit: 9 })).toEqual([])
  })

  test('a report that was not stored uses no number', async () => {
    let full = true
    const put: RecordStore['put'] = (...record) =>
      full
        ? Promise.reject(new TurnbellError('store_unavailable', { detail: 'It is full.' }))
        : records.put(...record)
    reports = createReports({
      records: { ...records, put },
      ids: createIds(clock, seededRandom()),
      log: silentLog,
    })
    expect(await refusedWith(() => reports.keep(report()))).toBe('store_unavailable')
    full = false
    expect((await reports.keep(report())).generation).toBe(1)
    expect(await generations({ limit: 9 })).toEqual([1])
  })

  test('a report that is unreadable now may be readable later', async () => {
    await reports.keep(report())
    let broken = true
    const list: RecordStore['list'] = (kind) =>
      broken
        ? Promise.reject(new TurnbellError('store_unavailable', { detail: 'It is away.' }))
        : records.list(kind)
    reports = createReports({
      records: { ...records, list },
      ids: createIds(clock, seededRandom()),
      log: silentLog,
    })
    expect(await refusedWith(() => reports.list({ limit: 1 }))).toBe('store_unavailable')
    expect(await refusedWith(() => reports.keep(report()))).toBe('store_unavailable')
    broken = false
    expect((await reports.keep(report())).generation).toBe(2)
  })

  test('an invalid report is quarantined', async () => {
    const kept = await reports.keep(report())
    await reports.keep(report())
    await records.put('routine_report', kept.report_id, { routine: null, generation: 'one' })
    await records.put('routine_report', 'x', { hello: 1 })
    expect(await generations({ limit: 9 })).toEqual([2])
    reports = open()
    expect(await generations({ limit: 9 })).toEqual([2])
    expect(await records.list('routine_report')).toHaveLength(1)
  })

  test('reports beyond the limit are forgotten, oldest first', async () => {
    for (let n = 0; n < LIMITS.routine_reports_max + 2; n++) await reports.keep(report())
    const rows = await records.list('routine_report')
    expect(rows).toHaveLength(LIMITS.routine_reports_max)
    expect((await generations({ limit: LIMITS.routine_reports_max })).at(-1)).toBe(3)
  })
})
