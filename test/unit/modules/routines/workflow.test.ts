/** The composites: what they tell where everything is there, and where nothing is. */
import { beforeEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { TurnbellError } from '../../../../src/contracts/errors.ts'
import type { Report, WorkflowCheck, WorkflowSettings } from '../../../../src/contracts/routine.ts'
import type { RecordKind } from '../../../../src/contracts/records.ts'
import { defineAction, defineFacade, type Facade } from '../../../../src/kernel/define.ts'
import { playedOutside } from '../../../support/outside.ts'
import { routineKernel } from '../../../support/routine-kernel.ts'
import { AGENT, OBSERVER, OPERATOR } from '../../../support/small-kernel.ts'

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

/** What the other facades say; an error is a refusal. */
let said: Record<string, unknown>
let asked: Record<string, unknown>

const action = (name: string, mutates = false) =>
  defineAction({
    ...{ summary: 'Says what the test says.', mutates, errors: [], allow: ['agent', 'observer'] as const },
    ...{ input: z.record(z.string(), z.any()), output: z.any() },
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
  defineFacade({ ...{ name, summary: 'Played.', compact: 'Played.', facet, actions } })
const git = facade('git', {
  status: action('git_status'),
  log_recent: action('git_log_recent'),
  find_removal: action('git_find_removal'),
})
const fields = z.strictObject({ title: z.string() })
const kinds: RecordKind[] = [
  {
    ...{ name: 'issue', summary: 'To be done.', fields, keeper: 'project' },
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
  ...{
    root: '/projects/x',
    head: 'abc',
    branch: 'main',
    upstream: 'origin/main',
    ahead: 1,
    behind: 0,
    clean: true,
  },
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
  more: { facades?: readonly Facade[]; exits?: Record<string, number>; leash?: string[] } = {},
) {
  const { exits = {}, leash = ['npm', 'publish'] } = more
  const outside = playedOutside({
    program: ({ argv }) => ({ exit_code: exits[argv.join(' ')] ?? 0, stdout: 'said' }),
  })
  const made = routineKernel({
    facades: more.facades ?? others,
    projects: [project],
    outside,
    settings: {
      workflow: { preflight: [], ship: [], ...workflow },
      leash: { exec: leash, network: [], env: [] },
    },
  })
  return { ...made, ran: outside.ran }
}

describe('the status', () => {
  test('tells all of it in short', async () => {
    const signal = (signal_id: string, priority: number) => ({
      ...{
        signal_id,
        priority,
        from: 'bob',
        intent: 'x',
        created_at: 't',
        payload: 'long',
        status: 'pending',
      },
    })
    said['inbox'] = { signals: [signal('a', 3), signal('b', 9), signal('c', 3)] }
    const { sections, missing } = await world().call<Sections>('workflow', 'status')
    expect(missing).toEqual({})
    expect(sections).toEqual({
      git: {
        ...{ branch: 'main', head: 'abc', upstream: 'origin/main', ahead: 1, behind: 0, clean: true },
        counts: CLEAN.counts,
      },
      coordinator: { agents: [] },
      waiting: {
        ...{ count: 3, more: false, urgent: 1 },
        signals: ['b', 'a', 'c'].map((id) => ({
          ...{ signal_id: id, from: 'bob', intent: 'x', priority: id === 'b' ? 9 : 3, created_at: 't' },
        })),
      },
      records: { total: 7, records: [{ id: '1', title: 'Wait' }] },
      reports: [],
    })
    expect(asked['inbox']).toMatchObject({ status: ['pending'] })
    expect(asked['query']).toMatchObject({ kind: 'issue', filter: { status: ['open', 'begun'] } })
  })

  test('tells of the last reports', async () => {
    const { call } = world()
    await call('routine', 'step', { step: 'events' })
    const { sections } = await call<Sections>('workflow', 'status')
    expect(sections['reports']).toMatchObject([{ generation: 1, routine: null, ok: true, failures: 0 }])
  })

  test('keeps nothing and changes nothing: it works where nothing may be changed, and for who only looks', async () => {
    const { call, records } = world()
    for (const request of [{ narrowing: { read_only: true } }, { caller: OBSERVER }])
      expect((await call<Sections>('workflow', 'status', {}, request)).missing).toEqual({})
    expect(await records.list('routine_report')).toEqual([])
  })

  test('has a gap for each part that is closed, broken or away, and says why', async () => {
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
      ...{
        git: 'timed_out',
        coordinator: 'facade_unknown',
        waiting: 'facade_unknown',
        records: 'facet_forbidden',
      },
    })
  })
})

describe('an investigation', () => {
  test('finds what mentions it, in any case', async () => {
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

  test('that finds nothing has empty sections, and one without the others is soft', async () => {
    const { sections, missing } = await world({}, { facades: [] }).call<Sections>('workflow', 'investigate', {
      query: 'nowhere to be seen',
    })
    expect(sections).toMatchObject({ commits: null, events: [] })
    expect(missing['commits']).toBe('facade_unknown')
  })

  test('of nothing is refused', async () => {
    expect((await world().refused('workflow', 'investigate', { query: '' })).code).toBe('params_invalid')
  })
})

const preflight = async (made: ReturnType<typeof world>, params = {}, request = {}) =>
  made.call<{ ready: boolean; checks: WorkflowCheck[]; report: Report }>(
    ...(['workflow', 'preflight', params, { ...here, ...request }] as const),
  )
const oks = (checks: readonly WorkflowCheck[]) => Object.fromEntries(checks.map(({ name, ok }) => [name, ok]))

describe('a preflight', () => {
  test('is ready when every check holds, commands among them', async () => {
    const made = world({
      preflight: [
        ['npm', 'test'],
        ['npm', 'run', 'lint'],
      ],
    })
    const { ready, checks, report } = await preflight(made)
    expect(ready).toBe(true)
    expect(oks(checks)).toEqual({
      ...{ no_conflicts: true, not_behind: true, nothing_urgent: true },
      ...{ 'npm test': true, 'npm run lint': true },
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
  ])('is not ready without %s', async (name, spoil, detail) => {
    spoil()
    const { ready, checks } = await preflight(world())
    expect(ready).toBe(false)
    const failed = checks.filter(({ ok }) => ok !== true)
    expect(failed).toMatchObject([{ name, ok: false, detail: expect.stringContaining(detail) as string }])
  })

  test.each([{ ...CLEAN, behind: null, ahead: null, upstream: null }])(
    'needs no upstream',
    async (status) => {
      said['git_status'] = status
      said['pending'] = { signals: [{ priority: 6 }] }
      expect((await preflight(world())).ready).toBe(true)
    },
  )

  test('is not ready when a command fails or is not allowed', async () => {
    const commands = { preflight: [['npm', 'test'], ['make']] }
    const { ready, checks } = await preflight(world(commands, { exits: { 'npm test': 1 } }))
    expect(ready).toBe(false)
    expect(checks.slice(-2)).toMatchObject([
      { name: 'npm test', ok: false, detail: 'npm test ended with code 1, not 0.' },
      { name: 'make', ok: false, detail: expect.stringContaining('not on the leash') as string },
    ])
  })

  test('passes over what the hub or the project does not have, not over what it could not find out', async () => {
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
    // Whoever looks away on purpose has not looked.
    const narrowed = await preflight(world(), {}, { narrowing: { facades: ['workflow', 'signals'] } })
    expect(narrowed.ready).toBe(false)
  })

  test('of the operator looks into no queue', async () => {
    const { ready, checks } = await preflight(world(), {}, { caller: OPERATOR })
    expect([ready, Object.keys(oks(checks))]).toEqual([true, ['no_conflicts', 'not_behind']])
  })

  test('without a run only looks', async () => {
    const made = world({ preflight: [['npm', 'test'], ['make']] })
    const { ready, checks, report } = await preflight(made, { dry_run: true })
    expect(oks(checks)).toEqual({
      ...{ no_conflicts: true, not_behind: true, nothing_urgent: true, 'npm test': null, make: false },
    })
    expect([ready, report.report_id, made.ran]).toEqual([false, null, []])
  })
})

describe('shipping', () => {
  const ship = (made: ReturnType<typeof world>, params = {}) =>
    made.call<Shipping>('workflow', 'ship', params, here)
  const commands = { preflight: [['npm', 'test']], ship: [['npm', 'run', 'build'], ['publish']] }

  test('does what is configured, once everything is ready', async () => {
    const made = world(commands)
    expect(await ship(made)).toMatchObject({
      ...{ ready: true, shipped: true },
      report: { routine: 'workflow.ship', ok: true, generation: 2 },
    })
    expect(made.ran.map(({ argv }) => argv.join(' '))).toEqual(['npm test', 'npm run build', 'publish'])
  })

  test('does nothing while something is not ready', async () => {
    const made = world(commands, { exits: { 'npm test': 1 } })
    expect(await ship(made)).toMatchObject({ ready: false, shipped: false, report: null })
    expect(made.ran).toHaveLength(1)
  })

  test('stops at the first command that fails', async () => {
    const made = world(commands, { exits: { 'npm run build': 2 } })
    const { shipped, ready, report } = await ship(made)
    expect([shipped, ready]).toEqual([false, true])
    expect(report?.steps).toMatchObject([
      { status: 'failed', result: { stdout: 'said' } },
      { status: 'skipped' },
    ])
    expect(made.ran).toHaveLength(2)
  })

  test('is planned in a dry run, which finds what is not on the leash', async () => {
    const made = world(commands)
    expect(await ship(made, { dry_run: true })).toMatchObject({
      ...{ ready: true, shipped: false },
      report: { report_id: null, ok: true, steps: [{ status: 'planned' }, { status: 'planned' }] },
    })
    const leashed = world(commands, { leash: ['npm'] })
    expect(await ship(leashed, { dry_run: true })).toMatchObject({
      report: { ok: false, steps: [{}, { problem: { code: 'leash_forbidden' } }] },
    })
    expect([made.ran, leashed.ran]).toEqual([[], []])
  })

  test('without a configuration says how one looks, and does not even look around', async () => {
    const made = world({ preflight: [['npm', 'test']] })
    const refused = await made.refused('workflow', 'ship', {}, here)
    expect(refused.code).toBe('workflow_unconfigured')
    expect(refused.hint).toContain('workflow: { ship: [["npm", "publish"]] }')
    expect(made.ran).toEqual([])
  })

  test('is no observer’s business', async () => {
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

  test('answers in the order of its calls, though a later one is done first', async () => {
    let open = () => {}
    const gate = new Promise<void>((opened) => (open = opened))
    const both = facade('both', {
      slow: defineAction({
        ...{ summary: 'Waits.', mutates: false, errors: [], allow: ['agent'] },
        ...{ input: z.strictObject({}), output: z.any(), handle: () => gate.then(() => 'slow') },
      }),
      fast: defineAction({
        ...{ summary: 'Does not.', mutates: false, errors: [], allow: ['agent'] },
        ...{ input: z.strictObject({}), output: z.any() },
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

  test('changes nothing where nothing may be changed', async () => {
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
  ])('that is none is refused', async (calls) => {
    expect((await world().refused('workflow', 'batch', { calls })).code).toBe('params_invalid')
  })

  test('in a batch in a batch comes to an end', async () => {
    let calls: object[] = [{ facade: 'git', action: 'status' }]
    for (let depth = 0; depth < 12; depth++)
      calls = [{ facade: 'workflow', action: 'batch', params: { calls } }]
    expect(JSON.stringify(await batch(calls))).toContain('limit_reached')
  })
})
