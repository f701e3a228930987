import { expect, test } from 'vitest'
import { LIMITS } from '../../../../../src/contracts/limits/limits.ts'
import { contentOf, type MakeContent } from '../../../../../adapters/claude-code/mod/content.ts'
import { createToolFeed } from '../../../../../adapters/claude-code/mod/tool-feed.ts'
import { createTurnFeed } from '../../../../../adapters/claude-code/mod/turn-feed.ts'
import { ModEvent } from '../../../../../adapters/claude-code/mod/messages.ts'

function feeds(with_content = false, bell = 'no bell') {
  const reported: ModEvent[] = []
  const called: string[] = []
  let ms = 0
  const report = (event: ModEvent) => void reported.push(ModEvent.parse(event))
  const content: MakeContent = (make) => (with_content ? contentOf(make) : undefined)
  const turns = createTurnFeed({
    report,
    content,
    isBell: (prompt) => prompt.includes(bell),
    mainTurnStarted: () => void called.push('main turn'),
    compacted: () => void called.push('compacted'),
    answered: () => void called.push('answered'),
    continues: () => void called.push('continues'),
    ended: () => void called.push('ended'),
  })
  return { reported, called, turns, tools: createToolFeed({ report, content, now: () => (ms += 5) }) }
}

const RESULT = { some: 'result' }
/** Runs a hook, and checks that the event and the result pass through it unchanged. */
async function passes<E extends object, R extends object>(
  hook: (e: E, next: (event: object) => Promise<R>) => Promise<R>,
  e: E,
  result: R,
): Promise<void> {
  const seen: object[] = []
  const returned = await hook(e, async (event) => {
    seen.push(event)
    return result
  })
  expect(seen[0]).toBe(e)
  expect(seen).toHaveLength(1)
  expect(returned).toBe(result)
}
const refusal = new Error('refused beneath')
const refuses = () => Promise.reject(refusal)

test('main turns are reported and make the session busy', async () => {
  const { reported, called, turns } = feeds()
  expect(turns.busy()).toBeNull()
  await passes((e, next) => turns.turnStarted(e, next), { turnId: 't1' }, RESULT)
  expect(turns.busy()).toBe(true)
  const usage = { input_tokens: 3, model: 'm' }
  await passes((e, next) => turns.turnCompleted(e, next), { turnId: 't1', reason: 'answer', usage }, RESULT)
  expect(turns.busy()).toBe(false)
  expect(called).toEqual(['main turn', 'answered'])
  expect(reported).toEqual([
    { kind: 'turn_started', turn: 't1' },
    { kind: 'turn_ended', turn: 't1', reason: 'answer', usage },
  ])
})

test('a turn stays the running one if an interrupted turn ends after its begin', async () => {
  const { turns } = feeds()
  await passes((e, next) => turns.turnStarted(e, next), { turnId: 't1' }, RESULT)
  await passes((e, next) => turns.turnStarted(e, next), { turnId: 't2' }, RESULT)
  await passes((e, next) => turns.turnCompleted(e, next), { turnId: 't1', reason: 'aborted' }, RESULT)
  expect([turns.busy(), turns.turn()]).toEqual([true, 't2'])
  await passes((e, next) => turns.turnCompleted(e, next), { turnId: 't2', reason: 'answer' }, RESULT)
  expect([turns.busy(), turns.turn()]).toEqual([false, null])
})

test("a subagent's turns are reported with its id and do not make the session busy", async () => {
  const { reported, called, turns } = feeds()
  const of = { turnId: 't1', agentId: 'a1' }
  await passes((e, next) => turns.turnStarted(e, next), of, RESULT)
  await passes((e, next) => turns.turnCompleted(e, next), { ...of, reason: 'aborted' }, RESULT)
  expect({ busy: turns.busy(), called }).toEqual({ busy: null, called: [] })
  expect(reported).toEqual([
    { kind: 'turn_started', turn: 't1', agent: 'a1' },
    { kind: 'turn_ended', turn: 't1', agent: 'a1', reason: 'aborted' },
  ])
})

test('a turn is not busy when its end is reported', async () => {
  const busy: (boolean | null)[] = []
  const turns = createTurnFeed({
    report: () => void busy.push(turns.busy()),
    content: () => undefined,
    isBell: () => false,
    mainTurnStarted() {},
    compacted() {},
    answered() {},
    continues() {},
    ended() {},
  })
  await turns.turnStarted({ turnId: 't1' }, async () => RESULT)
  await turns.turnCompleted({ turnId: 't1', reason: 'answer' }, async () => RESULT)
  expect(busy).toEqual([true, false])
})

test.each(['aborted', 'error', 'refusal'])('a turn that ended by %s was not answered', async (reason) => {
  const { called, turns } = feeds()
  await passes((e, next) => turns.turnCompleted(e, next), { turnId: 't1', reason }, RESULT)
  await passes(
    (e, next) => turns.turnCompleted(e, next),
    { turnId: 't2', reason: 'answer', agentId: 'a1' },
    RESULT,
  )
  expect(called).toEqual([])
})

test('prompts, interrupts and measures are reported', async () => {
  const { reported, turns } = feeds()
  const submit = (e: Parameters<typeof turns.promptSubmitted>[0]) =>
    passes((of, next) => turns.promptSubmitted(of, next), e, RESULT)
  await submit({ origin: { kind: 'composer' } })
  await submit({ origin: { kind: 'bridge' }, turnId: 't1' })
  await passes((e, next) => turns.stopped(e, next), { isTurnRunning: true }, RESULT)
  const measure = { context: { tokens: 5, window: 10 }, cost: { usd: 0.5 } }
  await passes((e, next) => turns.measured(e, next), measure, RESULT)
  await passes((e, next) => turns.measured(e, next), { context: { window: 10 } }, RESULT)
  expect(reported).toEqual([
    { kind: 'prompt', origin: 'composer' },
    { kind: 'prompt', origin: 'bridge', during: 't1' },
    { kind: 'stopped' },
    { kind: 'measured', tokens: 5, window: 10, cost_usd: 0.5 },
    { kind: 'measured', window: 10 },
  ])
})

test('a compaction is reported before and after it', async () => {
  const { reported, called, turns } = feeds()
  const compact = (e: Parameters<typeof turns.compacted>[0], result: object) =>
    passes((of, next) => turns.compacted(of, next), e, result)
  await compact({ trigger: 'auto' }, { tokensBefore: 90, tokensAfter: 9 })
  await compact({ trigger: 'manual' }, { skip: 'nothing to do' })
  await compact({ trigger: 'auto', agentId: 'a1' }, {})
  await compact({ trigger: 'precompute' }, {})
  await expect(turns.compacted({ trigger: 'auto' }, refuses)).rejects.toBe(refusal)
  expect(called).toEqual(['compacted'])
  expect(reported).toEqual([
    { kind: 'compacting', trigger: 'auto' },
    { kind: 'compacted', before: 90, after: 9 },
    { kind: 'compacting', trigger: 'manual' },
    { kind: 'compacted' },
    { kind: 'compacting', trigger: 'auto', agent: 'a1' },
    { kind: 'compacting', trigger: 'auto' },
    { kind: 'compacted' },
  ])
})

test.each([
  ['clear', [], ['continues']],
  ['resume', [], ['continues']],
  ['prompt_input_exit', [{ kind: 'ended', reason: 'prompt_input_exit' }], ['ended']],
])('the end of a session because of %s', async (reason, expected, calls) => {
  const { reported, called, turns } = feeds()
  await passes((e, next) => turns.sessionEnded(e, next), { reason }, RESULT)
  expect({ reported, called }).toEqual({ reported: expected, called: calls })
})

const CALL = { tool: 'Bash', tool_use_id: 'c1' }

test.each<[string, object, object]>([
  ['succeeds', {}, {}],
  ['fails', { isError: true }, { failed: true }],
  ['is denied', { deny: 'no' }, { denied: true }],
])('a tool call that %s is reported before and after it', async (_, result, outcome) => {
  const { reported, tools } = feeds()
  await passes((e, next) => tools.toolCalled(e, next), { ...CALL, agentId: 'a1' }, result)
  expect(reported).toEqual([
    { kind: 'tool_started', call: 'c1', tool: 'Bash', agent: 'a1' },
    { kind: 'tool_ended', call: 'c1', ms: 5, ...outcome },
  ])
})

test('a tool call that the client aborts has failed, and the error passes through', async () => {
  const { reported, tools } = feeds()
  await expect(tools.toolCalled(CALL, refuses)).rejects.toBe(refusal)
  expect(reported.at(-1)).toEqual({ kind: 'tool_ended', call: 'c1', ms: 5, failed: true })
})

test('the client waits for a person until the call runs', async () => {
  const { reported, tools } = feeds()
  const ask = { decision: 'ask', reason: 'r'.repeat(5_000) }
  await passes((e, next) => tools.toolChecked(e, next), CALL, ask)
  await passes((e, next) => tools.toolRuns(e, next), CALL, RESULT)
  await passes((e, next) => tools.toolCalled(e, next), CALL, {})
  expect(reported.map(({ kind }) => kind)).toEqual([
    'waiting_started',
    'waiting_ended',
    'tool_started',
    'tool_ended',
  ])
  expect(reported[0]).toEqual({
    kind: 'waiting_started',
    call: 'c1',
    tool: 'Bash',
    why: 'r'.repeat(LIMITS.mod_text_length_max),
  })
})

test('the wait for a person ends with a denied call, too', async () => {
  const { reported, tools } = feeds()
  await tools.toolCalled(CALL, async () => {
    await tools.toolChecked(CALL, async () => ({ decision: 'ask' }))
    return { deny: 'no' }
  })
  expect(reported.slice(1)).toEqual([
    { kind: 'waiting_started', call: 'c1', tool: 'Bash' },
    { kind: 'waiting_ended', call: 'c1' },
    { kind: 'tool_ended', call: 'c1', ms: 5, denied: true },
  ])
})

test('a call that needs no person is not reported as waiting', async () => {
  const { reported, tools } = feeds()
  await passes((e, next) => tools.toolChecked(e, next), CALL, { decision: 'allow' })
  await passes((e, next) => tools.toolRuns(e, next), CALL, RESULT)
  expect(reported).toEqual([])
})

test('subagents are reported with their parent, and only if they were started', async () => {
  const { reported, tools } = feeds()
  const spawn = { subagentType: 'Explore', description: 'look', parentAgentId: 'a0' }
  await passes((e, next) => tools.agentSpawned(e, next), spawn, { agentId: 'a1', model: 'm' })
  await passes((e, next) => tools.agentSpawned(e, next), spawn, {})
  await passes((e, next) => tools.agentReported(e, next), { agentId: 'a1', status: 'completed' }, RESULT)
  expect(reported).toEqual([
    { kind: 'agent_started', agent: 'a1', parent: 'a0', type: 'Explore', task: 'look' },
    { kind: 'agent_ended', agent: 'a1', status: 'completed' },
  ])
})

test('a text of any length is reported, and an id that was cut is the same in every event', async () => {
  // The reports are parsed.
  const { reported, turns, tools } = feeds()
  const [long, cut] = ['x'.repeat(5_000), 'x'.repeat(LIMITS.mod_text_length_max)]
  const next = async () => ({})
  const turn = { turnId: long }
  await turns.promptSubmitted({ origin: { kind: long }, turnId: long }, next)
  await turns.turnStarted(turn, next)
  expect(turns.turn()).toBe(cut)
  await turns.turnCompleted({ ...turn, reason: long }, next)
  expect(turns.busy()).toBe(false)
  await turns.turnStarted({ ...turn, agentId: long }, next)
  await turns.turnCompleted({ ...turn, reason: long, agentId: long }, next)
  await turns.compacted({ trigger: long, agentId: long }, next)
  await turns.sessionEnded({ reason: long }, next)
  const call = { tool: long, tool_use_id: long, agentId: long }
  await tools.toolCalled(call, async () => {
    await tools.toolChecked(call, async () => ({ decision: 'ask', reason: long }))
    return tools.toolRuns(call, next)
  })
  const spawn = { parentAgentId: long, subagentType: long, description: long }
  await tools.agentSpawned(spawn, async () => ({ agentId: long }))
  await tools.agentReported({ agentId: long, status: long }, next)
  const texts = new Set(reported.flatMap(({ kind: _, ...fields }) => Object.values<unknown>(fields)))
  expect([...texts].filter((text) => typeof text === 'string')).toEqual([cut])
  expect(reported.map(({ kind }) => kind)).toContain('waiting_ended')
})

test('with content, prompts, inputs, outputs and answers are reported', async () => {
  const { reported, turns, tools } = feeds(true, '(bell x1)')
  await passes((e, next) => turns.turnStarted(e, next), { turnId: 't1', text: 'Fix it' }, RESULT)
  await passes((e, next) => turns.turnStarted(e, next), { turnId: 't2', text: 'A frame (bell x1)' }, RESULT)
  const call = { tool: 'Bash', tool_use_id: 'c1', command: 'ls', options: { a: 1 } }
  await passes((e, next) => tools.toolCalled(e, next), call, { text: 'a.ts' })
  const failed = { tool: 'Bash', tool_use_id: 'c2', agentId: 'a1', command: 'no' }
  await passes((e, next) => tools.toolCalled(e, next), failed, { text: 'Exit code 1', isError: true })
  await passes(
    (e, next) => tools.agentReported(e, next),
    { agentId: 'a1', status: 'completed', text: 'Done.' },
    RESULT,
  )
  expect(reported).toEqual([
    { kind: 'turn_started', turn: 't1', content: 'Fix it' },
    { kind: 'turn_started', turn: 't2', bell: true, content: 'A frame (bell x1)' },
    { kind: 'tool_started', call: 'c1', tool: 'Bash', content: '{"command":"ls","options":{"a":1}}' },
    { kind: 'tool_ended', call: 'c1', ms: 5, content: 'a.ts' },
    { kind: 'tool_started', call: 'c2', tool: 'Bash', agent: 'a1', content: '{"command":"no"}' },
    { kind: 'tool_ended', call: 'c2', ms: 5, failed: true, content: 'Exit code 1' },
    { kind: 'agent_ended', agent: 'a1', status: 'completed', content: 'Done.' },
  ])
})

test('a call that a person was asked about and that did not run is denied', async () => {
  const { reported, tools } = feeds()
  const ended = () => reported.filter(({ kind }) => kind === 'tool_ended')
  const call = (tool_use_id: string) => ({ tool: 'Bash', tool_use_id })
  const ask = async () => ({ decision: 'ask' })
  await tools.toolCalled(call('c1'), async (e) => {
    await tools.toolChecked(e, ask)
    return { isError: true, text: 'rejected' }
  })
  await tools.toolCalled(call('c2'), async (e) => {
    await tools.toolChecked(e, ask)
    await tools.toolRuns(e, async () => ({}))
    return { isError: true, text: 'Exit code 1' }
  })
  expect(ended()).toMatchObject([{ call: 'c1', denied: true }, { call: 'c2' }])
  expect(ended()[1]).not.toHaveProperty('denied')
})
