import { describe, expect, test } from 'vitest'
import { presenceLines } from '../../../src/cli/presence-lines.ts'
import { describeStatus, statusRow } from '../../../src/cli/render.ts'
import type { DaemonStatus } from '../../../src/contracts/control.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { Presence, type Subagent } from '../../../src/contracts/presence.ts'
import { daemonStatus } from '../../support/fakes/fake-daemon.ts'

const NOW = Date.parse('2026-01-31T12:00:00.000Z')
const ago = (seconds: number) => new Date(NOW - seconds * 1_000).toISOString()

const NOTHING: Presence = {
  ...{ waiting: [], agents: [], tokens: null, window: null, cost_usd: null },
  ...{ compacting_since: null, last_compaction: null },
}
const lines = (presence: Partial<Presence>) => presenceLines(Presence.parse({ ...NOTHING, ...presence }), NOW)
const subagent = (agent: string, parent: string | null = null, more: Partial<Subagent> = {}): Subagent => ({
  ...{ agent, parent, type: 'Explore', task: `task of ${agent}`, since: ago(61) },
  ...more,
})

test('without a presence, or with nothing to show, there are no lines', () => {
  expect([presenceLines(null, NOW), lines({})]).toEqual([[], []])
})

test('what the client asks its person is shown with tool, reason and time', () => {
  const waiting = { tool: 'Bash', why: null, agent: null, since: ago(125) }
  expect(
    lines({
      waiting: [
        { ...waiting, for: 'permission', why: 'touch y needs\u001b[2J approval' },
        { ...waiting, for: 'question', tool: 'AskUserQuestion', agent: 'a1' },
        { ...waiting, for: 'plan', tool: 'ExitPlanMode', agent: 'a9' },
      ],
      agents: [subagent('a1')],
    }).slice(0, 3),
  ).toEqual([
    ['waits for you', 'permission for Bash, since 2 min: touch y needs\ufffd[2J approval'],
    ['', 'answer to AskUserQuestion (subagent Explore: task of a1), since 2 min'],
    ['', 'decision on the plan of ExitPlanMode (subagent a9), since 2 min'],
  ])
})

describe('subagents', () => {
  test('subagents are below those that started them, and at the top if those have ended', () => {
    const agents = [
      subagent('a1'),
      subagent('b1', 'ended'),
      subagent('a2', 'a1'),
      subagent('a3', 'a2', { type: null, task: null }),
    ]
    expect(lines({ agents })).toEqual([
      ['subagents', 'Explore: task of a1, 1 min'],
      ['', '  Explore: task of a2, 1 min'],
      ['', '    a3, 1 min'],
      ['', 'Explore: task of b1, 1 min'],
    ])
  })

  test('subagents that name each other as parents are shown once', () => {
    expect(lines({ agents: [subagent('a1', 'a2'), subagent('a2', 'a1')] })).toHaveLength(2)
  })

  test('a full list ends with a note that there may be more', () => {
    const agents = Array.from({ length: LIMITS.presence_agents_max }, (_, n) => subagent(`a${n}`))
    expect(lines({ agents }).at(-1)).toEqual(['', 'and perhaps more'])
  })
})

describe('the conversation', () => {
  test.each<[Partial<Presence>, string]>([
    [{ tokens: 2_931, window: 200_000, cost_usd: 0.0024 }, '2931 of 200000 tokens, cost $0.00'],
    [{ tokens: 1 }, '1 token'],
    [{ cost_usd: 1.5 }, 'cost $1.50'],
  ])('%j is shown as %s', (given, words) => expect(lines(given)).toEqual([['context', words]]))

  const last = { at: ago(240), before: 975_021, after: 2_931, restored: null }
  test.each<[Partial<Presence>, string[]]>([
    [{ last_compaction: last }, ['4 min ago, 975021 to 2931 tokens, primer not checked yet']],
    [{ last_compaction: { ...last, restored: true, before: null } }, ['4 min ago, primer shown again']],
    [
      { compacting_since: ago(3), last_compaction: { ...last, restored: false } },
      ['running since 3 s', '4 min ago, 975021 to 2931 tokens, primer not shown again'],
    ],
  ])('the compaction %j is shown as %j', (given, words) => {
    const shown = lines(given)
    expect(shown.map(([, value]) => value)).toEqual(words)
    expect(shown[0]?.[0]).toBe('compaction')
  })
})

describe('status', () => {
  const surface: DaemonStatus['surface'] = {
    ...{
      kind: 'claude-code',
      attached: true,
      session_id: 's1',
      turn: 'busy',
      last_proof: null,
      via: 'module',
    },
    ...{ interrupted_age_s: null, presence: null },
  }
  const waiting = [{ for: 'permission', tool: 'Bash', why: null, agent: null, since: ago(5) } as const]
  const shown = (more: Partial<DaemonStatus['surface']>) =>
    daemonStatus('ada', { surface: { ...surface, ...more } })

  test('the table shows who waits for the person', () => {
    const turn = (more: Partial<DaemonStatus['surface']>) => statusRow(shown(more), null, NOW)[6]
    expect([turn({}), turn({ presence: { ...NOTHING, waiting } }), turn({ presence: NOTHING })]).toEqual([
      'busy',
      'busy (waits for you)',
      'busy',
    ])
  })

  test('the lines of presence follow the surface, and an interrupt is shown with its age', () => {
    const status = shown({ presence: { ...NOTHING, waiting }, interrupted_age_s: 65, turn: 'idle' })
    const text = describeStatus(status, null, NOW, presenceLines(status.surface.presence, NOW)).split('\n')
    const at = text.findIndex((line) => line.includes('claude-code attached'))
    expect(text.slice(at, at + 2).map((line) => line.trim())).toEqual([
      'surface        claude-code attached, session s1, turn idle, interrupted by a person 1 min ago, by module',
      'waits for you  permission for Bash, since 5 s',
    ])
  })
})
