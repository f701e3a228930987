import { describe, expect, test } from 'vitest'
import { headless } from '../../../../adapters/opencode/headless.ts'
import type { UserRequest, PermissionReply, Session } from '../../../../adapters/opencode/protocol.ts'
import { OpencodeError, type OwnedServer, type SessionRef } from '../../../../adapters/opencode/server.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { atRest, fakeClock } from '../../../support/fakes/fake-clock.ts'
import { fakeOpencode, session } from '../../../support/fakes/fake-opencode.ts'
import type { Permissions } from '../../../../src/contracts/config.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'

const PROJECT = '/project'

/** A fake of the persona's own server, with the answers it received. */
function owned(sessions: Session[]) {
  const { server } = fakeOpencode(fakeClock(), sessions)
  const answered: [string, PermissionReply | 'rejected'][] = []
  const waiting: UserRequest[] = []
  const link = { gone: false }
  const place = {
    answered,
    waiting,
    link,
    server: {
      ...server,
      async createSession(directory: string) {
        sessions.push(session('ses_new', { directory }))
        return { id: 'ses_new', directory }
      },
      isGone: () => link.gone,
      openRequests: async (_directory: string) => waiting,
      replyPermission: async ({ id }: SessionRef, reply: PermissionReply) => void answered.push([id, reply]),
      rejectQuestion: async ({ id }: SessionRef) => void answered.push([id, 'rejected']),
    } satisfies OwnedServer,
  }
  return place
}

function agent(
  kept: SessionRef | null,
  permissions: Permissions = 'reject',
  clock = fakeClock(),
  log = silentLog,
) {
  const memory = { kept, joined: false, bound: null as SessionRef | null }
  const deps = {
    directory: PROJECT,
    permissions,
    storedSession: () => memory.kept,
    storeSession: (place: SessionRef) => void (memory.kept = place),
    boundSession: () => memory.bound,
    isJoined: () => memory.joined,
    clock,
    log,
  }
  return { ...headless(deps), memory }
}

const asks = (id: string, sessionID: string): UserRequest => ({
  type: 'permission.asked',
  properties: { id, sessionID },
})
const OURS = { id: 'ses_1', directory: PROJECT }

test.each([
  ['there is none', null],
  ['it is gone', { id: 'ses_gone', directory: PROJECT }],
  ['it works in another project', { id: 'ses_1', directory: '/elsewhere' }],
])('a session is created and stored if %s', async (_, kept) => {
  const alone = agent(kept)
  const place = { id: 'ses_new', directory: PROJECT }
  expect(await alone.chooseSession(owned([session('ses_1')]).server)).toEqual(place)
  expect(alone.memory.kept).toEqual(place)
})

test('the session of an earlier shim is resumed, and its open requests are answered', async () => {
  const at = owned([session('ses_1'), session('ses_2')])
  at.waiting.push(asks('per_1', 'ses_1'), asks('per_2', 'ses_2'))
  expect(await agent(OURS).chooseSession(at.server)).toEqual(OURS)
  expect(at.answered.map(([id]) => id)).toEqual(['per_1'])
})

test.each([
  ['is there', [session('ses_1'), session('ses_2')], 'ses_2'],
  ['is gone', [session('ses_1')], 'ses_1'],
])('if the session that a person started %s, the session %j is rung', async (_what, sessions, rung) => {
  const alone = agent(OURS)
  alone.memory.bound = { id: 'ses_2', directory: PROJECT }
  expect(await alone.chooseSession(owned(sessions).server)).toMatchObject({ id: rung })
  expect(alone.memory.kept).toEqual(OURS)
})

test('if a person starts another session during the lookup, that one is rung', async () => {
  const alone = agent(OURS)
  const at = owned([session('ses_1'), session('ses_2')])
  const real = { ...at.server }
  alone.memory.bound = { id: 'ses_gone', directory: PROJECT }
  const begun = { id: 'ses_2', directory: PROJECT }
  at.server.session = async (place) => {
    if (place.id === 'ses_gone') alone.memory.bound = begun
    return real.session(place)
  }
  expect(await alone.chooseSession(at.server)).toEqual(begun)
})

test('if a person deletes their session during the lookup, the kept one is rung', async () => {
  const alone = agent(OURS)
  const at = owned([session('ses_1'), session('ses_2')])
  const real = { ...at.server }
  alone.memory.bound = { id: 'ses_2', directory: PROJECT }
  at.server.session = async (place) => {
    const found = await real.session(place)
    if (place.id === 'ses_2') alone.memory.bound = null
    return found
  }
  expect(await alone.chooseSession(at.server)).toEqual(OURS)
})

test('a session that could not be stored is resumed, and its requests are answered', async () => {
  const memory = { joined: false }
  const at = owned([])
  let begun = 0
  const real = { ...at.server }
  at.server.createSession = (directory) => ((begun += 1), real.createSession(directory))
  const alone = headless({
    ...{ directory: PROJECT, permissions: 'allow', clock: fakeClock(), log: silentLog },
    ...{ storedSession: () => null, boundSession: () => null, isJoined: () => memory.joined },
    storeSession() {
      throw new Error('the disk is full')
    },
  })
  const place = { id: 'ses_new', directory: PROJECT }
  expect(await alone.chooseSession(at.server)).toEqual(place)
  expect(await alone.chooseSession(at.server)).toEqual(place)
  await alone.handleRequest(asks('per_1', 'ses_new'), at.server)
  expect([begun, at.answered.length]).toEqual([1, 1])
})

test('an answer to an already answered request fails without further effect', async () => {
  const at = owned([session('ses_1')])
  at.waiting.push(asks('per_1', 'ses_1'), asks('per_2', 'ses_1'))
  const { replyPermission: permit } = at.server
  at.server.replyPermission = async (place, reply) => {
    if (place.id === 'per_1') throw new OpencodeError(404, 'no such request')
    await permit(place, reply)
  }
  expect(await agent(OURS).chooseSession(at.server)).toEqual(OURS)
  expect(at.answered.map(([id]) => id)).toEqual(['per_2'])
})

test('requests are left to an attached person and answered after they have left', async () => {
  const at = owned([session('ses_1')])
  const alone = agent(OURS, 'allow')
  alone.memory.joined = true
  const properties = { id: 'que_1', sessionID: 'ses_1' }
  at.waiting.push(asks('per_1', 'ses_1'))
  await alone.chooseSession(at.server)
  at.waiting.push({ type: 'question.asked', properties })
  await alone.handleRequest({ type: 'question.asked', properties }, at.server)
  await alone.handleRequest(asks('per_1', 'ses_1'), at.server)
  expect(at.answered).toEqual([])
  alone.memory.joined = false
  await alone.answerOpen()
  expect(at.answered).toEqual([
    ['per_1', { reply: 'once' }],
    ['que_1', 'rejected'],
  ])
})

test('a request of a session that a person started and left is answered in its directory', async () => {
  const at = owned([session('ses_1'), session('ses_2', { directory: '/elsewhere' })])
  const alone = agent(OURS, 'allow')
  await alone.chooseSession(at.server)
  alone.memory.bound = { id: 'ses_2', directory: '/elsewhere' }
  const asked_in: string[] = []
  at.server.openRequests = async (directory) => (directory === '/elsewhere' ? [asks('per_2', 'ses_2')] : [])
  at.server.replyPermission = async ({ directory }) => void asked_in.push(directory)
  await alone.answerOpen()
  expect(asked_in).toEqual(['/elsewhere'])
})

/** An agent that may do everything; a person has left an open request. */
async function leftOpen(place = owned([session('ses_1')])) {
  const { server, answered, waiting } = place
  const clock = fakeClock()
  const alone = agent(OURS, 'allow', clock)
  alone.memory.joined = true
  await alone.chooseSession(server)
  waiting.push(asks('per_1', 'ses_1'))
  alone.memory.joined = false
  const later = () => clock.advance(LIMITS.opencode_begin_ms)
  /** Makes a call of the server fail until it is fixed. */
  const troubled = (what: 'openRequests' | 'replyPermission', status: number | null = null) => {
    const before = server[what]
    const state = { asked: 0, mend: () => void Object.assign(server, { [what]: before }) }
    const fails = () => ((state.asked += 1), Promise.reject(new OpencodeError(status, 'no')))
    Object.assign(server, { [what]: fails })
    return state
  }
  return { place, server, answered, clock, alone, later, troubled }
}
const PERMITTED = [['per_1', { reply: 'once' }]]

test('the last person leaving without a server has no effect', async () => {
  await agent(OURS).answerOpen()
})

test.each([
  ['openRequests', null],
  ['openRequests', 500],
  ['replyPermission', null],
  ['replyPermission', 503],
] as const)('an open request is answered when %s no longer fails with %j', async (what, status) => {
  const { alone, troubled, later, answered } = await leftOpen()
  const trouble = troubled(what, status)
  await alone.answerOpen()
  await later()
  expect(answered).toEqual([])
  trouble.mend()
  await later()
  expect(answered).toEqual(PERMITTED)
})

test('a request on a slow server is answered later and once', async () => {
  const { alone, server, clock, troubled, later, answered } = await leftOpen()
  const trouble = troubled('replyPermission')
  await alone.handleRequest(asks('per_1', 'ses_1'), server)
  await alone.handleRequest(asks('per_1', 'ses_1'), server)
  trouble.mend()
  await later()
  expect(answered).toEqual(PERMITTED)
  expect(clock.armed()).toBe(0)
})

test('a directory that fails does not prevent the others', async () => {
  const { place, alone, answered } = await leftOpen(
    owned([session('ses_1'), session('ses_2', { directory: '/elsewhere' })]),
  )
  alone.memory.bound = { id: 'ses_2', directory: '/elsewhere' }
  place.server.openRequests = async (directory) => {
    if (directory === PROJECT) throw new OpencodeError(null, 'no')
    return [asks('per_2', 'ses_2')]
  }
  await alone.answerOpen()
  expect(answered.map(([id]) => id)).toEqual(['per_2'])
})

test('a person who returns answers requests, and those they leave open are answered again', async () => {
  const { alone, clock, troubled, later, answered } = await leftOpen()
  const trouble = troubled('openRequests')
  await alone.answerOpen()
  alone.memory.joined = true
  await later()
  expect(trouble.asked).toBe(1)
  expect(clock.armed()).toBe(0)
  trouble.mend()
  alone.memory.joined = false
  await alone.answerOpen()
  expect(answered).toEqual(PERMITTED)
})

test('a request is left to a person who joins during the lookup of its session', async () => {
  const { alone, server, answered } = await leftOpen(
    owned([session('ses_1'), session('ses_2', { parentID: 'ses_1' })]),
  )
  const child = await server.session({ id: 'ses_2', directory: PROJECT })
  server.session = () => {
    alone.memory.joined = true
    return Promise.resolve(child)
  }
  await alone.handleRequest(asks('per_2', 'ses_2'), server)
  expect(answered).toEqual([])
})

test.each([
  ['is gone', null, true],
  ['refuses', 400, false],
])('a server that %s is not retried', async (_what, status, gone) => {
  const { place, alone, clock, troubled } = await leftOpen()
  troubled('replyPermission', status)
  await alone.answerOpen()
  place.link.gone = gone
  const trouble = troubled('openRequests')
  await clock.advance(10 * LIMITS.opencode_begin_ms)
  expect(clock.armed()).toBe(0)
  expect(trouble.asked).toBe(0)
})

test('an unanswered request of a lost server does not block the next server', async () => {
  const { place, alone, troubled, later, answered } = await leftOpen()
  troubled('openRequests')
  await alone.answerOpen()
  place.link.gone = true
  const next = owned([session('ses_1')])
  next.waiting.push(asks('per_2', 'ses_1'))
  const { replyPermission: permit } = next.server
  next.server.replyPermission = () => Promise.reject(new OpencodeError(null, 'no'))
  await alone.chooseSession(next.server)
  next.server.replyPermission = permit
  await later()
  expect(answered).toEqual([])
  expect(next.answered).toEqual([['per_2', { reply: 'once' }]])
})

test('a session that a former server creates late is neither stored nor bound', async () => {
  const former = owned([])
  let begins = (_place: SessionRef) => {}
  former.server.createSession = () => new Promise((resolve) => (begins = resolve))
  const alone = agent(null, 'allow')
  const begun = alone.chooseSession(former.server)
  await atRest()
  former.link.gone = true
  const next = owned([])
  expect(await alone.chooseSession(next.server)).toMatchObject({ id: 'ses_new' })
  begins({ id: 'ses_late', directory: PROJECT })
  await begun
  next.waiting.push(asks('per_1', 'ses_new'))
  await alone.answerOpen()
  expect(alone.memory.kept?.id).toBe('ses_new')
  expect(next.answered).toEqual(PERMITTED)
})

test('a closed agent does not retry', async () => {
  const { alone, clock, troubled } = await leftOpen()
  troubled('openRequests')
  await alone.answerOpen()
  expect(clock.armed()).toBe(1)
  alone.close()
  expect(clock.armed()).toBe(0)
})

test('a failure after closing is not retried', async () => {
  const { alone, clock, server } = await leftOpen()
  let fail = (_error: Error) => {}
  server.openRequests = () => new Promise((_resolve, reject) => (fail = reject))
  const asking = alone.answerOpen()
  alone.close()
  fail(new OpencodeError(null, 'no'))
  await asking
  expect(clock.armed()).toBe(0)
})

describe('a failing server', () => {
  const fails = (status: number | null) => () => Promise.reject(new OpencodeError(status, 'no'))
  async function told() {
    const at = owned([session('ses_1'), session('ses_2')])
    const clock = fakeClock()
    const warned: string[] = []
    const log = { ...silentLog, warn: (_fields: object, message: string) => void warned.push(message) }
    const alone = agent(OURS, 'allow', clock, log)
    await alone.chooseSession(at.server)
    return { ...at, warned, alone, later: () => clock.advance(LIMITS.opencode_begin_ms) }
  }

  test('a failing server is logged once until an answer succeeds', async () => {
    const { server, waiting, warned, later, alone } = await told()
    const { replyPermission: permit } = server
    // The second belongs to another session and stays open.
    waiting.push(asks('per_1', 'ses_1'), asks('per_2', 'ses_2'))
    server.replyPermission = fails(null)
    await alone.answerOpen()
    await later()
    await later()
    expect(warned).toHaveLength(1)
    server.replyPermission = permit
    await later()
    server.replyPermission = fails(500)
    await alone.answerOpen()
    expect(warned).toHaveLength(2)
  })

  test('a new failure is logged again after all requests were answered', async () => {
    const { server, warned, later, alone } = await told()
    const { openRequests: open } = server
    server.openRequests = fails(null)
    await alone.answerOpen()
    server.openRequests = open
    await later()
    await alone.handleRequest(asks('per_1', 'ses_1'), { ...server, replyPermission: fails(500) })
    expect(warned).toHaveLength(2)
  })

  test('an already answered request is not logged', async () => {
    const { server, warned, alone } = await told()
    server.replyPermission = fails(404)
    await alone.handleRequest(asks('per_1', 'ses_1'), server)
    expect(warned).toEqual([])
  })

  test('a server without the call for open requests is logged', async () => {
    const { server, warned, later, alone } = await told()
    server.openRequests = fails(404)
    await alone.answerOpen()
    await later()
    expect(warned).toHaveLength(1)
  })
})

test('a permission request is answered as configured, with a text if it is rejected', async () => {
  const at = owned([session('ses_1')])
  await agent(OURS, 'allow').handleRequest(asks('per_1', 'ses_1'), at.server)
  await agent(OURS).handleRequest(asks('per_2', 'ses_1'), at.server)
  expect(at.answered).toEqual([
    ['per_1', { reply: 'once' }],
    ['per_2', { reply: 'reject', message: expect.stringContaining('Continue without') as string }],
  ])
})

test('a question to a person is rejected under any permissions', async () => {
  const at = owned([session('ses_1')])
  const properties = { id: 'que_1', sessionID: 'ses_1' }
  await agent(OURS, 'allow').handleRequest({ type: 'question.asked', properties }, at.server)
  expect(at.answered).toEqual([['que_1', 'rejected']])
})

test('requests of its subagents are answered, those of other sessions are not', async () => {
  const child = session('ses_2', { parentID: 'ses_1' })
  const grandchild = session('ses_3', { parentID: 'ses_2' })
  const persons = [session('ses_4'), session('ses_5', { parentID: 'ses_4' })]
  const at = owned([session('ses_1'), child, grandchild, ...persons])
  for (const id of ['ses_2', 'ses_3', 'ses_4', 'ses_5', 'ses_unknown'])
    await agent(OURS, 'allow').handleRequest(asks(`per_of_${id}`, id), at.server)
  expect(at.answered.map(([id]) => id)).toEqual(['per_of_ses_2', 'per_of_ses_3'])
})

test("sessions that are each other's parent are read once and not answered", async () => {
  const circle = [session('ses_2', { parentID: 'ses_3' }), session('ses_3', { parentID: 'ses_2' })]
  const at = owned([session('ses_1'), ...circle])
  const real = { ...at.server }
  const looked_up: string[] = []
  at.server.session = async (place) => {
    looked_up.push(place.id)
    if (looked_up.length > circle.length) throw new OpencodeError(404, 'looked up again')
    return real.session(place)
  }
  await agent(OURS, 'allow').handleRequest(asks('per_1', 'ses_2'), at.server)
  expect(looked_up).toEqual(['ses_2', 'ses_3'])
  expect(at.answered).toEqual([])
})
