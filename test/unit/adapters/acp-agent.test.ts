import { expect, test } from 'vitest'
import { AgentUnfitError, connectAgent, type AgentHandlers } from '../../../adapters/acp/agent.ts'
import { AgentError, AgentGoneError } from '../../../adapters/acp/wire.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import type { Log } from '../../../src/ports/log.ts'
import { eventually } from '../../support/eventually.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { playedAgent, type Script } from '../../support/played-acp-agent.ts'

const REFUSED = { outcome: { outcome: 'cancelled' } } as const

function connect(script: Script = {}, options: { earlier?: string; handlers?: Partial<AgentHandlers> } = {}) {
  const clock = fakeClock()
  const played = playedAgent(script)
  const said: string[] = []
  const note = (_fields: object, message: string) => void said.push(message)
  const log: Log = { debug() {}, info() {}, warn: note, error: note }
  const connected = connectAgent(
    {
      pipe: played.pipe,
      cwd: '/project',
      mcp_server: { name: 'turnbell', command: 'node', args: ['turnbell.js', 'mcp'] },
      earlier: options.earlier ?? null,
      version: '0',
      clock,
      log,
    },
    { onUpdate() {}, onPermission: () => REFUSED, ...options.handlers },
  )
  connected.catch(() => {})
  return { clock, played, said, connected }
}

test('a session begins in the project with the server of turnbell, and without files or terminals', async () => {
  const { played, connected } = connect()
  expect((await connected).session_id).toBe('new')
  expect(played.asked('initialize')).toMatchObject({
    protocolVersion: 1,
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
  })
  expect(played.asked('session/new')).toEqual({
    cwd: '/project',
    mcpServers: [{ name: 'turnbell', command: 'node', args: ['turnbell.js', 'mcp'], env: [] }],
  })
})

test.each([
  [
    'resumed where the agent can',
    { sessionCapabilities: { resume: {} }, loadSession: true },
    'session/resume',
  ],
  ['loaded where it cannot', { loadSession: true }, 'session/load'],
])('an earlier session is %s', async (_how, agentCapabilities, method) => {
  const { played, connected } = connect({ initialize: { agentCapabilities } }, { earlier: 'ses_1' })
  expect((await connected).session_id).toBe('ses_1')
  expect(played.asked(method)).toMatchObject({ sessionId: 'ses_1', cwd: '/project' })
  expect(played.asked('session/new')).toBeUndefined()
})

test.each([
  ['that the agent does not know any more', { loadSession: true }],
  ['of an agent that cannot go on with one', {}],
])('an earlier session %s is followed by a new one', async (_which, agentCapabilities) => {
  const gone = { 'session/load': new AgentError(-32_002, 'Resource not found') }
  const { connected } = connect({ initialize: { agentCapabilities }, ...gone }, { earlier: 'ses_1' })
  expect((await connected).session_id).toBe('new')
})

test('an agent that wants a login says which, and it is no matter of waiting', async () => {
  const { connected } = connect({
    initialize: { authMethods: [{ id: 'a', name: 'API Key' }] },
    'session/new': new AgentError(-32_000, 'Authentication required'),
  })
  await expect(connected).rejects.toThrow(AgentUnfitError)
  await expect(connected).rejects.toThrow(/login first.*API Key/)
})

test('an agent of another version of the protocol is not talked to', async () => {
  const { played, connected } = connect({ initialize: { protocolVersion: 2 } })
  await expect(connected).rejects.toThrow(/version 2 of the Agent Client Protocol, turnbell version 1/)
  expect(played.asked('session/new')).toBeUndefined()
})

test('an agent that does not answer is given up, and one that ended at once', async () => {
  const mute = connect({ initialize: null })
  await mute.clock.advance(LIMITS.acp_answer_ms)
  await expect(mute.connected).rejects.toThrow(/initialize was not answered/)
  const ended = connect({ initialize: null })
  ended.played.end()
  await expect(ended.connected).rejects.toThrow(AgentGoneError)
})

test('an answer in another form is an error that says so', async () => {
  const { connected } = connect({ 'session/new': { sessionId: 7 } })
  await expect(connected).rejects.toThrow(/session\/new was answered in another form/)
})

test('what is no message is told of, and the rest is read', async () => {
  const { played, said, connected } = connect({ initialize: null })
  for (let n = 0; n < 100; n++) played.writes(`Welcome ${n}`)
  played.writes('{"a": 1}')
  played.writes('{"id": {}, "result": 1}')
  played.writes('null')
  expect(said).toEqual(
    Array.from(
      { length: LIMITS.acp_strange_lines_max },
      () => 'the agent wrote what is no message of the protocol',
    ),
  )
  played.answers('initialize', { protocolVersion: 1 })
  expect((await connected).session_id).toBe('new')
})

test('a prompt is answered when its turn is over, however long that takes', async () => {
  const updates: string[] = []
  const handlers = {
    onUpdate: ({ sessionUpdate }: { sessionUpdate: string }) => void updates.push(sessionUpdate),
  }
  const { clock, played, connected } = connect({ 'session/prompt': null }, { handlers })
  const agent = await connected
  const ended = agent.prompt('a bell')
  await eventually('it is prompted', () => played.asked('session/prompt'))
  expect(played.asked('session/prompt')).toEqual({
    sessionId: 'new',
    prompt: [{ type: 'text', text: 'a bell' }],
  })
  played.tells({ sessionUpdate: 'tool_call', toolCallId: 'call_1', title: 'bash' })
  played.tells({ sessionUpdate: 'of_a_later_version', strange: true })
  await clock.advance(24 * 60 * 60_000)
  played.answers('session/prompt', { stopReason: 'max_tokens' })
  expect(await ended).toBe('max_tokens')
  expect(updates).toEqual(['tool_call', 'of_a_later_version'])
})

// A turn that waits for ever is never rung again.
test.each([
  ['with a word for a code', { error: { code: 'rate_limited', message: 'slow down' } }],
  ['without a word', { error: { code: -32_603 } }],
  ['with a bare word', { error: 'the model is away' }],
  ['with more than anybody reads', { result: deep(200) }],
])('a prompt that is answered in another form, %s, has broken off', async (_how, answer) => {
  const { played, connected } = connect({ 'session/prompt': null })
  const ended = (await connected).prompt('a bell')
  await eventually('it is prompted', () => played.asked('session/prompt'))
  played.writes(JSON.stringify({ jsonrpc: '2.0', id: 3, ...answer }))
  await expect(ended).rejects.toThrow(AgentError)
  await expect(ended).rejects.toThrow(/answered in another form/)
})

test('an answer may say that there is no error, and no method', async () => {
  const { played, connected } = connect({ 'session/prompt': null })
  const ended = (await connected).prompt('a bell')
  await eventually('it is prompted', () => played.asked('session/prompt'))
  played.writes('{"id": 3, "method": null, "result": {"stopReason": "end_turn"}, "error": null}')
  expect(await ended).toBe('end_turn')
})

test('a question has an answer however deep it is, and in whatever form', async () => {
  const { played, connected } = connect()
  await connected
  const request = (depth: number) => ({
    sessionId: 'new',
    toolCall: { toolCallId: 'call_1', rawInput: deep(depth) },
    options: [],
  })
  expect(await played.asks('session/request_permission', request(100))).toEqual({ result: REFUSED })
  for (const [method, params] of [
    ['session/request_permission', request(200)],
    [7, {}],
  ] as const)
    expect(await played.asks(method as string, params)).toMatchObject({ error: { code: -32_600 } })
})

function deep(depth: number): unknown {
  return JSON.parse('['.repeat(depth) + ']'.repeat(depth))
}

test('a prompt ends with its agent', async () => {
  const { played, connected } = connect({ 'session/prompt': null })
  const ended = (await connected).prompt('a bell')
  await eventually('it is prompted', () => played.asked('session/prompt'))
  played.end()
  await expect(ended).rejects.toThrow(AgentGoneError)
})

test('a question for leave is answered, every other one refused', async () => {
  const asked: string[] = []
  const handlers: Partial<AgentHandlers> = {
    onPermission({ toolCall }) {
      asked.push(toolCall.title ?? '')
      return { outcome: { outcome: 'selected', optionId: 'no' } }
    },
  }
  const { played, connected } = connect({}, { handlers })
  await connected
  const options = [{ optionId: 'no', name: 'No', kind: 'reject_once' }]
  const request = { sessionId: 'new', toolCall: { toolCallId: 'call_1', title: 'rm' }, options }
  expect(await played.asks('session/request_permission', request)).toEqual({
    result: { outcome: { outcome: 'selected', optionId: 'no' } },
  })
  expect(asked).toEqual(['rm'])
  expect(await played.asks('session/request_permission', { sessionId: 'new' })).toMatchObject({
    error: { code: -32_602 },
  })
  expect(await played.asks('fs/read_text_file', { sessionId: 'new', path: '/etc/passwd' })).toMatchObject({
    error: { code: -32_601 },
  })
})
