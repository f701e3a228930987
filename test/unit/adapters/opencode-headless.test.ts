import { describe, expect, test } from 'vitest'
import { headless } from '../../../adapters/opencode/headless.ts'
import type { Asked, PermissionReply, Session } from '../../../adapters/opencode/protocol.ts'
import { OpencodeError, type OwnedServer, type Place } from '../../../adapters/opencode/server.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { atRest, fakeClock } from '../../support/fake-clock.ts'
import { fakeOpencode, session } from '../../support/fake-opencode.ts'
import type { Permissions } from '../../../src/contracts/config.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'

const PROJECT = '/project'

/** The persona's own server, with what it was answered. */
function owned(sessions: Session[]) {
  const { server } = fakeOpencode(fakeClock(), sessions)
  const answered: [string, PermissionReply | 'rejected'][] = []
  const waiting: Asked[] = []
  const link = { gone: false }
  const place = {
    answered,
    waiting,
    link,
    server: {
      ...server,
      async begin(directory: string) {
        sessions.push(session('ses_new', { directory }))
        return { id: 'ses_new', directory }
      },
      isGone: () => link.gone,
      open: async (_directory: string) => waiting,
      permit: async ({ id }: Place, reply: PermissionReply) => void answered.push([id, reply]),
      rejectQuestion: async ({ id }: Place) => void answered.push([id, 'rejected']),
    } satisfies OwnedServer,
  }
  return place
}

function agent(
  kept: Place | null,
  permissions: Permissions = 'reject',
  clock = fakeClock(),
  log = silentLog,
) {
  const memory = { kept, joined: false, bound: null as Place | null }
  const deps = {
    directory: PROJECT,
    permissions,
    kept: () => memory.kept,
    keep: (place: Place) => void (memory.kept = place),
    bound: () => memory.bound,
    isJoined: () => memory.joined,
    clock,
    log,
  }
  return { ...headless(deps), memory }
}

const asks = (id: string, sessionID: string): Asked => ({
  type: 'permission.asked',
  properties: { id, sessionID },
})
const OURS = { id: 'ses_1', directory: PROJECT }

test.each([
  ['there is none', null],
  ['it is gone', { id: 'ses_gone', directory: PROJECT }],
  ['it works in another project', { id: 'ses_1', directory: '/elsewhere' }],
])('a session is begun where %s, and kept', async (_, kept) => {
  const alone = agent(kept)
  const place = { id: 'ses_new', directory: PROJECT }
  expect(await alone.sessionOn(owned([session('ses_1')]).server)).toEqual(place)
  expect(alone.memory.kept).toEqual(place)
})

test('the session of an earlier shim is gone on with, and what it asked meanwhile is answered', async () => {
  const at = owned([session('ses_1'), session('ses_2')])
  at.waiting.push(asks('per_1', 'ses_1'), asks('per_2', 'ses_2'))
  expect(await agent(OURS).sessionOn(at.server)).toEqual(OURS)
  expect(at.answered.map(([id]) => id)).toEqual(['per_1'])
})

test.each([
  ['is there', [session('ses_1'), session('ses_2')], 'ses_2'],
  ['is gone', [session('ses_1')], 'ses_1'],
])('where the session that a person began %s, it is %j that is rung', async (_what, sessions, rung) => {
  const alone = agent(OURS)
  alone.memory.bound = { id: 'ses_2', directory: PROJECT }
  expect(await alone.sessionOn(owned(sessions).server)).toMatchObject({ id: rung })
  expect(alone.memory.kept).toEqual(OURS)
})

test('where a person begins another session while one is looked up, the other is rung', async () => {
  const alone = agent(OURS)
  const at = owned([session('ses_1'), session('ses_2')])
  const real = { ...at.server }
  alone.memory.bound = { id: 'ses_gone', directory: PROJECT }
  const begun = { id: 'ses_2', directory: PROJECT }
  at.server.session = async (place) => {
    if (place.id === 'ses_gone') alone.memory.bound = begun
    return real.session(place)
  }
  expect(await alone.sessionOn(at.server)).toEqual(begun)
})

test('where a person deletes their session while it is looked up, the kept one is rung', async () => {
  const alone = agent(OURS)
  const at = owned([session('ses_1'), session('ses_2')])
  const real = { ...at.server }
  alone.memory.bound = { id: 'ses_2', directory: PROJECT }
  at.server.session = async (place) => {
    const found = await real.session(place)
    if (place.id === 'ses_2') alone.memory.bound = null
    return found
  }
  expect(await alone.sessionOn(at.server)).toEqual(OURS)
})

test('a session that could not be written down is gone on with, and answered for', async () => {
  const memory = { joined: false }
  const at = owned([])
  let begun = 0
  const real = { ...at.server }
  at.server.begin = (directory) => ((begun += 1), real.begin(directory))
  const alone = headless({
    ...{ directory: PROJECT, permissions: 'allow', clock: fakeClock(), log: silentLog },
    ...{ kept: () => null, bound: () => null, isJoined: () => memory.joined },
    keep() {
      throw new Error('the disk is full')
    },
  })
  const place = { id: 'ses_new', directory: PROJECT }
  expect(await alone.sessionOn(at.server)).toEqual(place)
  expect(await alone.sessionOn(at.server)).toEqual(place)
  await alone.asked(asks('per_1', 'ses_new'), at.server)
  expect([begun, at.answered.length]).toEqual([1, 1])
})

test('what was answered by somebody else meanwhile costs neither the session nor the answers that follow', async () => {
  const at = owned([session('ses_1')])
  at.waiting.push(asks('per_1', 'ses_1'), asks('per_2', 'ses_1'))
  const { permit } = at.server
  at.server.permit = async (place, reply) => {
    if (place.id === 'per_1') throw new OpencodeError(404, 'no such request')
    await permit(place, reply)
  }
  expect(await agent(OURS).sessionOn(at.server)).toEqual(OURS)
  expect(at.answered.map(([id]) => id)).toEqual(['per_2'])
})

test('while a person sits there it is theirs to answer, and what they leave open is answered after', async () => {
  const at = owned([session('ses_1')])
  const alone = agent(OURS, 'allow')
  alone.memory.joined = true
  const properties = { id: 'que_1', sessionID: 'ses_1' }
  at.waiting.push(asks('per_1', 'ses_1'))
  await alone.sessionOn(at.server)
  at.waiting.push({ type: 'question.asked', properties })
  await alone.asked({ type: 'question.asked', properties }, at.server)
  await alone.asked(asks('per_1', 'ses_1'), at.server)
  expect(at.answered).toEqual([])
  alone.memory.joined = false
  await alone.allLeft()
  expect(at.answered).toEqual([
    ['per_1', { reply: 'once' }],
    ['que_1', 'rejected'],
  ])
})

test('what a session asks that a person began and left is answered in the directory it works in', async () => {
  const at = owned([session('ses_1'), session('ses_2', { directory: '/elsewhere' })])
  const alone = agent(OURS, 'allow')
  await alone.sessionOn(at.server)
  alone.memory.bound = { id: 'ses_2', directory: '/elsewhere' }
  const asked_in: string[] = []
  at.server.open = async (directory) => (directory === '/elsewhere' ? [asks('per_2', 'ses_2')] : [])
  at.server.permit = async ({ directory }) => void asked_in.push(directory)
  await alone.allLeft()
  expect(asked_in).toEqual(['/elsewhere'])
})

/** An agent that may do what it asks for; a person was there and left something open. */
async function leftOpen(place = owned([session('ses_1')])) {
  const { server, answered, waiting } = place
  const clock = fakeClock()
  const alone = agent(OURS, 'allow', clock)
  alone.memory.joined = true
  await alone.sessionOn(server)
  waiting.push(asks('per_1', 'ses_1'))
  alone.memory.joined = false
  const later = () => clock.advance(LIMITS.opencode_begin_ms)
  /** The server fails at this, until it is mended. */
  const troubled = (what: 'open' | 'permit', status: number | null = null) => {
    const before = server[what]
    const state = { asked: 0, mend: () => void Object.assign(server, { [what]: before }) }
    const fails = () => ((state.asked += 1), Promise.reject(new OpencodeError(status, 'no')))
    Object.assign(server, { [what]: fails })
    return state
  }
  return { place, server, answered, clock, alone, later, troubled }
}
const PERMITTED = [['per_1', { reply: 'once' }]]

test('a person who leaves where there is no server breaks nothing', async () => {
  await agent(OURS).allLeft()
})

test.each([
  ['open', null],
  ['open', 500],
  ['permit', null],
  ['permit', 503],
] as const)('what was left open is answered once %s is not met with %j any more', async (what, status) => {
  const { alone, troubled, later, answered } = await leftOpen()
  const trouble = troubled(what, status)
  await alone.allLeft()
  await later()
  expect(answered).toEqual([])
  trouble.mend()
  await later()
  expect(answered).toEqual(PERMITTED)
})

test('what is asked while the server is slow is answered later, once', async () => {
  const { alone, server, clock, troubled, later, answered } = await leftOpen()
  const trouble = troubled('permit')
  await alone.asked(asks('per_1', 'ses_1'), server)
  await alone.asked(asks('per_1', 'ses_1'), server)
  trouble.mend()
  await later()
  expect(answered).toEqual(PERMITTED)
  expect(clock.armed()).toBe(0)
})

test('one directory that is not answered for hides no other', async () => {
  const { place, alone, answered } = await leftOpen(
    owned([session('ses_1'), session('ses_2', { directory: '/elsewhere' })]),
  )
  alone.memory.bound = { id: 'ses_2', directory: '/elsewhere' }
  place.server.open = async (directory) => {
    if (directory === PROJECT) throw new OpencodeError(null, 'no')
    return [asks('per_2', 'ses_2')]
  }
  await alone.allLeft()
  expect(answered.map(([id]) => id)).toEqual(['per_2'])
})

test('a person who comes back answers themselves, and what they leave open again is answered', async () => {
  const { alone, clock, troubled, later, answered } = await leftOpen()
  const trouble = troubled('open')
  await alone.allLeft()
  alone.memory.joined = true
  await later()
  expect(trouble.asked).toBe(1)
  expect(clock.armed()).toBe(0)
  trouble.mend()
  alone.memory.joined = false
  await alone.allLeft()
  expect(answered).toEqual(PERMITTED)
})

test('a person who joins while it is looked up whose question it is answers it', async () => {
  const { alone, server, answered } = await leftOpen(
    owned([session('ses_1'), session('ses_2', { parentID: 'ses_1' })]),
  )
  const child = await server.session({ id: 'ses_2', directory: PROJECT })
  server.session = () => {
    alone.memory.joined = true
    return Promise.resolve(child)
  }
  await alone.asked(asks('per_2', 'ses_2'), server)
  expect(answered).toEqual([])
})

test.each([
  ['is gone', null, true],
  ['refuses', 400, false],
])('a server that %s is not asked again', async (_what, status, gone) => {
  const { place, alone, clock, troubled } = await leftOpen()
  troubled('permit', status)
  await alone.allLeft()
  place.link.gone = gone
  const trouble = troubled('open')
  await clock.advance(10 * LIMITS.opencode_begin_ms)
  expect(clock.armed()).toBe(0)
  expect(trouble.asked).toBe(0)
})

test('what was not answered where the server went is no hindrance at the next one', async () => {
  const { place, alone, troubled, later, answered } = await leftOpen()
  troubled('open')
  await alone.allLeft()
  place.link.gone = true
  const next = owned([session('ses_1')])
  next.waiting.push(asks('per_2', 'ses_1'))
  const { permit } = next.server
  next.server.permit = () => Promise.reject(new OpencodeError(null, 'no'))
  await alone.sessionOn(next.server)
  next.server.permit = permit
  await later()
  expect(answered).toEqual([])
  expect(next.answered).toEqual([['per_2', { reply: 'once' }]])
})

test('a session that a former server begins late is neither kept nor gone on with', async () => {
  const former = owned([])
  let begins = (_place: Place) => {}
  former.server.begin = () => new Promise((resolve) => (begins = resolve))
  const alone = agent(null, 'allow')
  const begun = alone.sessionOn(former.server)
  await atRest()
  former.link.gone = true
  const next = owned([])
  expect(await alone.sessionOn(next.server)).toMatchObject({ id: 'ses_new' })
  begins({ id: 'ses_late', directory: PROJECT })
  await begun
  next.waiting.push(asks('per_1', 'ses_new'))
  await alone.allLeft()
  expect(alone.memory.kept?.id).toBe('ses_new')
  expect(next.answered).toEqual(PERMITTED)
})

test('nothing is asked again once it is closed', async () => {
  const { alone, clock, troubled } = await leftOpen()
  troubled('open')
  await alone.allLeft()
  expect(clock.armed()).toBe(1)
  alone.close()
  expect(clock.armed()).toBe(0)
})

test('nothing is asked again that fails after it was closed', async () => {
  const { alone, clock, server } = await leftOpen()
  let fail = (_error: Error) => {}
  server.open = () => new Promise((_resolve, reject) => (fail = reject))
  const asking = alone.allLeft()
  alone.close()
  fail(new OpencodeError(null, 'no'))
  await asking
  expect(clock.armed()).toBe(0)
})

describe('of a server in trouble', () => {
  const fails = (status: number | null) => () => Promise.reject(new OpencodeError(status, 'no'))
  async function told() {
    const at = owned([session('ses_1'), session('ses_2')])
    const clock = fakeClock()
    const warned: string[] = []
    const log = { ...silentLog, warn: (_fields: object, message: string) => void warned.push(message) }
    const alone = agent(OURS, 'allow', clock, log)
    await alone.sessionOn(at.server)
    return { ...at, warned, alone, later: () => clock.advance(LIMITS.opencode_begin_ms) }
  }

  test('one line is enough, until it takes an answer', async () => {
    const { server, waiting, warned, later, alone } = await told()
    const { permit } = server
    // The second is nobody's here, and stays open.
    waiting.push(asks('per_1', 'ses_1'), asks('per_2', 'ses_2'))
    server.permit = fails(null)
    await alone.allLeft()
    await later()
    await later()
    expect(warned).toEqual(['it was not answered'])
    server.permit = permit
    await later()
    server.permit = fails(500)
    await alone.allLeft()
    expect(warned).toHaveLength(2)
  })

  test('the next trouble is told again, where nothing was left to be answered', async () => {
    const { server, warned, later, alone } = await told()
    const { open } = server
    server.open = fails(null)
    await alone.allLeft()
    server.open = open
    await later()
    await alone.asked(asks('per_1', 'ses_1'), { ...server, permit: fails(500) })
    expect(warned).toEqual(['the server did not say what is open', 'it was not answered'])
  })

  test('nothing is told of what somebody else answered', async () => {
    const { server, warned, alone } = await told()
    server.permit = fails(404)
    await alone.asked(asks('per_1', 'ses_1'), server)
    expect(warned).toEqual([])
  })

  test('it is told that it does not know how to say what is open', async () => {
    const { server, warned, later, alone } = await told()
    server.open = fails(404)
    await alone.allLeft()
    await later()
    expect(warned).toEqual(['the server did not say what is open'])
  })
})

test('leave is given or not as it was configured, with a word to go on by', async () => {
  const at = owned([session('ses_1')])
  await agent(OURS, 'allow').asked(asks('per_1', 'ses_1'), at.server)
  await agent(OURS).asked(asks('per_2', 'ses_1'), at.server)
  expect(at.answered).toEqual([
    ['per_1', { reply: 'once' }],
    ['per_2', { reply: 'reject', message: expect.stringContaining('Go on without') as string }],
  ])
})

test('a question has no answer but a person, whatever is allowed', async () => {
  const at = owned([session('ses_1')])
  const properties = { id: 'que_1', sessionID: 'ses_1' }
  await agent(OURS, 'allow').asked({ type: 'question.asked', properties }, at.server)
  expect(at.answered).toEqual([['que_1', 'rejected']])
})

test("its subagents are answered too, and nobody else's sessions", async () => {
  const child = session('ses_2', { parentID: 'ses_1' })
  const grandchild = session('ses_3', { parentID: 'ses_2' })
  const persons = [session('ses_4'), session('ses_5', { parentID: 'ses_4' })]
  const at = owned([session('ses_1'), child, grandchild, ...persons])
  for (const id of ['ses_2', 'ses_3', 'ses_4', 'ses_5', 'ses_unknown'])
    await agent(OURS, 'allow').asked(asks(`per_of_${id}`, id), at.server)
  expect(at.answered.map(([id]) => id)).toEqual(['per_of_ses_2', 'per_of_ses_3'])
})

test('sessions that each name the other as the one they work for are followed once, and belong to nobody', async () => {
  const circle = [session('ses_2', { parentID: 'ses_3' }), session('ses_3', { parentID: 'ses_2' })]
  const at = owned([session('ses_1'), ...circle])
  const real = { ...at.server }
  const looked_up: string[] = []
  at.server.session = async (place) => {
    looked_up.push(place.id)
    if (looked_up.length > circle.length) throw new OpencodeError(404, 'looked up again')
    return real.session(place)
  }
  await agent(OURS, 'allow').asked(asks('per_1', 'ses_2'), at.server)
  expect(looked_up).toEqual(['ses_2', 'ses_3'])
  expect(at.answered).toEqual([])
})
