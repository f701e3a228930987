import { expect, test } from 'vitest'
import { headless } from '../../../adapters/opencode/headless.ts'
import type { Asked, PermissionReply, Session } from '../../../adapters/opencode/protocol.ts'
import { OpencodeError, type OwnedServer, type Place } from '../../../adapters/opencode/server.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { fakeClock } from '../../support/fake-clock.ts'
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

function agent(kept: Place | null, permissions: Permissions = 'reject', clock = fakeClock()) {
  const memory = { kept, joined: false, bound: null as Place | null }
  const deps = {
    directory: PROJECT,
    permissions,
    kept: () => memory.kept,
    keep: (place: Place) => void (memory.kept = place),
    bound: () => memory.bound,
    isJoined: () => memory.joined,
    clock,
    log: silentLog,
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

/** Of an agent that may do what it asks for: a person was there, something is open, and the server is slow. */
async function leftOpen() {
  const at = owned([session('ses_1')])
  const clock = fakeClock()
  const alone = agent(OURS, 'allow', clock)
  alone.memory.joined = true
  await alone.sessionOn(at.server)
  at.waiting.push(asks('per_1', 'ses_1'))
  alone.memory.joined = false
  const slow = () => Promise.reject(new OpencodeError(null, 'not answered'))
  const later = () => clock.advance(LIMITS.opencode_begin_ms)
  return { ...at, at, clock, alone, slow, later }
}
const PERMITTED = [['per_1', { reply: 'once' }]]

test('a person who leaves where there is no server breaks nothing', async () => {
  await agent(OURS).allLeft()
})

test.each(['open', 'permit'] as const)(
  'what was left open is answered once a server answers that was slow when it was asked to %s',
  async (what) => {
    const { at, alone, slow, later, answered } = await leftOpen()
    const quick = at.server[what]
    Object.assign(at.server, { [what]: slow })
    await alone.allLeft()
    await later()
    expect(answered).toEqual([])
    Object.assign(at.server, { [what]: quick })
    await later()
    expect(answered).toEqual(PERMITTED)
  },
)

test('what is asked while the server is slow is answered later, once', async () => {
  const { at, alone, clock, slow, later, answered } = await leftOpen()
  const { permit } = at.server
  at.server.permit = slow
  await alone.asked(asks('per_1', 'ses_1'), at.server)
  await alone.asked(asks('per_1', 'ses_1'), at.server)
  at.server.permit = permit
  await later()
  expect(answered).toEqual(PERMITTED)
  expect(clock.armed()).toBe(0)
})

test('a person who comes back answers themselves, and what they leave open again is answered', async () => {
  const { at, alone, slow, later, answered } = await leftOpen()
  const { open } = at.server
  at.server.open = slow
  await alone.allLeft()
  at.server.open = open
  alone.memory.joined = true
  await later()
  expect(answered).toEqual([])
  alone.memory.joined = false
  await alone.allLeft()
  expect(answered).toEqual(PERMITTED)
})

test.each([
  ['is gone', null, true],
  ['refuses', 400, false],
])('a server that %s is not asked again', async (_what, status, gone) => {
  const { at, alone, clock } = await leftOpen()
  at.server.permit = () => Promise.reject(new OpencodeError(status, 'no'))
  await alone.allLeft()
  at.link.gone = gone
  const { open } = at.server
  let asked = 0
  at.server.open = (directory) => ((asked += 1), open(directory))
  await clock.advance(10 * LIMITS.opencode_begin_ms)
  expect(clock.armed()).toBe(0)
  expect(asked).toBe(0)
})

test('what was not answered where the server went is no hindrance at the next one', async () => {
  const { at, alone, slow, later, answered } = await leftOpen()
  at.server.open = slow
  await alone.allLeft()
  at.link.gone = true
  const next = owned([session('ses_1')])
  next.waiting.push(asks('per_2', 'ses_1'))
  const { permit } = next.server
  next.server.permit = slow
  await alone.sessionOn(next.server)
  next.server.permit = permit
  await later()
  expect(answered).toEqual([])
  expect(next.answered).toEqual([['per_2', { reply: 'once' }]])
})

test('nothing is asked again once it is closed', async () => {
  const { at, alone, clock, slow } = await leftOpen()
  at.server.open = slow
  await alone.allLeft()
  alone.close()
  expect(clock.armed()).toBe(0)
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
