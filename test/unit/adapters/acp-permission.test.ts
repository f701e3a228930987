import { describe, expect, test } from 'vitest'
import { answerTo, isOwnTool } from '../../../adapters/acp/permission.ts'
import { PermissionRequest, ToolCall } from '../../../adapters/acp/protocol.ts'

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

describe('an agent that asks leave for', () => {
  test.each([
    ['anything, where the persona rejects', 'reject', OPTIONS, 'reject_once'],
    [
      'anything, where it can only be rejected for good',
      'reject',
      ['allow_once', 'reject_always'],
      'reject_always',
    ],
    ['anything, where the persona allows', 'allow', OPTIONS, 'allow_once'],
    ['what could only be allowed for good', 'allow', ['allow_always', 'reject_once'], 'reject_once'],
  ] as const)('%s, is told so', (_what, policy, kinds, chosen) => {
    expect(answerTo(asking(SHELL, kinds), null, policy).answer).toEqual(selected(`the-${chosen}`))
  })

  test('anything without a way to say no, is told that it was cancelled', () => {
    const { answer, decided } = answerTo(asking(SHELL, ['allow_always']), null, 'reject')
    expect(answer).toEqual({ outcome: { outcome: 'cancelled' } })
    expect(decided).toBe('rejected')
  })

  test("turnbell's own tools, gets it once, whatever the persona says", () => {
    const { answer, decided, own } = answerTo(asking(OPENCODES), OPENCODES, 'reject')
    expect({ answer, decided, own }).toEqual({
      answer: selected('the-allow_once'),
      decided: 'allowed',
      own: true,
    })
  })

  test("turnbell's own tools, but only for good, does not get it", () => {
    expect(answerTo(asking(OPENCODES, ['allow_always', 'reject_once']), OPENCODES, 'reject').decided).toBe(
      'rejected',
    )
  })
})

describe("turnbell's own tools are", () => {
  test.each([
    ['what opencode calls first by its name', call({}), OPENCODES],
    [
      'what codex-acp says of a server and its tool',
      call({
        title: 'mcp.turnbell.signals',
        kind: 'execute',
        rawInput: { server: 'turnbell', tool: 'signals', arguments: {} },
      }),
      null,
    ],
    ['what claude-agent-acp names', call({ name: 'mcp__turnbell__signals_pending' }), null],
    [
      'what it names in its own place',
      call({ _meta: { claudeCode: { toolName: 'mcp__turnbell__signals_pending' } } }),
      null,
    ],
  ])('%s', (_what, asked, told) => expect(isOwnTool(asked, told)).toBe(true))
})

describe('a model cannot pass for them with', () => {
  test.each([
    ['a command of that name', call({ title: 'turnbell_signals_pending', kind: 'execute' }), null],
    [
      'a later title',
      call({ title: 'turnbell_signals_pending', kind: 'other' }),
      call({ title: 'task', kind: 'other' }),
    ],
    [
      'the arguments of another tool',
      call({
        title: 'mcp.other.run',
        rawInput: { server: 'other', tool: 'run', arguments: { server: 'turnbell', tool: 'signals' } },
      }),
      null,
    ],
    [
      'what it writes into a command',
      call({ title: 'sh', rawInput: { server: 'turnbell', tool: 'signals' } }),
      null,
    ],
    ['another tool of the server', call({ name: 'mcp__turnbell__git' }), null],
    ['a server whose name begins alike', call({ name: 'mcp__turnbell__signals_pending__x' }), null],
    ['nothing at all', call({}), null],
  ])('%s', (_what, asked, told) => expect(isOwnTool(asked, told)).toBe(false))
})
