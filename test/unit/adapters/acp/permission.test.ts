import { describe, expect, test } from 'vitest'
import { answerPermission, isOwnTool } from '../../../../adapters/acp/permission.ts'
import { PermissionRequest, ToolCall } from '../../../../adapters/acp/protocol.ts'

const OPTIONS = ['allow_once', 'allow_always', 'reject_once', 'reject_always']
const call = (more: object): ToolCall => ToolCall.parse({ toolCallId: 'call_1', ...more })
const asking = (toolCall: ToolCall, kinds: readonly string[] = OPTIONS): PermissionRequest =>
  PermissionRequest.parse({
    sessionId: 'ses_1',
    toolCall,
    options: kinds.map((kind) => ({ optionId: `the-${kind}`, kind, name: kind })),
  })
const selected = (optionId: string) => ({ outcome: { outcome: 'selected', optionId } })

const SHELL = call({ title: 'rm -rf build', kind: 'execute', rawInput: { command: 'rm -rf build' } })
const OPENCODES = call({ title: 'turnbell_signals_pending', kind: 'other', rawInput: {} })

describe('a permission request', () => {
  test.each([
    ['for anything, if the persona rejects', 'reject', OPTIONS, 'reject_once'],
    [
      'for anything, if only a permanent rejection is offered',
      'reject',
      ['allow_once', 'reject_always'],
      'reject_always',
    ],
    ['for anything, if the persona allows', 'allow', OPTIONS, 'allow_once'],
    [
      'for a call that can only be allowed permanently',
      'allow',
      ['allow_always', 'reject_once'],
      'reject_once',
    ],
  ] as const)('%s is answered with an option that is offered', (_what, policy, kinds, chosen) => {
    expect(answerPermission(asking(SHELL, kinds), null, policy).answer).toEqual(selected(`the-${chosen}`))
  })

  test('without a reject option is answered as cancelled', () => {
    const { answer, decided } = answerPermission(asking(SHELL, ['allow_always']), null, 'reject')
    expect(answer).toEqual({ outcome: { outcome: 'cancelled' } })
    expect(decided).toBe('rejected')
  })

  test("for turnbell's own tools is allowed once under any settings", () => {
    const { answer, decided, own } = answerPermission(asking(OPENCODES), OPENCODES, 'reject')
    expect({ answer, decided, own }).toEqual({
      answer: selected('the-allow_once'),
      decided: 'allowed',
      own: true,
    })
  })

  test("for turnbell's own tools that can only be allowed permanently is rejected", () => {
    expect(
      answerPermission(asking(OPENCODES, ['allow_always', 'reject_once']), OPENCODES, 'reject').decided,
    ).toBe('rejected')
  })
})

describe('isOwnTool accepts', () => {
  test.each([
    ["a call that opencode first titles with the tool's name", call({}), OPENCODES],
    [
      'a call of codex-acp with the server and its tool',
      call({
        title: 'mcp.turnbell.signals',
        kind: 'execute',
        rawInput: { server: 'turnbell', tool: 'signals', arguments: {} },
      }),
      null,
    ],
    ['a call that claude-agent-acp names', call({ name: 'mcp__turnbell__signals_pending' }), null],
    [
      'a call that claude-agent-acp names in its _meta',
      call({ _meta: { claudeCode: { toolName: 'mcp__turnbell__signals_pending' } } }),
      null,
    ],
  ])('%s', (_what, asked, told) => expect(isOwnTool(asked, told)).toBe(true))
})

describe('isOwnTool rejects', () => {
  test.each([
    ["a command with the tool's name", call({ title: 'turnbell_signals_pending', kind: 'execute' }), null],
    [
      'a later title',
      call({ title: 'turnbell_signals_pending', kind: 'other' }),
      call({ title: 'task', kind: 'other' }),
    ],
    [
      'arguments of another tool',
      call({
        title: 'mcp.other.run',
        rawInput: { server: 'other', tool: 'run', arguments: { server: 'turnbell', tool: 'signals' } },
      }),
      null,
    ],
    [
      'a command of the model',
      call({ title: 'sh', rawInput: { server: 'turnbell', tool: 'signals' } }),
      null,
    ],
    ['another tool of the server', call({ name: 'mcp__turnbell__git' }), null],
    ['a longer tool name with the same beginning', call({ name: 'mcp__turnbell__signals_pending__x' }), null],
    ['an empty call', call({}), null],
  ])('%s', (_what, asked, told) => expect(isOwnTool(asked, told)).toBe(false))
})
