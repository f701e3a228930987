/**
 * The environment that the documented examples assume: a repository with the history that they mention, the routine
 * that they run, and an object for each id that they use.
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { liveHub, OPERATOR_TOKEN, type LiveHub } from './live-hub.ts'
import { playedOutside } from '../fakes/fake-outside.ts'
import { testRepository } from '../disk/test-repository.ts'
import { FACADES } from '../../../src/facades/all.ts'
import { createRegistry } from '../../../src/kernel/registry.ts'
import type { RoutineSettings } from '../../../src/modules/routines/service.ts'

export const ADA = 'ada'
export const SESSION = 'five-ways'

const SETTINGS: RoutineSettings = {
  routines: {
    nightly: {
      params: { branch: {} },
      steps: [{ step: 'exec', with: { argv: ['npm', 'test'] } }],
    },
  },
  sandbox: { exec: ['npm'], network: [], env: [] },
  workflow: { preflight: [['npm', 'test']], ship: [['npm', 'publish']] },
}

let root: string | null = null

/** Created once: actions write about it, never to it. */
export function exampleRepository(): string {
  if (root !== null) return root
  // Removed with the run's temporary directory, because several tests use it.
  const repository = testRepository(fs.mkdtempSync(path.join(os.tmpdir(), 'repository-')))
  const lines = Array.from({ length: 50 }, (_, at) => `const line_${at} = ${at}`)
  repository.write('src/main.ts', [...lines, 'const retry_after_ms = 1_000', ''].join('\n'))
  repository.commit('Wait before asking again, fixes #12')
  repository.git('tag', 'v1.0.0')
  repository.write('src/main.ts', [...lines, ''].join('\n'))
  repository.commit('Ask at once (#12)')
  root = repository.root
  return root
}

export async function exampleHub(facets: readonly string[], activity = false): Promise<LiveHub> {
  const hub = await liveHub({
    ...{ grants: { facets, pro: true, intents: {} }, routines: SETTINGS },
    outside: playedOutside({ program: () => ({ stdout: 'all well' }) }),
    activity,
  })
  for (const identity of [ADA, 'bob', 'alice']) {
    await hub.hub.personas.add({ identity, surface: 'mcp', project: exampleRepository() })
  }
  for (const session_id of activity ? ['ada-1', 'nightly-7'] : []) {
    const input = { session_id, project: '/home/ada/parser', tool_name: 'pytest' }
    await hub.hub.modules.activity.logAction(input)
  }
  return hub
}

/** Calls an action as a preparation. */
type Make = (facade: string, action: string, params: object) => Promise<Record<string, unknown>>

/** Prepares what an example relies on; returns the parameters that change because of it. */
const BEFORE: Record<string, (make: { operator: Make; agent: Make }) => Promise<object>> = {
  'signals read': async ({ operator }) => {
    const { signal_id } = await operator('signals', 'send', { to: ADA, intent: 'look', payload: {} })
    return { signal_id }
  },
  'signals cancel': async ({ agent }) => {
    const { signal_id } = await agent('signals', 'send', { to: 'bob', intent: 'look', payload: {} })
    return { signal_id }
  },
  'signals ack': forOperator(),
  'signals release': forOperator('pending'),
  'signals replay': forOperator('pending', 'ack'),
  'context primer': async () => ({ agent_id: ADA }),
  'store close': record('friction'),
  'sentinel read_issue': record('issue'),
  'sentinel close_issue': record('issue'),
  'sentinel read_epic': record('epic'),
  'sentinel resolve_epic': record('epic'),
  'architect read_policy': record('policy'),
  'architect read_adr': adr,
  'friction bump': record('friction'),
  'friction resolve': record('friction'),
  'dojo create_proposal': record('wish', 'wish_id'),
  'vector read_run': run,
  'vector complete_run': run,
  'vector log_event': run,
  'vector checkpoint': run,
  'vector context_pack': run,
  'vector assumptions': run,
  'vector trace': run,
  'context unpin': pinned,
  'context artifact_read': artifact,
  'decisions trace': decision,
  'decisions reconsider': decision,
  'decisions override': decision,
  'decisions link_commit': decision,
  'graph add_relation': entities('src/auth/jwt.ts', 'src/auth/keys.ts'),
  'graph neighbors': entities('src/auth/jwt.ts'),
  'graph path': entities('src/auth/jwt.ts', 'src/billing/'),
  'registry alias': project('/home/ada/work/shop'),
  'registry resolve': project('/home/ada/work/shop', 'shop'),
  'registry remove': project('/home/ada/work/shop', 'shop'),
  'projects remove': project('/home/ada/shop'),
}

const KINDS = new Map(createRegistry(FACADES).kinds.map((kind) => [kind.name, kind]))

function record(kind: string, as = 'id'): (make: { agent: Make }) => Promise<object> {
  return async ({ agent }) => {
    const { id } = await agent('store', 'put', { kind, record: KINDS.get(kind)?.examples?.[0] })
    return { [as]: id }
  }
}

/** Sends a signal to the operator and performs these actions on it. */
function forOperator(
  ...actions: ('pending' | 'ack')[]
): (make: { operator: Make; agent: Make }) => Promise<object> {
  return async ({ operator, agent }) => {
    const { signal_id } = await agent('signals', 'send', { to: 'operator', intent: 'look', payload: {} })
    const signal_ids = [signal_id]
    for (const action of actions) await operator('signals', action, action === 'ack' ? { signal_ids } : {})
    return { signal_ids }
  }
}

async function adr({ agent }: { agent: Make }): Promise<object> {
  const { id } = await agent('architect', 'create_adr', { title: 'One process', decision: 'One hub a home.' })
  return { id }
}

async function run({ agent }: { agent: Make }): Promise<object> {
  const { run_id } = await agent('vector', 'create_run', { prompt: 'Split the parser.' })
  return { run_id }
}

/** Returns the parameters of that action's example. */
function example(facade: string, action: string): object {
  const found = FACADES.find(({ name }) => name === facade)?.actions[action]
  return found?.examples?.[0] as object
}

async function pinned({ agent }: { agent: Make }): Promise<object> {
  await agent('context', 'pin', example('context', 'pin'))
  return {}
}

async function artifact({ agent }: { agent: Make }): Promise<object> {
  const record = { name: 'load test', text: 'It held.' }
  const { id } = await agent('store', 'put', { kind: 'artifact', record })
  return { id }
}

async function decision({ agent }: { agent: Make }): Promise<object> {
  const { id } = await agent('decisions', 'decide', example('decisions', 'decide'))
  return { decision_id: id }
}

function entities(...names: string[]): (make: { agent: Make }) => Promise<object> {
  return async ({ agent }) => {
    for (const name of names) await agent('graph', 'add_entity', { name, type: 'file' })
    return {}
  }
}

function project(root: string, ...aliases: string[]): (make: { operator: Make }) => Promise<object> {
  return async ({ operator }) => {
    await operator('registry', 'add', { path: root, aliases })
    return {}
  }
}

/** Prepares everything that an example relies on and returns the parameters of the call. */
export async function prepared(hub: LiveHub, call: { facade: string; action: string; params: unknown }) {
  const before = BEFORE[`${call.facade} ${call.action}`]
  if (before === undefined) return call.params
  const as =
    (token: string): Make =>
    (...told) =>
      hub.call(...told, token)
  const told = await before({ operator: as(OPERATOR_TOKEN), agent: as(hub.token(ADA, 'agent', SESSION)) })
  return { ...(call.params as object), ...told }
}
