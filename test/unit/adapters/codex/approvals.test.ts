import { beforeEach, describe, expect, test } from 'vitest'
import { approvalAnswers, approvalFor } from '../../../../adapters/codex/approvals.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { eventually } from '../../../support/eventually.ts'
import { fakeAppServer, thread } from '../../../support/fakes/fake-app-server.ts'
import { atRest, fakeClock } from '../../../support/fakes/fake-clock.ts'
import { Permissions } from '../../../../src/contracts/config.ts'

const ask = (method: string, params: object = {}) => ({
  id: 1,
  method,
  params: { threadId: 't-1', ...params },
})
const answers = (method: string, params?: object) =>
  Permissions.options.map((permissions) => approvalFor(ask(method, params), permissions))

test.each(['item/commandExecution/requestApproval', 'item/fileChange/requestApproval'])(
  '%s is declined or accepted, and never ends the turn',
  (method) => expect(answers(method)).toEqual([{ decision: 'decline' }, { decision: 'accept' }]),
)

test('additional permissions are granted for one turn only', () => {
  const permissions = { network: { enabled: true } }
  expect(answers('item/permissions/requestApproval', { permissions })).toEqual([
    { permissions: {}, scope: 'turn' },
    { permissions, scope: 'turn' },
  ])
})

test('a tool call is approved only if permissions allow it', () => {
  const _meta = { codex_approval_kind: 'mcp_tool_call' }
  expect(answers('mcpServer/elicitation/request', { _meta })).toEqual([
    { action: 'decline', content: null },
    { action: 'accept', content: null },
  ])
})

test("an MCP server's own question is declined under any permissions", () => {
  const declined = { action: 'decline', content: null }
  expect(answers('mcpServer/elicitation/request')).toEqual([declined, declined])
})

test('a question to a person gets an empty answer, so the turn continues', () => {
  expect(answers('item/tool/requestUserInput')).toEqual([{ answers: {} }, { answers: {} }])
})

test('an unknown request stays unanswered', () => {
  expect(answers('account/chatgptAuthTokens/refresh')).toEqual([null, null])
})

describe('a headless thread', () => {
  const place = fakeAppServer(fakeClock(), [
    thread('kept'),
    thread('helper', { parentThreadId: 'kept', threadSource: 'subagent' }),
    thread("helper's helper", { parentThreadId: 'helper', threadSource: 'subagent' }),
    thread("a person's"),
    thread("a person's helper", { parentThreadId: "a person's", threadSource: 'subagent' }),
  ])
  let kept: string | null
  let bound: string | null
  let leaves: (() => void)[]
  let untilAlone: () => Promise<void>
  beforeEach(() => {
    kept = bound = 'kept'
    leaves = []
    untilAlone = () => Promise.resolve()
    place.calls = []
  })
  const answer = approvalAnswers(
    { keptThread: () => kept, boundThread: () => bound, untilAlone: () => untilAlone() },
    { permissions: 'allow', log: silentLog },
  )
  const asked = (threadId: string) =>
    answer(ask('item/commandExecution/requestApproval', { threadId }), place.server)

  test.each(['kept', 'helper', "helper's helper"])(
    'a request of the kept thread or its subagents is answered: %s',
    async (id) => expect(await asked(id)).toEqual({ decision: 'accept' }),
  )

  test.each(["a person's", "a person's helper"])(
    'a request of another thread is not answered: %s',
    async (id) => expect(await asked(id)).toBeNull(),
  )

  test.each(["a person's", "a person's helper", 'kept'])(
    'a request of the bound thread is answered, even if a person started it: %s',
    async (id) => {
      bound = "a person's"
      expect(await asked(id)).toEqual({ decision: 'accept' })
    },
  )

  test('a request is left to an attached person, and answered after they have left', async () => {
    untilAlone = () => new Promise((resolve) => leaves.push(resolve))
    let answered: object | null | undefined
    const answering = asked('kept').then((answer) => (answered = answer))
    await eventually('it waits', () => leaves.length === 1)
    await atRest()
    expect(answered).toBeUndefined()
    leaves[0]?.()
    await answering
    expect(answered).toEqual({ decision: 'accept' })
  })

  test('a request is not answered before the headless thread exists', async () => {
    kept = bound = null
    expect(await asked('kept')).toBeNull()
  })

  test('a request is not answered if its thread cannot be read', async () => {
    await expect(asked('unknown')).rejects.toThrow('not loaded')
  })
})
