import { afterAll, beforeAll, expect, test } from 'vitest'
import { startSmallHub, type SmallHub } from '../../support/worlds/small-hub.ts'

let hub: SmallHub
beforeAll(async () => {
  hub = await startSmallHub()
  await hub.personas.add({ identity: 'ada', surface: 'claude-code', project: '/projects/shop' })
  await hub.personas.add({ identity: 'abe', surface: 'mcp', project: '/projects/other' })
  await hub.personas.add({ identity: 'bob', surface: 'codex', project: '/projects/shop' })
  await hub.personas.add({ identity: 'gone', surface: 'codex' })
  await hub.personas.wrap('gone')
})
afterAll(() => hub.close())

const call = async (facade: string, action: string, params: object, token = hub.token('ada')) => {
  const { status, body } = await hub.request('POST', '/call', {
    token,
    body: { tool: facade, action, params },
  })
  return { status, body: body as unknown as { result: { text: string; who: string }; code?: string } }
}
const primer = async (token?: string, params: object = {}) =>
  (await call('context', 'primer', params, token)).body.result.text.split('\n')

test('teammates of the same project come first, and personas that take no signals are left out', async () => {
  const [own, others] = await primer()
  expect(own).toBe('You are ada, an agent in a team (turnbell), project shop.')
  expect(others).toBe('Other agents: bob (codex), abe (mcp). The person is operator.')
})

test('waiting signals are counted with their senders, without their contents', async () => {
  for (const payload of ['first secret', 'second secret'])
    await call('signals', 'send', { to: 'ada', intent: 'plot', payload }, hub.token('bob'))
  const told = await primer()
  expect(told[2]).toBe('2 signals wait for you, from bob.')
  expect(told.join('\n')).not.toMatch(/secret|plot/)
})

test('drained signals that are not completed are counted with their senders', async () => {
  const token = hub.token('ada', 'agent', 's1')
  const drain = (params: object) =>
    hub.request('POST', '/call', { token, body: { tool: 'signals_pending', params } })
  const { drain_id } = (await drain({})).body['result'] as { drain_id: string }
  expect((await drain({ confirm: drain_id })).status).toBe(200)
  const lines = (await primer()).slice(2, 4)
  expect(lines).toEqual(['No signals wait.', 'Taken and not completed: 2, from bob.'])
})

test('the memory part shows a pin, then the newest warnings, and always a decision', async () => {
  const post = (entry_type: string, summary: string) =>
    call('blackboard', 'post', { entry_type, summary, scope: 'project' })
  await post('warning', 'Old one')
  await post('warning', 'Do not touch the cache')
  await post('warning', 'The tests need a database')
  await call('decisions', 'decide', {
    ...{ domain: 'data', scope: 'src/', summary: 'Money is kept as integer cents', context: 'It was open.' },
    ...{ rationale: 'It is simple.', alternatives: [{ option: 'floats', reason_rejected: 'They round.' }] },
  })
  expect((await primer()).filter((line) => line.startsWith('- '))).toEqual([
    '- warning: The tests need a database',
    '- warning: Do not touch the cache',
    '- decision: Money is kept as integer cents',
  ])
  await call('context', 'pin', { text: 'Releases go out on Tuesdays' })
  expect((await primer()).filter((line) => line.startsWith('- '))).toEqual([
    '- pinned: Releases go out on Tuesdays',
    '- warning: The tests need a database',
    '- decision: Money is kept as integer cents',
  ])
})

test('a scope that the persona may not read is replaced by its own project', async () => {
  const { body } = await hub.request('POST', '/hook/claude-code', {
    token: hub.token('ada'),
    body: { hook_event_name: 'SessionStart', source: 'startup', cwd: '/somewhere/else' },
  })
  const { additionalContext } = (body as { hookSpecificOutput: { additionalContext: string } })
    .hookSpecificOutput
  expect(additionalContext).toContain('project shop')
})

test('an agent gets only its own primer; the operator names an existing persona', async () => {
  expect((await call('context', 'primer', { agent_id: 'bob' })).body.code).toBe('identity_mismatch')
  expect((await call('context', 'primer', {}, hub.operator)).body.code).toBe('params_invalid')
  expect((await call('context', 'primer', { agent_id: 'adda' }, hub.operator)).body.code).toBe(
    'target_unknown',
  )
  expect((await primer(hub.operator, { agent_id: 'bob' }))[0]).toContain('You are bob')
})
