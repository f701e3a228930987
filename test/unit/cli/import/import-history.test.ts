import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ActivityReport } from '../../../../src/contracts/activity/event.ts'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import type { HistorySummary } from '../../../../src/cli/import/history/import-history.ts'
import { createRate, createSender } from '../../../../src/cli/import/history/send.ts'
import { eagerClock, fakeClock } from '../../../support/fakes/fake-clock.ts'
import { testCli, type FakeHub } from '../../../support/processes/test-cli.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'
import {
  answers,
  call,
  fileOf,
  meta,
  idAt,
  says,
  text,
  timeOf,
  user,
  event as codexEvent,
  type Line,
} from './history-lines.ts'

const HOUR_S = 3_600
const TURN = [says(0, 'one'), answers(1, [text('Done.')], { stop: 'end_turn' })]
const NEXT = [says(7_200, 'two'), answers(7_201, [call('t1')])]

/** A hub that numbers events as the real one does, and a home of Claude Code. */
function place(answer: { source?: string; accepts?: boolean; evidence_at?: string } = {}) {
  const home = fs.realpathSync(temporaryDirectory())
  const reports: ActivityReport[] = []
  const stored = new Map<string, Set<number>>()
  const known = (id: unknown) => {
    const numbers = stored.get(String(id))
    if (numbers === undefined) throw new TurnbellError('activity_unknown', { detail: String(id) })
    return numbers
  }
  const hub: FakeHub = {
    '/activity'(params) {
      const report = params as unknown as ActivityReport
      reports.push(report)
      if (answer.accepts === false) return { accepted: 0, duplicates: 0, next_seq: 1 }
      const numbers = stored.get(report.session_id) ?? new Set()
      stored.set(report.session_id, numbers)
      const fresh = report.events.filter(({ seq }) => !numbers.has(seq))
      for (const { seq } of fresh) numbers.add(seq)
      return {
        accepted: fresh.length,
        duplicates: report.events.length - fresh.length,
        next_seq: numbers.size + 1,
      }
    },
    'activity.session'({ session_id }) {
      known(session_id)
      const evidence = { source: answer.source ?? 'import', kind: null, at: answer.evidence_at ?? timeOf(1) }
      return {
        ...{ session_id, identity: 'operator', client: 'claude-code', project_id: null, continues: null },
        ...{ model: null, started_at: timeOf(0), ended_at: null, total_tools_used: 0, total_success: 0 },
        ...{ total_errors: 0, context_tokens: null, context_window: null },
        usage: {
          input_tokens: 0,
          output_tokens: 0,
          cache_read_tokens: 0,
          cache_write_tokens: 0,
          cost_usd: null,
        },
        state: { state: 'ended', what: null, waiting_for: null, since: timeOf(0), evidence, conflict: null },
      }
    },
    'activity.completeness': ({ session_id }) => ({
      ...{ received: known(session_id).size, missing: [], spooled: 0, dropped: 0, silent_since: null },
    }),
  }
  const cli = testCli({ home, hub })
  const folder = path.join(home, 'user', '.claude')
  const write = (name: string, content: string | readonly Line[], age_s = HOUR_S) => {
    const file = path.join(home, 'user', name)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, typeof content === 'string' ? content : fileOf(content))
    const at = Date.now() / 1_000 - age_s
    fs.utimesSync(file, at, at)
    return file
  }
  const run = async (...words: string[]) => {
    const code = await cli.run('import', ...words, '--json')
    return { code, ...cli.json<HistorySummary & { from: string }>() }
  }
  return { home, folder, cli, reports, write, run }
}
const SESSION = '.claude/projects/-home-ada-shop/s1.jsonl'
const FROM_CLAUDE = ['--from', 'claude-code'] as const

describe('import --from claude-code', () => {
  test('a session is imported once, and only the new part of its file after that', async () => {
    const { folder, reports, write, run } = place()
    write(SESSION, TURN)
    const first = await run(...FROM_CLAUDE)
    expect(first).toMatchObject({ code: 0, from: folder, events: 4, requests: 1, sessions: { imported: 1 } })
    expect(reports).toMatchObject([{ session_id: 's1', client: 'claude-code', identity: 'operator' }])
    expect(reports[0]?.events.map(({ source }) => source)).toEqual(Array(4).fill('import'))

    expect(await run(...FROM_CLAUDE)).toMatchObject({ events: 0, sessions: { imported: 0, unchanged: 1 } })
    expect(reports).toHaveLength(1)

    write(SESSION, [...TURN, ...NEXT])
    expect(await run(...FROM_CLAUDE)).toMatchObject({ events: 4, actions: 1, sessions: { continued: 1 } })
    expect(reports[1]?.events.map(({ seq, kind }) => [seq, kind])).toEqual([
      [5, 'session.started'],
      [6, 'request.started'],
      [7, 'action.started'],
      [8, 'session.ended'],
    ])
  })

  test.each(['mod', 'hook', 'process', 'person'])(
    'a session with evidence of the source %s is left alone',
    async (source) => {
      const { reports, write, run } = place({ source })
      write(SESSION, TURN)
      await run(...FROM_CLAUDE)
      write(SESSION, [...TURN, ...NEXT])
      expect(await run(...FROM_CLAUDE)).toMatchObject({ events: 0, sessions: { live: 1 } })
      expect(reports).toHaveLength(1)
    },
  )

  test.each([
    ['of the file is continued', timeOf(1), 'continued'],
    ['that is not in the file is left alone', timeOf(0.5), 'live'],
  ])('a silent session with a last event %s', async (_, evidence_at, outcome) => {
    const { write, run } = place({ source: 'clock', evidence_at })
    write(SESSION, TURN)
    await run(...FROM_CLAUDE)
    write(SESSION, [...TURN, ...NEXT])
    expect((await run(...FROM_CLAUDE)).sessions).toMatchObject({ [outcome]: 1 })
  })

  test('a file that changed a short time ago or before --since is not read', async () => {
    const { reports, write, run } = place()
    write(SESSION, TURN, 60)
    write(SESSION.replace('s1', 's2'), TURN, 8 * 24 * HOUR_S)
    expect((await run(...FROM_CLAUDE, '--since', '7d')).sessions).toMatchObject({ recent: 1, imported: 0 })
    expect(reports).toEqual([])
  })

  test('a damaged, an unfinished and a very long line are skipped', async () => {
    const { write, run } = place()
    const long = JSON.stringify({ ...says(1, 'x'), more: 'y'.repeat(LIMITS.history_line_bytes_max) })
    const [first = '', second = ''] = TURN.map((line) => JSON.stringify(line))
    write(SESSION, `${first}\n{"type":"us\n[1]\n${long}\n${second}\n{"type":"assis`)
    expect(await run(...FROM_CLAUDE)).toMatchObject({
      ...{ code: 0, events: 4, skipped_lines: { damaged: 2, too_long: 1 } },
    })
  })

  test('a complete last line without a newline is read', async () => {
    const { write, run } = place()
    write(SESSION, fileOf(TURN).trimEnd())
    expect(await run(...FROM_CLAUDE)).toMatchObject({ events: 4 })
  })

  test('the files of subagents are read with their session', async () => {
    const { write, run } = place()
    write(SESSION, TURN)
    const agent = SESSION.replace('.jsonl', '/subagents/agent-a1.jsonl')
    write(agent, [says(0.5, 'look', { isSidechain: true, agentId: 'a1' })])
    write(agent.replace('.jsonl', '.meta.json'), '{"agentType":"explorer","description":"look"}')
    // Older versions wrote them next to the session.
    write(SESSION.replace('s1', 'agent-a2'), [says(0.6, 'look', { isSidechain: true, agentId: 'a2' })])
    expect(await run(...FROM_CLAUDE)).toMatchObject({ subtasks: 2, sessions: { imported: 1 } })
  })

  test('--dry-run counts and sends nothing; --persona names the persona', async () => {
    const { reports, write, run, cli } = place()
    write(SESSION, TURN)
    expect(await run(...FROM_CLAUDE, '--dry-run')).toMatchObject({
      dry_run: true,
      events: 4,
      sessions: { imported: 1 },
    })
    expect(reports).toEqual([])
    expect(await cli.run('import', ...FROM_CLAUDE, '--persona', 'ada')).toBe(0)
    expect(reports).toMatchObject([{ identity: 'ada' }])
    expect(cli.stdout()).toMatch(
      /^Imported from .*\.claude for ada:\n +sessions +1 imported\n +work +1 requests/,
    )
  })

  test('a session that the hub does not store is counted', async () => {
    const { reports, write, run } = place({ accepts: false })
    write(SESSION, TURN)
    expect(await run(...FROM_CLAUDE)).toMatchObject({ events: 0, sessions: { refused: 1, imported: 0 } })
    expect(reports).toHaveLength(1)
  })

  test.each([
    [['--from', 'claude-code'], /contains no history of Claude Code/],
    [['--from', 'codex'], /contains no history of Codex/],
    [['--from', 'claude-code', '--project', '.'], /does not use --project/],
    [['--from', 'twining', '.', '--dry-run'], /does not use --dry-run/],
    [['--from', 'twining'], /requires a folder/],
  ])('import %j is refused', async (words, reason) => {
    const { cli } = place()
    expect(await cli.run('import', ...words)).toBe(64)
    expect(cli.stderr()).toMatch(reason)
  })

  test('without a hub the import is refused', async () => {
    const { home, write } = place()
    write(SESSION, TURN)
    expect(await testCli({ home }).run('import', ...FROM_CLAUDE)).toBe(69)
  })
})

test('import --from codex reads threads and counts subagents without a session', async () => {
  const { write, run, reports } = place()
  const folder = '.codex/sessions/2026/01/05'
  const source = { subagent: { thread_spawn: { parent_thread_id: idAt(500) } } }
  write(`${folder}/rollout-1.jsonl`, [meta(0, idAt(0)), user(1, 'go'), codexEvent(2, 'task_complete')])
  write(`${folder}/rollout-2.jsonl`, [meta(0, idAt(3), { source }), user(4, 'look')])
  write(`${folder}/rollout-3.jsonl`, '{"type":"other","timestamp":"2026-01-05T08:00:00.000Z"}\n')
  const summary = await run('--from', 'codex')
  expect(summary).toMatchObject({ code: 1, events: 4, orphaned: 1, sessions: { imported: 1 } })
  expect(summary.unread).toMatchObject([{ reason: 'its first line does not describe a session' }])
  expect(reports).toMatchObject([{ client: 'codex', session_id: idAt(0) }])
})

describe('reports', () => {
  const events = (count: number, prompt = 'x') =>
    Array.from({ length: count }, (_, at) => ({
      ...{
        kind: 'request.started',
        data: { prompt },
        agent_id: null,
        turn_seq: 1,
        seq: at + 1,
        at: timeOf(at),
      },
    })) as Parameters<ReturnType<typeof createSender>['add']>[0][]

  function sender(receipt: (call: number) => object) {
    const clock = eagerClock()
    const sizes: number[] = []
    const report = (sent: ActivityReport) => {
      sizes.push(sent.events.length)
      const answer = { accepted: sent.events.length, duplicates: 0, next_seq: 1, ...receipt(sizes.length) }
      return Promise.resolve(answer)
    }
    const of = { session_id: 's1', client: 'claude-code', identity: 'operator' }
    const ids = { next: () => '01M7XS92Q7DKEMEZQ98EFZNGV4' }
    return { clock, sizes, sender: createSender({ report, clock, ids }, createRate(clock), of) }
  }

  test('a report has a bounded number of events and of bytes', async () => {
    const { sender: many, sizes } = sender(() => ({}))
    for (const event of events(LIMITS.activity_report_events_max + 1)) await many.add(event)
    await many.flush()
    expect(sizes).toEqual([LIMITS.activity_report_events_max, 1])
    const { sender: large, sizes: of_large } = sender(() => ({}))
    for (const event of events(9, 'x'.repeat(LIMITS.activity_text_bytes_max))) await large.add(event)
    await large.flush()
    expect(of_large).toEqual([7, 2])
  })

  test('a dropped report is sent again later, and a limited number of times', async () => {
    const [event] = events(1)
    if (event === undefined) throw new Error('no event')
    const { clock, sizes, sender: some } = sender((call) => (call === 1 ? { accepted: 0, dropped: 1 } : {}))
    await some.add(event)
    expect(await some.flush()).toBe(true)
    expect([sizes, some.accepted()]).toEqual([[1, 1], 1])
    expect(clock.monotonic()).toBeGreaterThanOrEqual(LIMITS.history_retry_ms)

    const { sizes: tries, sender: none } = sender(() => ({ accepted: 0, dropped: 1 }))
    await none.add(event)
    await expect(none.flush()).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(tries).toHaveLength(LIMITS.history_retries_max)
  })

  test('the import stays below the rate of the hub', async () => {
    const clock = fakeClock()
    const wait = createRate(clock)
    await wait(LIMITS.history_burst_events_max)
    let passed = false
    const next = wait(LIMITS.history_rate_max).then(() => void (passed = true))
    await clock.advance(900)
    expect(passed).toBe(false)
    await clock.advance(100)
    await next
    expect(LIMITS.history_rate_max).toBeLessThan(LIMITS.activity_rate_max)
    expect(LIMITS.history_burst_events_max).toBeLessThanOrEqual(
      LIMITS.activity_rate_max * (LIMITS.activity_rate_ms / 1_000),
    )
  })
})
