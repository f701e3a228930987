/** Tests the composite actions when all parts are available, and when none is. */
import { beforeEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import type { Report, WorkflowCheck, WorkflowSettings } from '../../../../src/contracts/runs/routine.ts'
import type { RecordKind } from '../../../../src/contracts/memory/records.ts'
import { defineAction, defineFacade, type Facade } from '../../../../src/kernel/define.ts'
import { playedOutside } from '../../../support/fakes/fake-outside.ts'
import { routineKernel } from '../../../support/worlds/routine-kernel.ts'
import { AGENT, OBSERVER, OPERATOR } from '../../../support/worlds/small-kernel.ts'

interface Sections {
  sections: Record<string, unknown>
  missing: Record<string, string>
}
interface Shipping {
  ready: boolean
  shipped: boolean
  checks: WorkflowCheck[]
  report: Report | null
}

/** Responses of the other facades; an error is thrown. */
let said: Record<string, unknown>
let asked: Record<string, unknown>

const action = (name: string, mutates = false) =>
  defineAction({
    summary: 'Says what the test says.',
    mutates,
    errors: [],
    allow: ['agent', 'observer'] as const,
    input: z.record(z.string(), z.any()),
    output: z.any(),
    ...(mutates
      ? { harmless: (input: { peek?: boolean }) => input.peek === true, hands_over: true as const }
      : {}),
    handle(input) {
      asked[name] = input
      if (said[name] instanceof Error) throw said[name]
      return said[name]
    },
  })
const facade = (name: string, actions: Facade['actions'], facet = 'core') =>
  defineFacade({ name, summary: 'Played.', compact: 'Played.', facet, actions })
const git = facade('git', {
  status: action('git_status'),
  log_recent: action('git_log_recent'),
  find_removal: action('git_find_removal'),
})
const fields = z.strictObject({ title: z.string() })
const kinds: RecordKind[] = [
  {
    name: 'issue',
    summary: 'To be done.',
    fields,
    keeper: 'project',
    status: {
      initial: 'open',
      moves: { open: ['begun', 'closed'], begun: ['closed'] },
      closing: { to: 'closed' },
    },
  },
  { name: 'note', summary: 'Is never done.', fields, keeper: 'project' },
]
const store: Facade = { ...facade('store', { query: action('query') }), kinds }
const others = [
  git,
  facade('coordinator', { status: action('coordinator_status') }),
  facade('signals', { inbox: action('inbox'), pending: action('pending', true) }),
  store,
]

const CLEAN = {
  root: '/projects/x',
  head: 'abc',
  branch: 'main',
  upstream: 'origin/main',
  ahead: 1,
  behind: 0,
  clean: true,
  counts: { staged: 0, unstaged: 0, untracked: 0, conflicted: 0 },
  staged: [],
}
const project = {
  project_id: '01JZ0000000000000000000000',
  root: '/projects/x',
  aliases: [],
  created_at: '2026-03-01T12:00:00.000Z',
}
const here = { context: { scope: '/projects/x' } }

beforeEach(() => {
  asked = {}
  said = {
    git_status: CLEAN,
    git_log_recent: {
      commits: [
        { sha: 'a1', subject: 'hub: Wait longer' },
        { sha: 'b2', subject: 'other' },
      ],
    },
    git_find_removal: { removals: [{ sha: 'c3', files: [] }] },
    coordinator_status: { agents: [] },
    inbox: { signals: [] },
    pending: { signals: [], remaining: 0, drain_id: null },
    query: { records: [{ id: '1', title: 'Wait', body: 'long' }], total: 7 },
  }
})

function world(
  workflow: Partial<WorkflowSettings> = {},
  more: { facades?: readonly Facade[]; exits?: Record<string, number>; allowed?: string[] } = {},
) {
  const { exits = {}, allowed = ['npm', 'publish'] } = more
  const outside = playedOutside({
    program: ({ argv }) => ({ exit_code: exits[argv.join(' ')] ?? 0, stdout: 'said' }),
  })
  const made = routineKernel({
    facades: more.facades ?? others,
    projects: [project],
    outside,
    settings: {
      workflow: { preflight: [], ship: [], ...workflow },
      sandbox: { exec: allowed, network: [], env: [] },
    },
  })
  return { ...made, ran: outside.ran }
}

describe('the status', () => {
  test('the status contains all parts in short form', async () => {
    const signal = (signal_id: string, priority: number) => ({
      signal_id,
      priority,
      from: 'bob',
      intent: 'x',
      created_at: 't',
      payload: 'long',
      status: 'pending',
    })
    said['inbox'] = { signals: [signal('a', 3), signal('b', 9), signal('c', 3)] }
    const { sections, missing } = await world().call<Sections>('workflow', 'status')
    expect(missing).toEqual({})
    expect(sections).toEqual({
      git: {
        branch: 'main',
        head: 'abc',
        upstream: 'origin/main',
        ahead: 1,
        behind: 0,
        clean: true,
        counts: CLEAN.counts,
      },
      coordinator: { agents: [] },
      waiting: {
        count: 3,
        more: false,
        urgent: 1,
        signals: ['b', 'a', 'c'].map((id) => ({
          signal_id: id,
          from: 'bob',
          intent: 'x',
          priority: id === 'b' ? 9 : 3,
          created_at: 't',
        })),
      },
      records: { total: 7, records: [{ id: '1', title: 'Wait' }] },
      reports: [],
    })
    expect(asked['inbox']).toMatchObject({ status: ['pending'] })
    expect(asked['query']).toMatchObject({ kind: 'issue', filter: { status: ['open', 'begun'] } })
  })

  test('the status contains the last reports', async () => {
    const { call } = world()
    await call('routine', 'step', { step: 'events' })
    const { sections } = await call<Sections>('workflow', 'status')
    expect(sections['reports']).toMatchObject([{ generation: 1, routine: null, ok: true, failures: 0 }])
  })

  test('the status stores and changes nothing, so it works in read-only mode and for observers', async () => {
    const { call, records } = world()
    for (const request of [{ narrowing: { read_only: true } }, { caller: OBSERVER }])
      expect((await call<Sections>('workflow', 'status', {}, request)).missing).toEqual({})
    expect(await records.list('routine_report')).toEqual([])
  })

  test('the status marks each part that is closed, broken or missing with the reason', async () => {
    said['git_status'] = new TurnbellError('timed_out', { detail: 'Too slow.' })
    const facades = [git, { ...store, facet: 'work' }]
    const { sections, missing } = await world({}, { facades }).call<Sections>('workflow', 'status')
    expect(sections).toMatchObject({
      git: null,
      coordinator: null,
      waiting: null,
      records: null,
      reports: [],
    })
    expect(missing).toEqual({
      git: 'timed_out',
      coordinator: 'facade_unknown',
      waiting: 'facade_unknown',
      records: 'facet_forbidden',
    })
  })
})

describe('an investigation', () => {
  test('an investigation finds mentions, ignoring case', async () => {
    const { call, kernel } = world()
    said['inbox'] = {
      signals: [
        { signal_id: 'a', payload: { text: ['Please WAIT'] } },
        { signal_id: 'b', payload: 'no' },
      ],
    }
    await kernel.call('wait_for_it', 'x')
    const { sections, missing } = await call<Sections>('workflow', 'investigate', { query: 'wait' })
    expect(missing).toEqual({})
    expect(sections).toMatchObject({
      removals: [{ sha: 'c3' }],
      commits: [{ sha: 'a1', subject: 'hub: Wait longer' }],
      records: { total: 14, records: [{ id: '1', title: 'Wait' }, { id: '1' }] },
      signals: [{ signal_id: 'a' }],
      events: [{ type: 'error', data: { facade: 'wait_for_it', error: 'facade_unknown' } }],
    })
    expect(JSON.stringify(sections['signals'])).not.toContain('Please')
    expect(asked['git_find_removal']).toMatchObject({ text: 'wait' })
    expect(asked['query']).toMatchObject({ kind: 'note', filter: { text: 'wait' } })
  })

  test('an investigation without results has empty sections, and a missing part is reported', async () => {
    const { sections, missing } = await world({}, { facades: [] }).call<Sections>('workflow', 'investigate', {
      query: 'nowhere to be seen',
    })
    expect(sections).toMatchObject({ commits: null, events: [] })
    expect(missing['commits']).toBe('facade_unknown')
  })

  test('an investigation of an empty text is rejected', async () => {
    expect((await world().refused('workflow', 'investigate', { query: '' })).code).toBe('params_invalid')
  })
})

const preflight = async (made: ReturnType<typeof world>, params = {}, request = {}) =>
  made.call<{ ready: boolean; checks: WorkflowCheck[]; report: Report }>(
    ...(['workflow', 'preflight', params, { ...here, ...request }] as const),
  )
const oks = (checks: readonly WorkflowCheck[]) => Object.fromEntries(checks.map(({ name, ok }) => [name, ok]))

describe('a preflight', () => {
  test('a preflight is ready when every check passes, including commands', async () => {
    const made = world({
      preflight: [
        ['npm', 'test'],
        ['npm', 'run', 'lint'],
      ],
    })
    const { ready, checks, report } = await preflight(made)
    expect(ready).toBe(true)
    expect(oks(checks)).toEqual({
      no_conflicts: true,
      not_behind: true,
      nothing_urgent: true,
      'npm test': true,
      'npm run lint': true,
    })
    expect(report).toMatchObject({ routine: 'workflow.preflight', ok: true, generation: 1 })
    expect(made.ran).toMatchObject([
      { argv: ['npm', 'test'], root: '/projects/x' },
      { argv: ['npm', 'run', 'lint'] },
    ])
    expect(await made.call('routine', 'report', { name: 'workflow.preflight' })).toEqual({
      reports: [report],
    })
  })

  test.each<[string, () => void, string]>([
    [
      'no_conflicts',
      () => (said['git_status'] = { ...CLEAN, counts: { ...CLEAN.counts, conflicted: 2 } }),
      'found 2',
    ],
    ['not_behind', () => (said['git_status'] = { ...CLEAN, behind: 3 }), 'found 3'],
    ['nothing_urgent', () => (said['pending'] = { signals: [{ priority: 7 }] }), 'at most 6, found 7'],
  ])('a preflight is not ready without %s', async (name, spoil, detail) => {
    spoil()
    const { ready, checks } = await preflight(world())
    expect(ready).toBe(false)
    const failed = checks.filter(({ ok }) => ok !== true)
    expect(failed).toMatchObject([{ name, ok: false, detail: expect.stringContaining(detail) as string }])
  })

  test.each([{ ...CLEAN, behind: null, ahead: null, upstream: null }])(
    'a preflight needs no upstream',
    async (status) => {
      said['git_status'] = status
      said['pending'] = { signals: [{ priority: 6 }] }
      expect((await preflight(world())).ready).toBe(true)
    },
  )

  test('a preflight is not ready when a command fails or is forbidden', async () => {
    const commands = { preflight: [['npm', 'test'], ['make']] }
    const { ready, checks } = await preflight(world(commands, { exits: { 'npm test': 1 } }))
    expect(ready).toBe(false)
    expect(checks.slice(-2)).toMatchObject([
      { name: 'npm test', ok: false, detail: 'npm test ended with code 1, not 0.' },
      { name: 'make', ok: false, detail: expect.stringContaining('not allowed by sandbox.exec') as string },
    ])
  })

  test('a preflight skips checks of missing parts, but not checks that failed to run', async () => {
    expect(await preflight(world({}, { facades: [] }))).toMatchObject({
      ready: true,
      checks: [
        { name: 'no_conflicts', ok: null, detail: expect.stringContaining('no facade "git"') as string },
        { name: 'not_behind', ok: null },
        { name: 'nothing_urgent', ok: null },
      ],
    })
    said['git_status'] = new TurnbellError('timed_out', { detail: 'Too slow.' })
    expect(await preflight(world())).toMatchObject({
      ready: false,
      checks: [{ ok: false, detail: 'Too slow.' }, { ok: false }, { ok: true }],
    })
    said['git_status'] = new TurnbellError('project_unknown', { detail: 'There is none.' })
    expect((await preflight(world())).ready).toBe(true)
    // A check skipped by a narrowed scope counts as not done.
    const narrowed = await preflight(world(), {}, { narrowing: { facades: ['workflow', 'signals'] } })
    expect(narrowed.ready).toBe(false)
  })

  test('a preflight of the operator checks no queue', async () => {
    const { ready, checks } = await preflight(world(), {}, { caller: OPERATOR })
    expect([ready, Object.keys(oks(checks))]).toEqual([true, ['no_conflicts', 'not_behind']])
  })

  test('a preflight without a run only reads', async () => {
    const made = world({ preflight: [['npm', 'test'], ['make']] })
    const { ready, checks, report } = await preflight(made, { dry_run: true })
    expect(oks(checks)).toEqual({
      no_conflicts: true,
      not_behind: true,
      nothing_urgent: true,
      'npm test': null,
      make: false,
    })
    expect([ready, report.report_id, made.ran]).toEqual([false, null, []])
  })
})

describe('shipping', () => {
  const ship = (made: ReturnType<typeof world>, params = {}) =>
    made.call<Shipping>('workflow', 'ship', params, here)
  const commands = { preflight: [['npm', 'test']], ship: [['npm', 'run', 'build'], ['publish']] }

  test('ship runs the configured commands when everything is ready', async () => {
    const made = world(commands)
    expect(await ship(made)).toMatchObject({
      ready: true,
      shipped: true,
      report: { routine: 'workflow.ship', ok: true, generation: 2 },
    })
    expect(made.ran.map(({ argv }) => argv.join(' '))).toEqual(['npm test', 'npm run build', 'publish'])
  })

  test('ship does nothing while something is not ready', async () => {
    const made = world(commands, { exits: { 'npm test': 1 } })
    expect(await ship(made)).toMatchObject({ ready: false, shipped: false, report: null })
    expect(made.ran).toHaveLength(1)
  })

  test('ship stops at the first command that fails', async () => {
    const made = world(commands, { exits: { 'npm run build': 2 } })
    const { shipped, ready, report } = await ship(made)
    expect([shipped, ready]).toEqual([false, true])
    expect(report?.steps).toMatchObject([
      { status: 'failed', result: { stdout: 'said' } },
      { status: 'skipped' },
    ])
    expect(made.ran).toHaveLength(2)
  })

  test('ship in a dry run plans, and reports forbidden commands', async () => {
    const made = world(commands)
    expect(await ship(made, { dry_run: true })).toMatchObject({
      ready: true,
      shipped: false,
      report: { report_id: null, ok: true, steps: [{ status: 'planned' }, { status: 'planned' }] },
    })
    const restricted = world(commands, { allowed: ['npm'] })
    expect(await ship(restricted, { dry_run: true })).toMatchObject({
      report: { ok: false, steps: [{}, { problem: { code: 'leash_forbidden' } }] },
    })
    expect([made.ran, restricted.ran]).toEqual([[], []])
  })

  test('ship without a configuration returns how to configure it, without running checks', async () => {
    const made = world({ preflight: [['npm', 'test']] })
    const refused = await made.refused('workflow', 'ship', {}, here)
    expect(refused.code).toBe('workflow_unconfigured')
    expect(refused.hint).toContain('workflow: { ship: [["npm", "publish"]] }')
    expect(made.ran).toEqual([])
  })

  test('ship is rejected for an observer', async () => {
    expect((await world(commands).refused('workflow', 'ship', {}, { caller: OBSERVER })).code).toBe(
      'kind_forbidden',
    )
    expect(
      (await world(commands).refused('workflow', 'ship', {}, { narrowing: { read_only: true } })).code,
    ).toBe('read_only')
  })
})

describe('a batch', () => {
  const batch = (calls: object[], request = {}) =>
    world().call<{ results: object[] }>('workflow', 'batch', { calls }, request)

  test('a batch answers in the order of its calls, even if a later one ends first', async () => {
    let open = () => {}
    const gate = new Promise<void>((opened) => (open = opened))
    const both = facade('both', {
      slow: defineAction({
        summary: 'Waits.',
        mutates: false,
        errors: [],
        allow: ['agent'],
        input: z.strictObject({}),
        output: z.any(),
        handle: () => gate.then(() => 'slow'),
      }),
      fast: defineAction({
        summary: 'Does not.',
        mutates: false,
        errors: [],
        allow: ['agent'],
        input: z.strictObject({}),
        output: z.any(),
        handle() {
          open()
          return 'fast'
        },
      }),
    })
    const calls = ['slow', 'none', 'fast'].map((name) => ({ facade: 'both', action: name }))
    const { results } = await world({}, { facades: [both] }).call<{ results: object[] }>(
      'workflow',
      'batch',
      { calls },
    )
    expect(results).toMatchObject([
      { result: 'slow' },
      { error: { code: 'action_unknown' } },
      { result: 'fast' },
    ])
  })

  test('a batch changes nothing in read-only mode', async () => {
    const calls = [
      { facade: 'signals', action: 'pending' },
      { facade: 'git', action: 'status' },
    ]
    const { results } = await batch(calls, { narrowing: { read_only: true }, caller: AGENT })
    expect(results).toMatchObject([{ error: { code: 'read_only' } }, { result: { branch: 'main' } }])
  })

  test.each<[unknown]>([
    [[]],
    [[{ facade: 'git' }]],
    [[{ facade: 'git', action: 'status', context: {} }]],
    [Array.from({ length: 101 }, () => ({ facade: 'git', action: 'status' }))],
  ])('an invalid batch is rejected', async (calls) => {
    expect((await world().refused('workflow', 'batch', { calls })).code).toBe('params_invalid')
  })

  test('a batch nested in batches is limited', async () => {
    let calls: object[] = [{ facade: 'git', action: 'status' }]
    for (let depth = 0; depth < 12; depth++)
      calls = [{ facade: 'workflow', action: 'batch', params: { calls } }]
    expect(JSON.stringify(await batch(calls))).toContain('limit_reached')
  })
})
