/** Tests that links of the documentation resolve and its lists match the code. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import { DAEMON_METRICS, DaemonErrorClass } from '../../src/contracts/metrics.ts'
import { HUB_COUNTERS, HUB_GAUGES, HUB_METRICS_PREFIX } from '../../src/hub/observability/metrics.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const read = (file: string) => fs.readFileSync(path.join(ROOT, file), 'utf8')

const PAGES = [
  ...['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'],
  ...['adapters/README.md', 'bench/README.md'],
  ...fs
    .readdirSync(path.join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => path.join('docs', name)),
]

const withoutCode = (text: string) => text.replaceAll(/^```[^]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, 'x')

/** Returns the anchors that GitHub creates from the headings of a page. */
function anchorsOf(page: string): Set<string> {
  const headings = [
    ...read(page)
      .replaceAll(/^```[^]*?^```/gm, '')
      .matchAll(/^#+ (.*)$/gm),
  ]
  return new Set(
    headings.map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

describe('links', () => {
  test.each(PAGES)('all links of %s lead to a file and a heading that exist', (page) => {
    const broken = [...withoutCode(read(page)).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target = '']) => target)
      .filter((target) => !/^[a-z]+:/.test(target))
      .filter((target) => {
        const [file = '', anchor] = target.split('#')
        const leads_to = file === '' ? page : path.normalize(path.join(path.dirname(page), file))
        if (!fs.existsSync(path.join(ROOT, leads_to))) return true
        return anchor !== undefined && leads_to.endsWith('.md') && !anchorsOf(leads_to).has(anchor)
      })
    expect(broken).toEqual([])
  })
})

test('the page about metrics lists every metric and every error class', () => {
  const page = read('docs/reference/metrics.md')
  const names = [
    ...[...Object.keys(DAEMON_METRICS), ...DaemonErrorClass.options],
    ...Object.keys({ ...HUB_COUNTERS, ...HUB_GAUGES }).map((name) => HUB_METRICS_PREFIX + name),
  ]
  expect(names.filter((name) => !page.includes(`\`${name}`))).toEqual([])
})

/** Rows of docs/reference/limits.md, and the limits that each must state. */
const LIMIT_ROWS: readonly (readonly [row: string, ...values: string[]])[] = [
  ['payload', size(LIMITS.payload_bytes_max), `${LIMITS.payload_depth_max} levels`],
  ['pending signals of one persona', count(LIMITS.queue_depth_max)],
  ['signals of one drain', count(LIMITS.drain_limit_max), size(LIMITS.drain_bytes_max)],
  ['page of `signals inbox`', count(LIMITS.inbox_limit_max), size(LIMITS.inbox_bytes_max)],
  ['all payloads of one broadcast', size(LIMITS.broadcast_bytes_max)],
  ['lifetime (`ttl_s`)', `${LIMITS.ttl_s_max / 86_400} days`],
  ['returns to pending', count(LIMITS.deliveries_max)],
  ['lease of a drain without a sign of life', `${LIMITS.lease_ms / 60_000} minutes`],
  ['request body', size(LIMITS.body_bytes_max)],
  ['WebSocket frame', size(LIMITS.frame_bytes_max)],
  ['line on a local socket', size(LIMITS.line_bytes_max)],
  ['calls of one request, nested ones included', count(LIMITS.request_calls_max)],
  ['calls of one batch', count(LIMITS.batch_calls_max), count(LIMITS.batch_running_max)],
  ['unanswered calls of one WebSocket connection', count(LIMITS.calls_underway_max)],
  ["renewals of one caller's token", count(LIMITS.caller_renewals_per_minute_max)],
  ['lifetime of a token', `${LIMITS.token_ttl_s / 3_600} hour`, `${LIMITS.token_ttl_s_max / 86_400} days`],
  ['duration of a lock', `${LIMITS.lock_ttl_s_default} s`, `${LIMITS.lock_ttl_s_max / 3_600} h`],
  ['locks of a hub', count(LIMITS.locks_max)],
  ['one record', size(LIMITS.record_bytes_max)],
  ['one decision file, including its outbox', size(LIMITS.decision_file_bytes_max)],
  ['personas', count(LIMITS.personas_max)],
  ['lines that wait in the spool of a home', size(LIMITS.spool_bytes_max)],
  ['steps of a routine', count(LIMITS.routine_steps_max)],
  ['routines that run at a time', count(LIMITS.routine_runs_max)],
  ['run time of a program', `${LIMITS.program_ms / 1000} s`, `${LIMITS.program_ms_max / 1000} s`],
  ['reports', count(LIMITS.routine_reports_max)],
  ['heartbeat of a daemon', `${LIMITS.heartbeat_interval_ms / 1000} s`],
  ['registration without a heartbeat', `${LIMITS.registration_expire_ms / 1000} s`],
]
function count(value: number): string {
  return value.toLocaleString('en-US')
}
function size(bytes: number): string {
  return bytes >= 1024 * 1024 ? `${bytes / 1024 / 1024} MiB` : `${bytes / 1024} KiB`
}
test.each(LIMIT_ROWS)('the page about limits states the bound of: %s', (row, ...values) => {
  const [, value = ''] =
    read('docs/reference/limits.md')
      .split('\n')
      .filter((line) => line.startsWith('| '))
      .map((line) => line.split('|').map((cell) => cell.trim()))
      .filter(([, label]) => label === row)
      .map(([, , stated]) => [row, stated])[0] ?? []
  for (const bound of values) expect(value).toContain(bound)
})

test.each(PAGES.filter((page) => !/actions|errors|SKILL/.test(page)))('%s uses plain words', (page) => {
  const rare =
    /\b(anew|mend|mended|nobody|somebody|whoever|for ever|set aside|left behind|as far as|however much|by then)\b/gi
  expect([...withoutCode(read(page)).matchAll(rare)].map(([word]) => word)).toEqual([])
})
