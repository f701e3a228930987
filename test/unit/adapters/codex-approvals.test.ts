import { expect, test } from 'vitest'
import { answerTo, type Permissions } from '../../../adapters/codex/approvals.ts'

const ask = (method: string, params: object = {}) => ({
  id: 1,
  method,
  params: { threadId: 't-1', ...params },
})
const answers = (method: string, params?: object) =>
  (['reject', 'allow'] satisfies Permissions[]).map((permissions) =>
    answerTo(ask(method, params), permissions),
  )

test.each(['item/commandExecution/requestApproval', 'item/fileChange/requestApproval'])(
  '%s is declined or accepted, and never ends the turn',
  (method) => expect(answers(method)).toEqual([{ decision: 'decline' }, { decision: 'accept' }]),
)

test('more permissions are granted for the turn at most', () => {
  const permissions = { network: { enabled: true } }
  expect(answers('item/permissions/requestApproval', { permissions })).toEqual([
    { permissions: {}, scope: 'turn' },
    { permissions, scope: 'turn' },
  ])
})

test('a tool call that needs leave gets it only where that is allowed', () => {
  const _meta = { codex_approval_kind: 'mcp_tool_call' }
  expect(answers('mcpServer/elicitation/request', { _meta })).toEqual([
    { action: 'decline', content: null },
    { action: 'accept', content: null },
  ])
})

test("a server's own question is declined, whatever is allowed", () => {
  const declined = { action: 'decline', content: null }
  expect(answers('mcpServer/elicitation/request')).toEqual([declined, declined])
})

test('a question to a person gets no answer, but does not hold the turn', () => {
  expect(answers('item/tool/requestUserInput')).toEqual([{ answers: {} }, { answers: {} }])
})

test('what is nobody here to decide stays unanswered', () => {
  expect(answers('account/chatgptAuthTokens/refresh')).toEqual([null, null])
})
