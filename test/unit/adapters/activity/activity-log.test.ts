/** Tests the reports of an adapter's activity: numbers, order, the spool, and that nothing waits or fails. */
import { createHash } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import { createActivityLog, type ActivityLog } from '../../../../adapters/activity/activity-log.ts'
import type { Captured } from '../../../../adapters/activity/captured.ts'
import type { StoredNumbers } from '../../../../adapters/activity/session-numbers.ts'
import {
  ActivityReport,
  type ActivityReceipt,
  type ReportedEvent,
} from '../../../../src/contracts/activity/event.ts'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { createIds } from '../../../../src/system/random.ts'
import { atRest, fakeClock, seededRandom, type FakeClock } from '../../../support/fakes/fake-clock.ts'

type Answer = (report: ActivityReport) => ActivityReceipt | Promise<ActivityReceipt>

let clock: FakeClock
let sent: ActivityReport[]
let spooled: ActivityReport[]
let stored: Map<string, StoredNumbers>
let answer: Answer
let spool: (report: ActivityReport) => boolean
let redact: (event: ReportedEvent) => Promise<ReportedEvent>

const taken: Answer = ({ events }) => ({
  accepted: events.length,
  duplicates: 0,
  next_seq: (events.at(-1)?.seq ?? 0) + 1,
})
const away: Answer = () => {
  throw new TurnbellError('hub_unreachable', { detail: 'no hub runs' })
}

function open(with_texts = true): ActivityLog {
  return createActivityLog({
    client: 'claude-code',
    ids: createIds(clock, seededRandom()),
    clock,
    with_texts,
    redact: (event) => redact(event),
    async send(report) {
      const whole = ActivityReport.parse(structuredClone(report))
      if (whole.events.length > 0) sent.push(whole)
      return answer(whole)
    },
    spool: (report) => spool(ActivityReport.parse(structuredClone(report))),
    numbers: {
      read: (session_id) => stored.get(session_id) ?? null,
      write: (session_id, numbers) => void stored.set(session_id, numbers),
    },
    log: silentLog,
  })
}

beforeEach(() => {
  clock = fakeClock()
  sent = []
  spooled = []
  stored = new Map()
  answer = taken
  spool = (report) => {
    spooled.push(report)
    return true
  }
  redact = async (event) => event
})

const action = (action_id: string, input: string = ''): Captured => ({
  kind: 'action.started',
  data: { action_id, tool: 'Bash', input },
})
const of = (session_id = 's1') => ({ session_id, source: 'mod' }) as const
const seqs = (reports: ActivityReport[]) => reports.map(({ events }) => events.map(({ seq }) => seq))
const idsOf = (reports: ActivityReport[]) =>
  reports.flatMap(({ events }) => events.map(({ data }) => ('action_id' in data ? data.action_id : '')))

async function recorded(log: ActivityLog, ...names: string[]): Promise<void> {
  for (const name of names) log.record(action(name), of())
  await clock.advance(0)
}

test('events are numbered from 1 and leave at once, then in batches', async () => {
  const log = open()
  await recorded(log, 'a', 'b')
  expect(seqs(sent)).toEqual([[1, 2]])
  await recorded(log, 'c')
  await recorded(log, 'd')
  expect(sent).toHaveLength(1)
  await clock.advance(LIMITS.activity_batch_ms)
  expect(seqs(sent)).toEqual([
    [1, 2],
    [3, 4],
  ])
  expect(sent[0]).toMatchObject({ session_id: 's1', client: 'claude-code' })
  expect(clock.armed()).toBe(0)
})

test('a report leaves only after the one before it was answered, and after its numbers were stored', async () => {
  const log = open()
  const answers: (() => void)[] = []
  answer = (report) => {
    if (report.events.length > 0)
      expect(stored.get('s1')?.next_seq).toBe((report.events.at(-1)?.seq ?? 0) + 1)
    return new Promise((resolve) => answers.push(() => resolve(taken(report))))
  }
  await recorded(log, 'a')
  // The hub is first asked for the numbers that it knows.
  answers.shift()?.()
  await atRest()
  await recorded(log, 'b')
  await clock.advance(LIMITS.activity_batch_ms)
  expect(seqs(sent)).toEqual([[1]])
  answers.shift()?.()
  await atRest()
  await clock.advance(LIMITS.activity_batch_ms)
  expect(seqs(sent)).toEqual([[1], [2]])
})

test('a restarted adapter continues above its stored numbers, and the turn too', async () => {
  const log = open()
  expect(log.isKnown('s1')).toBe(false)
  expect(log.record({ kind: 'request.started', data: {} }, of())).toBe(1)
  await recorded(log, 'a')
  const next = open()
  expect(next.isKnown('s1')).toBe(true)
  expect(next.record(action('b'), of())).toBe(1)
  expect(next.record({ kind: 'request.started', data: {} }, of())).toBe(2)
  await clock.advance(LIMITS.activity_batch_ms)
  expect(seqs(sent)).toEqual([
    [1, 2],
    [3, 4],
  ])
})

test('an adapter without stored numbers continues above those of the hub, also when the hub knows more later', async () => {
  const log = open()
  answer = (report) => ({ ...(taken(report) as ActivityReceipt), next_seq: 41 })
  await recorded(log, 'a')
  answer = () => ({ accepted: 1, duplicates: 0, next_seq: 60 })
  await clock.advance(LIMITS.activity_batch_ms)
  await recorded(log, 'b')
  await clock.advance(LIMITS.activity_batch_ms)
  await recorded(log, 'c')
  await clock.advance(LIMITS.activity_batch_ms)
  expect(seqs(sent)).toEqual([[41], [42], [60]])
})

test('what a hub that is away does not take is spooled in order, and later events follow directly', async () => {
  const log = open()
  answer = away
  await recorded(log, 'a')
  await recorded(log, 'b')
  expect(seqs(spooled)).toEqual([[1]])
  await clock.advance(LIMITS.activity_retry_ms)
  expect(seqs(spooled)).toEqual([[1], [2]])
  answer = taken
  await recorded(log, 'c')
  await clock.advance(LIMITS.activity_retry_ms)
  expect([seqs(spooled), seqs(sent)]).toEqual([[[1], [2]], [[3]]])
})

test('a hub that does not answer in time gets the report by the spool', async () => {
  stored.set('s1', { next_seq: 1, turn_seq: 0 })
  const log = open()
  answer = () => new Promise(() => {})
  await recorded(log, 'a')
  await clock.advance(LIMITS.activity_answer_ms - 1)
  expect(spooled).toEqual([])
  await clock.advance(1)
  expect(seqs(spooled)).toEqual([[1]])
})

test.each(['request_invalid', 'identity_mismatch'] as const)(
  'a report that the hub refuses with %s is not repeated',
  async (code) => {
    stored.set('s1', { next_seq: 1, turn_seq: 0 })
    const log = open()
    answer = () => {
      throw new TurnbellError(code, { detail: 'refused' })
    }
    await recorded(log, 'a')
    await clock.advance(10_000)
    expect([sent.length, spooled.length]).toEqual([1, 0])
  },
)

test('a closed log spools what waits and what the hub has not answered, once', async () => {
  stored.set('s1', { next_seq: 5, turn_seq: 0 })
  const log = open()
  answer = () => new Promise(() => {})
  await recorded(log, 'a')
  log.record(action('b'), of())
  log.record(action('c'), of('s2'))
  log.close()
  log.close()
  expect(log.record(action('d'), of())).toBe(0)
  expect(seqs(spooled)).toEqual([[5], [6], [1]])
  expect(stored.get('s1')?.next_seq).toBe(7)
  await clock.advance(10_000)
  expect([spooled.length, clock.armed()]).toEqual([3, 0])
})

test('only spooled texts are redacted, and left out if that fails or the process ends before', async () => {
  stored.set('s1', { next_seq: 1, turn_seq: 0 })
  const log = open()
  const texts = () => JSON.stringify(spooled)
  redact = () => Promise.reject(new Error('no rules'))
  await recorded(log, 'a secret')
  expect(JSON.stringify(sent)).toContain('secret')
  answer = away
  log.record(action('b', 'secret'), of())
  await clock.advance(LIMITS.activity_batch_ms)
  redact = async (event) =>
    ({ ...event, data: { action_id: 'c', tool: 'Bash', input: 'clean' } }) as ReportedEvent
  log.record(action('c', 'secret'), of())
  await clock.advance(LIMITS.activity_retry_ms)
  redact = () => new Promise(() => {})
  log.record(action('d', 'secret'), of())
  await clock.advance(LIMITS.activity_retry_ms)
  log.record(action('e', 'secret'), of())
  log.close()
  expect(idsOf(spooled)).toEqual(['b', 'c', 'd', 'e'])
  expect(texts()).not.toContain('secret')
  expect(texts()).toContain('clean')
})

test('without texts only facts are reported', async () => {
  const log = open(false)
  log.record(action('a', 'secret'), of())
  await clock.advance(0)
  expect(sent[0]?.events[0]?.data).toEqual({ action_id: 'a', tool: 'Bash' })
})

test('a long text is sent as its beginning, with size and digest of the whole', async () => {
  const log = open()
  const text = 'ä'.repeat(LIMITS.activity_sent_text_length_max) + 'x'
  const sha256 = createHash('sha256').update(text).digest('hex')
  log.record({ kind: 'action.ended', data: { action_id: 'a', output: text } }, of())
  log.record({ kind: 'action.started', data: { action_id: 'b', tool: 'T', input: { text } } }, of())
  const cut = { text: 'begin', bytes: 900_000, sha256 }
  log.record({ kind: 'action.ended', data: { action_id: 'c', output: cut } }, of())
  await clock.advance(0)
  const [a, b, c] = sent[0]?.events.map(({ data }) => data) ?? []
  const bytes = Buffer.byteLength(text)
  expect(a).toEqual({ action_id: 'a', output: { text: text.slice(0, -1), bytes, sha256 } })
  const input = { text: expect.stringMatching(/^{"text":"ä/) as string, bytes: bytes + 11 }
  expect(b).toMatchObject({ action_id: 'b', input })
  expect(c).toEqual({ action_id: 'c', output: cut })
})

test('a session that ended is reported without delay', async () => {
  const log = open()
  await recorded(log, 'a')
  log.record({ kind: 'session.ended', data: {} }, of())
  await clock.advance(0)
  expect(seqs(sent)).toEqual([[1], [2]])
})

test('a full queue drops its oldest events, whose numbers are missing then', async () => {
  stored.set('s1', { next_seq: 1, turn_seq: 0 })
  const log = open()
  answer = away
  await recorded(log, 'first')
  answer = taken
  const count = LIMITS.activity_queue_events_max + 3
  for (let n = 1; n <= count; n++) log.record(action(`${n}`), of())
  await clock.advance(LIMITS.activity_retry_ms + 10 * LIMITS.activity_batch_ms)
  const events = sent.slice(1).flatMap((report) => report.events)
  expect(events).toHaveLength(LIMITS.activity_queue_events_max)
  expect([events[0]?.seq, events.at(-1)?.seq]).toEqual([5, count + 1])
  expect(Math.max(...sent.map((report) => report.events.length))).toBe(LIMITS.activity_report_events_max)
})

test('a queue with many bytes records further events without texts, and reports stay small', async () => {
  stored.set('s1', { next_seq: 1, turn_seq: 0 })
  const log = open()
  answer = away
  await recorded(log, 'first')
  answer = taken
  const text = 'x'.repeat(60_000)
  const count = LIMITS.activity_queue_bytes_max / 60_000 + 20
  for (let n = 1; n <= count; n++) log.record(action(`${n}`, text), of())
  await clock.advance(60_000)
  expect(sent.slice(1).flatMap((report) => report.events)).toHaveLength(Math.floor(count))
  const sizes = sent.map((report) => Buffer.byteLength(JSON.stringify(report)))
  expect(Math.max(...sizes)).toBeLessThanOrEqual(LIMITS.activity_report_bytes_max)
  expect(sent.at(-1)?.events.at(-1)?.data).not.toHaveProperty('input')
})

test('events that the adapter did not see have numbers, too', async () => {
  const log = open()
  log.missed('s1', 3)
  log.missed('s1', 1)
  await recorded(log, 'a', 'b')
  expect(seqs(sent)).toEqual([[5, 6]])
})

test('a full disk loses events and stops nothing', async () => {
  const log = open()
  answer = away
  spool = () => {
    throw new Error('ENOSPC')
  }
  await recorded(log, 'a')
  spool = () => false
  await recorded(log, 'b')
  await clock.advance(LIMITS.activity_retry_ms)
  answer = taken
  await recorded(log, 'c')
  await clock.advance(LIMITS.activity_retry_ms)
  // The hub sees that the numbers 1 and 2 are missing.
  expect(seqs(sent)).toEqual([[3]])
})

test('numbers that cannot be stored stop nothing', async () => {
  stored.set = () => {
    throw new Error('ENOSPC')
  }
  const log = open()
  await recorded(log, 'a')
  expect(seqs(sent)).toEqual([[1]])
})

test('an invalid event is missing, and its report is valid', async () => {
  const log = open()
  log.record({ kind: 'action.started', data: { action_id: '', tool: 'Bash' } }, of())
  await recorded(log, 'a')
  expect(seqs(sent)).toEqual([[2]])
})

test('an event that cannot be written as JSON is not recorded and breaks nothing', async () => {
  const log = open()
  const endless: Record<string, unknown> = {}
  endless['self'] = endless
  expect(log.record({ kind: 'session.ended', data: endless }, of())).toBe(0)
  await recorded(log, 'a')
  expect(idsOf(sent)).toEqual(['a'])
})

test('the turn of an event is the last one of its session unless it is given', async () => {
  const log = open()
  log.record(action('before'), of())
  log.record({ kind: 'request.started', data: {} }, of())
  log.record({ kind: 'request.started', data: {} }, of())
  log.record({ kind: 'request.ended', data: { status: 'interrupted' } }, { ...of(), turn_seq: 1 })
  log.record(action('after'), { ...of(), agent_id: 'agent-1', at: '2026-03-01T00:00:00.000Z' })
  await clock.advance(0)
  expect(sent[0]?.events.map(({ turn_seq }) => turn_seq)).toEqual([0, 1, 2, 1, 2])
  expect(sent[0]?.events.at(-1)).toMatchObject({ agent_id: 'agent-1', at: '2026-03-01T00:00:00.000Z' })
  expect(sent[0]?.events[0]).toMatchObject({ agent_id: null, at: '2026-03-01T12:00:00.000Z' })
})
