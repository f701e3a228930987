import { expect, test } from 'vitest'
import { headless } from '../../../adapters/opencode/headless.ts'
import type { Asked, PermissionReply, Session } from '../../../adapters/opencode/protocol.ts'
import { OpencodeError, type OwnedServer, type Place } from '../../../adapters/opencode/server.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { fakeOpencode, session } from '../../support/fake-opencode.ts'
import type { Permissions } from '../../../src/contracts/config.ts'

const PROJECT = '/project'

/** The persona's own server, with what it was answered. */
function owned(sessions: Session[]) {
  const { server } = fakeOpencode(fakeClock(), sessions)
  const answered: [string, PermissionReply | 'rejected'][] = []
  const waiting: Asked[] = []
  const place = {
    answered,
    waiting,
    server: {
      ...server,
      async begin(directory: string) {
        sessions.push(session('ses_new', { directory }))
        return { id: 'ses_new', directory }
      },
      open: async (_directory: string) => waiting,
      permit: async ({ id }: Place, reply: PermissionReply) => void answered.push([id, reply]),
      rejectQuestion: async ({ id }: Place) => void answered.push([id, 'rejected']),
    } satisfies OwnedServer,
  }
  return place
}

function agent(kept: Place | null, permissions: Permissions = 'reject') {
  const memory = { kept, joined: false, bound: null as Place | null }
  const deps = {
    directory: PROJECT,
    permissions,
    kept: () => memory.kept,
    keep: (place: Place) => void (memory.kept = place),
    bound: () => memory.bound,
    isJoined: () => memory.joined,
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

test('a person who leaves where no server answers breaks nothing', async () => {
  const at = owned([session('ses_1')])
  const alone = agent(OURS)
  await alone.allLeft()
  await alone.sessionOn(at.server)
  at.server.open = () => Promise.reject(new OpencodeError(null, 'not there'))
  await alone.allLeft()
  expect(at.answered).toEqual([])
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
