import { beforeEach, describe, expect, test } from 'vitest'
import { answersFor, answerTo } from '../../../adapters/codex/approvals.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { eventually } from '../../support/eventually.ts'
import { fakeAppServer, thread } from '../../support/fake-app-server.ts'
import { atRest, fakeClock } from '../../support/fake-clock.ts'
import { Permissions } from '../../../src/contracts/config.ts'

const ask = (method: string, params: object = {}) => ({
  id: 1,
  method,
  params: { threadId: 't-1', ...params },
})
const answers = (method: string, params?: object) =>
  Permissions.options.map((permissions) => answerTo(ask(method, params), permissions))

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

describe('a thread without a window', () => {
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
  const answer = answersFor(
    { keptThread: () => kept, boundThread: () => bound, untilAlone: () => untilAlone() },
    { permissions: 'allow', log: silentLog },
  )
  const asked = (threadId: string) =>
    answer(ask('item/commandExecution/requestApproval', { threadId }), place.server)

  test.each(['kept', 'helper', "helper's helper"])(
    'is answered what it or its subagents ask: %s',
    async (id) => expect(await asked(id)).toEqual({ decision: 'accept' }),
  )

  test.each(["a person's", "a person's helper"])('is none of the others: %s', async (id) =>
    expect(await asked(id)).toBeNull(),
  )

  test.each(["a person's", "a person's helper", 'kept'])(
    'that a person began and left is answered as well while it is the one that is rung: %s',
    async (id) => {
      bound = "a person's"
      expect(await asked(id)).toEqual({ decision: 'accept' })
    },
  )

  test('is left to the person who has joined it, and answered once they left', async () => {
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

  test('is none before it is begun', async () => {
    kept = bound = null
    expect(await asked('kept')).toBeNull()
  })

  test('is not decided for where nobody knows whose the question is', async () => {
    await expect(asked('unknown')).rejects.toThrow('not loaded')
  })
})
