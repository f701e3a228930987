import { expect, test } from 'vitest'
import { AgentUnusableError, connectAgent, type AgentHandlers } from '../../../../adapters/acp/agent.ts'
import { AgentError, AgentGoneError } from '../../../../adapters/acp/wire.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import type { Log } from '../../../../src/ports/log.ts'
import { eventually } from '../../../support/eventually.ts'
import { fakeClock } from '../../../support/fakes/fake-clock.ts'
import { playedAgent, speaks, type Script } from '../../../support/fakes/scripted-acp-agent.ts'

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
      previous_session: options.earlier ?? null,
      version: '0',
      clock,
      log,
    },
    { onUpdate() {}, onPermission: () => REFUSED, ...options.handlers },
  )
  connected.catch(() => {})
  return { clock, played, said, connected }
}

test("a session is opened in the project with turnbell's MCP server, without files or terminals", async () => {
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
    'resumed if the agent supports it',
    { sessionCapabilities: { resume: {} }, loadSession: true },
    'session/resume',
  ],
  ['loaded where it cannot', { loadSession: true }, 'session/load'],
])('a previous session is %s', async (_how, agentCapabilities, method) => {
  const { played, connected } = connect({ initialize: { agentCapabilities } }, { earlier: 'ses_1' })
  expect((await connected).session_id).toBe('ses_1')
  expect(played.asked(method)).toMatchObject({ sessionId: 'ses_1', cwd: '/project' })
  expect(played.asked('session/new')).toBeUndefined()
})

test.each([
  ['that the agent no longer knows', { loadSession: true }],
  ['of an agent that cannot resume', {}],
])('a previous session %s is replaced by a new one', async (_which, agentCapabilities) => {
  const gone = { 'session/load': new AgentError(-32_002, 'Resource not found') }
  const { connected } = connect({ initialize: { agentCapabilities }, ...gone }, { earlier: 'ses_1' })
  expect((await connected).session_id).toBe('new')
})

test('an agent that requires a login is unusable, and the error names its methods', async () => {
  const { connected } = connect({
    initialize: { authMethods: [{ id: 'a', name: 'API Key' }] },
    'session/new': new AgentError(-32_000, 'Authentication required'),
  })
  await expect(connected).rejects.toThrow(AgentUnusableError)
  await expect(connected).rejects.toThrow(/login.*API Key/)
})

test('an agent that speaks a newer protocol version, too, is talked to in version 1', async () => {
  const { played, connected } = connect(speaks(1, 2))
  expect((await connected).session_id).toBe('new')
  expect(played.asked('initialize')).toMatchObject({ protocolVersion: 1 })
  expect(played.asked('session/new')).toBeDefined()
})

test.each([0, 2, 3])('an agent that only speaks protocol version %d is unusable', async (version) => {
  const { played, connected } = connect(speaks(version))
  await expect(connected).rejects.toThrow(AgentUnusableError)
  await expect(connected).rejects.toThrow(
    `the agent speaks version ${version} of the Agent Client Protocol, turnbell version 1; ` +
      'use an agent that also speaks version 1, or look for a newer turnbell',
  )
  expect(played.asked('session/new')).toBeUndefined()
})

test.each([
  [
    'names its versions',
    new AgentError(-32_022, 'Unsupported protocol version', { requested: 1, supported: [2, 3] }),
    /^the agent speaks versions 2 and 3 of the Agent Client Protocol, turnbell version 1; use an agent that/,
  ],
  [
    'names its only version',
    new AgentError(-32_022, 'Unsupported protocol version', { requested: 1, supported: [2] }),
    /^the agent speaks version 2 of the Agent Client Protocol, turnbell version 1; use an agent that/,
  ],
  [
    'names none',
    new AgentError(-32_022, 'Unsupported protocol version'),
    /^the agent speaks another version of the Agent Client Protocol, turnbell version 1;/,
  ],
  [
    'requires other parameters',
    new AgentError(-32_602, 'missing field `info`'),
    /^the agent rejects version 1 of the Agent Client Protocol \(missing field `info`\); use an agent that/,
  ],
])('an agent that rejects the protocol version and %s is unusable', async (_how, answer, message) => {
  const { played, connected } = connect({ initialize: answer })
  await expect(connected).rejects.toThrow(AgentUnusableError)
  await expect(connected).rejects.toThrow(message)
  expect(played.asked('session/new')).toBeUndefined()
})

test('an agent that fails to initialize for another reason is not unusable', async () => {
  const { connected } = connect({ initialize: new AgentError(-32_603, 'Internal error') })
  await expect(connected).rejects.toThrow(/^Internal error$/)
  await expect(connected).rejects.not.toThrow(AgentUnusableError)
})

test('an answer to initialize without a readable version is an error', async () => {
  const { connected } = connect({ initialize: { protocolVersion: 'two' } })
  await expect(connected).rejects.toThrow(/initialize was answered in an unknown format/)
})

test('connecting fails if the agent does not answer or exits', async () => {
  const mute = connect({ initialize: null })
  await mute.clock.advance(LIMITS.acp_answer_ms)
  await expect(mute.connected).rejects.toThrow(/initialize timed out/)
  const ended = connect({ initialize: null })
  ended.played.end()
  await expect(ended.connected).rejects.toThrow(AgentGoneError)
})

test('an answer in an unknown format is an error', async () => {
  const { connected } = connect({ 'session/new': { sessionId: 7 } })
  await expect(connected).rejects.toThrow(/session\/new was answered in an unknown format/)
})

test('invalid messages are logged up to a limit, and later messages are read', async () => {
  const { played, said, connected } = connect({ initialize: null })
  for (let n = 0; n < 100; n++) played.writes(`Welcome ${n}`)
  played.writes('{"a": 1}')
  played.writes('{"id": {}, "result": 1}')
  played.writes('null')
  expect(said).toHaveLength(LIMITS.acp_invalid_lines_max)
  played.answers('initialize', { protocolVersion: 1 })
  expect((await connected).session_id).toBe('new')
})

test('a prompt resolves at the end of its turn, without a time limit', async () => {
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

// Otherwise the turn would never end and the agent never be rung again.
test.each([
  ['with a word for a code', { error: { code: 'rate_limited', message: 'slow down' } }],
  ['without a word', { error: { code: -32_603 } }],
  ['with a bare word', { error: 'the model is away' }],
  ['with more than anybody reads', { result: deep(200) }],
])('a prompt with an answer in an unknown format, %s, fails', async (_how, answer) => {
  const { played, connected } = connect({ 'session/prompt': null })
  const ended = (await connected).prompt('a bell')
  await eventually('it is prompted', () => played.asked('session/prompt'))
  played.writes(JSON.stringify({ jsonrpc: '2.0', id: 3, ...answer }))
  await expect(ended).rejects.toThrow(AgentError)
  await expect(ended).rejects.toThrow(/unknown format/)
})

test('an answer with null for the error and the method is accepted', async () => {
  const { played, connected } = connect({ 'session/prompt': null })
  const ended = (await connected).prompt('a bell')
  await eventually('it is prompted', () => played.asked('session/prompt'))
  played.writes('{"id": 3, "method": null, "result": {"stopReason": "end_turn"}, "error": null}')
  expect(await ended).toBe('end_turn')
})

test('a request of any depth and format is answered', async () => {
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

test('a prompt fails when its agent exits', async () => {
  const { played, connected } = connect({ 'session/prompt': null })
  const ended = (await connected).prompt('a bell')
  await eventually('it is prompted', () => played.asked('session/prompt'))
  played.end()
  await expect(ended).rejects.toThrow(AgentGoneError)
})

test('a permission request is answered, every other request is rejected', async () => {
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
