/**
 * Tries every action with a path, reference or scope against every way out of a project. Everything outside contains a
 * canary, which must not occur in any response. Actions and parameters come from the registry, so that new ones are
 * included.
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import * as z from 'zod'
import { FACADES } from '../../../src/facades/all.ts'
import { createHub, type Hub } from '../../../src/hub/hub.ts'
import type { Action } from '../../../src/kernel/define.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { createMemoryEventLog } from '../../../src/storage/memory/event-log.ts'
import { createMemoryRecordStore } from '../../../src/storage/memory/record-store.ts'
import { createMemorySignalStore } from '../../../src/storage/memory/signal-store.ts'
import { projectOpener } from '../../../src/storage/file/project/open-projects.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { createGitRunner } from '../../../src/system/git/git-runner.ts'
import { createStepRunner } from '../../../src/system/process/step-runner.ts'
import { createIds, systemRandom } from '../../../src/system/random.ts'
import { systemPathInspector } from '../../../src/system/files/path-inspector.ts'
import { CANARIES, FORMS, outsideAt, type Aim, type Form, type Outside } from '../../support/disk/escapes.ts'
import { RECEIVED } from '../../../src/ports/sent-answer.ts'
import { playedOutside } from '../../support/fakes/fake-outside.ts'
import { GIT_ENV } from '../../support/disk/test-repository.ts'

/** The kind of place that a parameter of this name accepts. */
const TAKES: Readonly<Record<string, keyof Aim>> = {
  ...{ path: 'path', affected_files: 'path', cwd: 'path', resource: 'path', links: 'path' },
  ...{ scope: 'path', project: 'scope' },
  ...{ sha: 'ref', range: 'ref', from: 'ref', to: 'ref', pattern: 'ref' },
  ...{ commit_hash: 'ref', commit_hashes: 'ref', commits: 'ref' },
}

/** Parameters that never contain a place. A new name must be added here or above. */
const NAMES_NO_PLACE = new Set(
  `action add after agent_id alias aliases all_projects alternatives archived argv args assumptions author before before_seq
   blocker body break by calls capabilities confidence confirm cons consequences constraints context count data day decision
   decision_id decisions delegated_by depends_on depth detail direction domain dry_run entities entity entity_types entries
   entry entry_type entry_types epic_id epoch events expected facade fields filter force hold id idempotency_key identity
   in_reply_to intent issue issue_id keep_decisions keep_open key kind leased_to level limit line markers max_bytes max_length
   max_tokens message n name needs new_context new_decision note objective_id open option overridden_by params part payload
   peek priority progress prompt properties pros purpose query rationale reason reason_rejected record relates_to
   relation_types relations remove reply_to report_id require_live required resolution result reversible run_id runs same_as
   affected_symbols severity signal_id signal_ids since sort source staged stands status steal_own step steps success
   summarize summary supersedes surface tags target task text timeout_ms title to_session topic ttl_s type types until wait
   wish_id with
   action_id agent_type bytes client cursor description duration_ms error exit_code input output project_id prompt_type
   request_id session_id sha256 subtask_id task_id tool_name tool_type wave_number`.split(/\s+/),
)

/** Facades whose calls are independent of a project, whatever their scope. */
const ABOUT_NO_PROJECT = new Set([
  'signals',
  'tool',
  'coordinator',
  'registry',
  'personas',
  'projects',
  'plugins',
  'activity',
])

interface Tried {
  facade: string
  action: string
  declared: Action
  /** Whether it reads the project; others only store their parameters. */
  looks: boolean
  /** Parameters that accept a place. */
  places: string[]
}

type Schema = { properties?: Record<string, Schema>; items?: Schema; anyOf?: Schema[]; type?: unknown }

const schemaOf = (action: Action) =>
  z.toJSONSchema(action.input, { io: 'input', unrepresentable: 'any' }) as Schema

function namesIn(schema: Schema | undefined): string[] {
  if (schema === undefined) return []
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => [name, ...namesIn(inner)])
  return [...own, ...namesIn(schema.items), ...(schema.anyOf ?? []).flatMap(namesIn)]
}

const ACTIONS = FACADES.flatMap(({ name: facade, actions }) =>
  Object.entries(actions).map(([action, declared]) => ({ facade, action, declared })),
)
const TRIED: Tried[] = ACTIONS.map(({ facade, action, declared }) => ({
  ...{ facade, action, declared, looks: !declared.mutates || facade === 'git' },
  places: Object.keys(schemaOf(declared).properties ?? {}).filter((name) => Object.hasOwn(TAKES, name)),
}))

/** Returns an example with these parameters set to the form's target; null if the form has none of this kind. */
function paramsOf({ declared }: Tried, aim: Aim, places: readonly string[]): Record<string, unknown> | null {
  const examples = (declared.examples ?? []) as Record<string, unknown>[]
  const example = examples.find((one) => places.some((place) => place in one)) ?? examples[0] ?? {}
  const asked = places.flatMap((place): [string, unknown][] => {
    const value = aim[TAKES[place] as keyof Aim]
    if (value === undefined) return []
    const shape = schemaOf(declared).properties?.[place]
    const takesList = shape?.type === 'array' || shape?.anyOf?.some(({ type }) => type === 'array') === true
    const one = place === 'range' ? `${value}~1..${value}` : value
    return [[place, takesList ? [one] : one]]
  })
  return places.length > 0 && asked.length === 0 ? null : { ...example, ...Object.fromEntries(asked) }
}

interface Cell {
  what: string
  facade: string
  action: string
  params: object
  scope: string | null
}

/** Facades that run git, and so depend on files of the project and on its repository. */
const ASKS_GIT = new Set(['git', 'sentinel', 'workflow', 'routine', 'context'])

/** Returns whether the change can affect a call that has no place in its parameters. */
function isConcerned({ changes, times }: Form, { facade, looks }: Tried): boolean {
  // A writer whose lock is swapped away waits until the lock is stale.
  if (times !== undefined && !looks) return false
  if (changes === 'memory' || changes === 'root') return true
  return changes !== null && looks && ASKS_GIT.has(facade)
}

/** Returns all calls of one form. An action that only stores its parameters is called once, with all its places. */
function cellsOf(form: Form, aim: Aim): Cell[] {
  const cells: Cell[] = []
  for (const tried of TRIED) {
    const { facade, action, looks, places } = tried
    const add = (what: string, params: object | null, scope: string | null = null) => {
      if (params !== null) cells.push({ what: `${facade} ${action} ${what}`, facade, action, params, scope })
    }
    if (looks) for (const place of places) add(place, paramsOf(tried, aim, [place]))
    else if (form.changes === null)
      add(places.join(' '), places.length > 0 ? paramsOf(tried, aim, places) : null)
    if (ABOUT_NO_PROJECT.has(facade)) continue
    // A text that is not a path is a name, which is looked up in one place.
    const resolves = aim.scope?.startsWith('/') === true || facade === 'git'
    if (aim.scope !== undefined && looks && resolves) add('scope', paramsOf(tried, {}, []), aim.scope)
    if (isConcerned(form, tried)) add('(its project)', paramsOf(tried, {}, []))
  }
  return [...cells, ...relaysOf(aim)]
}

let outside: Outside
let hub: Hub
beforeAll(async () => {
  outside = outsideAt(fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'turnbell-'))))
  const clock = systemClock
  const ids = createIds(clock, systemRandom)
  const programs = createStepRunner({ env: GIT_ENV, clock })
  hub = await createHub({
    ...{ tenant_id: 'local', version: '0.0.0', secrets: { operator_token: 'tbop_x', signing_key: 'k' } },
    stores: {
      signals: createMemorySignalStore(clock),
      records: createMemoryRecordStore(),
      events: createMemoryEventLog(clock),
    },
    openProject: projectOpener({ log: silentLog, newId: () => ids.next(), closed: [outside.home] }),
    places: systemPathInspector({ root: outside.home }),
    git: createGitRunner({ env: GIT_ENV, clock, closed: [outside.home] }),
    facades: FACADES,
    grants: { facets: [...new Set(FACADES.map(({ facet }) => facet))], pro: true, intents: {} },
    outside: { ...playedOutside(), programs },
    settings: {
      routines: {},
      workflow: {} as never,
      sandbox: { exec: ['ls'], network: [], env: [] },
    },
    ...{ clock, ids, log: silentLog },
    ownHosts: () => [],
  })
  await hub.start()
})
afterAll(async () => {
  await hub.close()
  fs.rmSync(outside.top, { recursive: true, force: true })
})

async function call(
  identity: string,
  facade: string,
  action: string,
  params: unknown,
  scope: string | null,
  kind: 'agent' | 'operator' = 'agent',
): Promise<string> {
  const outcome = await hub.kernel.dispatch({
    ...{ facade, action, params, answer: RECEIVED },
    caller: { tenant_id: 'local', kind, identity, session_id: 's' },
    context: { scope },
  })
  return JSON.stringify(outcome)
}

/** Each call has its own project, whose persona has the same name. */
let made = 0
async function freshProject(): Promise<{ identity: string; project: string }> {
  made += 1
  const [identity, project] = [`p${made}`, path.join(outside.top, `p${made}`)]
  fs.cpSync(outside.template, project, { recursive: true })
  await hub.personas.add({ identity, surface: 'mcp', project })
  return { identity, project }
}

const holdsCanary = (answer: string) => CANARIES.some((canary) => answer.toLowerCase().includes(canary))

/** Number of concurrent calls. */
const TOGETHER = 6

/** Makes every call of one form; returns their number and the leaks. */
async function tryForm(form: Form): Promise<{ cells: number; leaks: string[] }> {
  const { identity, project } = await freshProject()
  const { end, ...aim } = await form.make(project, outside)
  const leaks: string[] = []
  const cells = Array.from({ length: form.times ?? 1 }, () => cellsOf(form, aim)).flat()
  const artifact = await keptArtifact(identity, aim)
  if (artifact !== null) cells.push(artifact)
  const left = [...cells]
  const work = async () => {
    for (let cell = left.pop(); cell !== undefined; cell = left.pop()) {
      const { what, facade, action, params, scope } = cell
      const answer = await call(identity, facade, action, params, scope)
      if (holdsCanary(answer)) leaks.push(`${what}: ${answer.slice(0, 500)}`)
    }
  }
  try {
    await Promise.all(Array.from({ length: TOGETHER }, work))
  } finally {
    await end?.()
  }
  return { cells: cells.length, leaks }
}

/** An artifact stored under a path is read back from that path. */
async function keptArtifact(identity: string, { path: at }: Aim): Promise<Cell | null> {
  if (at === undefined) return null
  const kept = await call(
    identity,
    'store',
    'put',
    { kind: 'artifact', record: { name: 'x', path: at } },
    null,
  )
  const id = /"id":"([0-9A-Z]{26})"/.exec(kept)?.[1]
  if (id === undefined) return null
  return { what: 'an artifact', facade: 'context', action: 'artifact_read', params: { id }, scope: null }
}

/** Actions that make other calls or start programs. */
function relaysOf({ path: at = 'a.ts' }: Aim): Cell[] {
  const blame = { facade: 'git', action: 'blame_context', params: { path: at, line: 1 } }
  const cell = (what: string, facade: string, action: string, params: object): Cell => ({
    ...{ what, facade, action, params, scope: null },
  })
  return [
    cell('a batch', 'workflow', 'batch', { calls: [blame] }),
    cell('a step that calls', 'routine', 'step', { step: 'call', with: blame }),
    cell('a step in a directory', 'routine', 'step', { step: 'exec', with: { argv: ['ls'], cwd: at } }),
    cell('steps', 'routine', 'eval', { steps: [{ step: 'call', with: blame }] }),
    cell('a tool', 'tool', 'invoke', { name: 'git_blame_context', args: blame.params }),
  ]
}

test('each parameter of each action is classified as a place or not', () => {
  const names = new Set(ACTIONS.flatMap(({ declared }) => namesIn(schemaOf(declared))))
  const unknown = [...names].filter((name) => !Object.hasOwn(TAKES, name) && !NAMES_NO_PLACE.has(name))
  expect(unknown).toEqual([])
  const gone = [...NAMES_NO_PLACE, ...Object.keys(TAKES)].filter((name) => !names.has(name))
  expect(gone).toEqual([])
})

test('an unchanged project gets results, and the canary would be detected', async () => {
  const { identity, project } = await freshProject()
  const answer = await call(identity, 'git', 'blame_context', { path: 'd/operator.token', line: 1 }, null)
  expect(answer).toContain('TODO mine')
  expect(await call(identity, 'git', 'log_recent', {}, project)).toContain('went on')
  expect(await call(identity, 'sentinel', 'scan', {}, null)).toContain('TODO mine')
  expect(await call(identity, 'blackboard', 'read', {}, null)).toContain('TODO mine')
  const own = await call(
    'operator',
    'git',
    'log_recent',
    {},
    path.join(outside.elsewhere, 'repo'),
    'operator',
  )
  expect(holdsCanary(own)).toBe(true)
})

let cells_in_all = 0
test.each(FORMS.map((form) => [form.name, form] as const))(
  'no response contains data from outside the project: %s',
  async (_, form) => {
    const { cells, leaks } = await tryForm(form)
    cells_in_all += cells
    expect(leaks).toEqual([])
    expect(cells).toBeGreaterThan(20)
  },
)

test('all cells were tried', () => {
  expect(FORMS.length).toBeGreaterThanOrEqual(20)
  console.info(`cells ${cells_in_all}, all asserted`)
})
