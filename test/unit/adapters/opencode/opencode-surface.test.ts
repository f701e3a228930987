import { beforeEach, describe, expect, test } from 'vitest'
import {
  opencodeSurface,
  type OpencodeSurface,
  type OpencodeSurfaceDeps,
} from '../../../../adapters/opencode/opencode-surface.ts'
import type { Event, Session } from '../../../../adapters/opencode/protocol.ts'
import { OpencodeError, type OpencodeServer, type SessionRef } from '../../../../adapters/opencode/server.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { doorbell } from '../../../support/doorbells.ts'
import { atRest, fakeClock, type FakeClock } from '../../../support/fakes/fake-clock.ts'
import { fakeOpencode, session } from '../../../support/fakes/fake-opencode.ts'
import { recordingHost } from '../../../suites/surface.suite.ts'

let clock: FakeClock
let surface: OpencodeSurface
let host: ReturnType<typeof recordingHost>
let kept: (SessionRef | null)[]
let keep: (place: SessionRef | null) => void
let warned: string[]
beforeEach(() => {
  clock = fakeClock()
  host = recordingHost()
  kept = []
  keep = (place) => void kept.push(place)
  warned = []
  surface = opencodeSurface(deps())
  surface.open(host)
})

const deps = (): OpencodeSurfaceDeps => ({
  ...{ identity: 'ada', clock, storeSession: (place) => keep(place) },
  log: { ...silentLog, warn: (_fields, message) => void warned.push(message) },
})

const tell = (...events: Event[]) => events.forEach((event) => surface.handleEvent(event))
const status = () => surface.status()
const EARLIER = { id: 'ses_1', directory: '/project' }

async function attached(earlier: SessionRef | null = EARLIER, sessions?: Session[]) {
  const place = fakeOpencode(clock, sessions)
  await surface.connected(place.server, earlier)
  await atRest()
  return place
}

async function attachedBusy() {
  const place = fakeOpencode(clock)
  place.busy = true
  await surface.connected(place.server, EARLIER)
  return place
}

/** A message arrived without a turn, and the server is being queried. */
async function inDoubt() {
  const place = await attached()
  tell(place.message('msg_1'))
  const asked = lateAnswer(place)
  await clock.advance(LIMITS.opencode_begin_ms)
  return { place, asked }
}

/** The server is being queried for the turn of the resumed session. */
async function connecting(place: ReturnType<typeof fakeOpencode>) {
  const asked = lateAnswer(place)
  const connected = surface.connected(place.server, EARLIER)
  await atRest()
  return { asked, connected }
}

/** Delays the next turn answers until the test releases them. */
function lateAnswer(place: ReturnType<typeof fakeOpencode>) {
  const questions: { resolve: (busy: boolean) => void; reject: (error: Error) => void }[] = []
  const real = { ...place.server }
  place.server.isBusy = () => new Promise((resolve, reject) => questions.push({ resolve, reject }))
  async function end(how: (question: (typeof questions)[number]) => void) {
    await atRest()
    place.server.isBusy = () => real.isBusy()
    expect(questions).toHaveLength(1)
    questions.forEach(how)
    await atRest()
  }
  return {
    says: (busy: boolean) => end(({ resolve }) => resolve(busy)),
    fails: () => end(({ reject }) => reject(new OpencodeError(null, 'not answered'))),
  }
}

describe('the bound session', () => {
  test('no session is bound before a person starts the first one', async () => {
    const place = await attached(null)
    expect(await status()).toMatchObject({ session_id: null, turn: 'unknown' })
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'unavailable' })
    tell(place.created(session('ses_1')))
    expect(await status()).toMatchObject({ session_id: 'ses_1', turn: 'busy' })
    expect(kept).toEqual([EARLIER])
  })

  test('the bound session is not rung before the turn of its first prompt is over', async () => {
    const place = await attached(null)
    tell(place.created(session('ses_1')))
    const { turn_seq } = await status()
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    tell(...place.begins())
    expect(await status()).toMatchObject({ turn: 'busy', turn_seq })
    tell(...place.ends())
    expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
  })

  test('a new session is not idle because of an earlier query', async () => {
    const place = await attached(null)
    tell(place.created(session('ses_1')))
    await surface.resume_surface()
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_1', turn: 'busy' })
    tell(place.message('msg_1'))
    await surface.resume_surface()
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_1', turn: 'busy' })
  })

  test('a new session without a message is rung after a while', async () => {
    const place = await attached(null)
    tell(place.created(session('ses_1')))
    await clock.advance(LIMITS.opencode_first_prompt_ms - 1)
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_1', turn: 'busy' })
    await clock.advance(1)
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_1', turn: 'idle' })
  })

  test('the session of an earlier shim is bound with its running turn', async () => {
    await attachedBusy()
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_1', turn: 'busy' })
  })

  test('no session is bound if that of an earlier shim no longer exists', async () => {
    await attached(EARLIER, [])
    expect(await status()).toMatchObject({ session_id: null, turn: 'unknown' })
  })

  test("a subagent's session is never bound", async () => {
    const place = await attached()
    const child = session('ses_2', { parentID: 'ses_1' })
    tell(place.created(child), place.message('msg_9', 'ses_2'), place.updated(child))
    expect(await status()).toMatchObject({ session_id: 'ses_1', turn: 'idle' })
  })

  test('a new session is bound, and turns of the former are ignored', async () => {
    const place = await attached()
    tell(place.created(session('ses_2')))
    const { turn_seq } = await status()
    tell(...place.begins('ses_1'))
    expect(await status()).toMatchObject({ session_id: 'ses_2', turn: 'busy', turn_seq })
    tell(...place.ends('ses_1'))
    expect(await status()).toMatchObject({ session_id: 'ses_2', turn: 'busy' })
  })

  test('an older session in which the person writes is bound', async () => {
    const place = await attached()
    tell(place.message('msg_9', 'ses_0'), place.updated(session('ses_0')), place.says('busy', 'ses_0'))
    expect(await status()).toMatchObject({ session_id: 'ses_0', turn: 'busy' })
    expect(kept.at(-1)).toMatchObject({ id: 'ses_0' })
  })

  test('the session in which the person wrote before the connection is bound', async () => {
    const place = fakeOpencode(clock)
    tell(place.message('msg_1'))
    await surface.connected(place.server, null)
    tell(place.updated(session('ses_1')))
    expect(await status()).toMatchObject({ session_id: 'ses_1', turn: 'busy' })
  })

  test('the bound session is queried and rung in its last reported directory, which is stored', async () => {
    const place = await attached()
    const moved = { ...EARLIER, directory: '/moved' }
    tell(place.updated(session('ses_1', { directory: '/moved' })))
    expect(kept).toEqual([EARLIER, moved])
    const real = { ...place.server }
    const rung: SessionRef[] = []
    place.server.prompt = async (at, prompt) => {
      rung.push(at)
      await real.prompt(at, prompt)
    }
    expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
    expect(rung).toEqual([moved])
    tell(place.updated(session('ses_1', { directory: '/moved', agent: 'plan' })))
    expect(kept).toHaveLength(2)
  })

  test('the bound session is kept while the server is away and resumed on the next one', async () => {
    const place = await attached()
    surface.disconnected()
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_1', turn: 'unknown' })
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'unavailable' })
    await surface.connected(place.server, null)
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_1', turn: 'idle' })
  })
})

describe('a session that started without a connection', () => {
  test('a session that started without a connection is bound because it was stored', async () => {
    const place = await attached(EARLIER, [session('ses_1'), session('ses_2')])
    surface.disconnected()
    await surface.connected(place.server, { id: 'ses_2', directory: '/project' })
    expect(await status()).toMatchObject({ session_id: 'ses_2', turn: 'idle' })
  })

  test('a joined session is bound, and its tracked state is kept', async () => {
    const place = await attached(null)
    place.sessions.push(session('ses_2'))
    await surface.personJoined({ id: 'ses_2', directory: '/project' })
    expect(await status()).toMatchObject({ session_id: 'ses_2', turn: 'idle' })
    tell(...place.begins('ses_2'))
    await surface.personJoined({ id: 'ses_2', directory: '/project' })
    expect(await status()).toMatchObject({ session_id: 'ses_2', turn: 'busy' })
  })

  test('a joined session is bound rather than an earlier lookup that answers later', async () => {
    const place = fakeOpencode(clock, [session('ses_1'), session('ses_2')])
    const real = { ...place.server }
    const late: (() => void)[] = []
    place.server.session = async (at) => {
      if (at.id === 'ses_1') await new Promise<void>((resolve) => late.push(resolve))
      return real.session(at)
    }
    const connecting = surface.connected(place.server, EARLIER)
    await surface.personJoined({ id: 'ses_2', directory: '/project' })
    late.forEach((answer) => answer())
    await connecting
    expect((await status()).session_id).toBe('ses_2')
    expect(kept.at(-1)).toMatchObject({ id: 'ses_2' })
  })

  test('a joined session that is gone leaves the bound one, which is stored again', async () => {
    await attached()
    kept = []
    await surface.personJoined({ id: 'ses_gone', directory: '/project' })
    expect(await status()).toMatchObject({ session_id: 'ses_1', turn: 'idle' })
    expect(kept).toEqual([EARLIER])
  })

  test('a joined session that is gone does not change the doubt of the bound one', async () => {
    const place = await attached()
    tell(...place.begins(), ...place.breaks())
    await surface.personJoined({ id: 'ses_gone', directory: '/project' })
    tell(...place.ends())
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'deferred' })
  })

  test('a joined session is bound although the former one is deleted during the lookup', async () => {
    const place = await attached()
    place.sessions.push(session('ses_2'))
    const asked = lateAnswer(place)
    const joined = surface.personJoined({ id: 'ses_2', directory: '/project' })
    tell({ type: 'session.deleted', properties: { sessionID: 'ses_1' } })
    await asked.says(false)
    await joined
    expect(await status()).toMatchObject({ session_id: 'ses_2', turn: 'idle' })
  })

  test('the last joined session is bound, in any order of the answers', async () => {
    const place = await attached()
    place.sessions.push(session('ses_2'), session('ses_3'))
    const asked = lateAnswer(place)
    const former = surface.personJoined({ id: 'ses_2', directory: '/project' })
    await atRest()
    place.server.isBusy = async () => false
    await surface.personJoined({ id: 'ses_3', directory: '/project' })
    await asked.says(false)
    await former
    expect(kept.at(-1)).toMatchObject({ id: 'ses_3' })
  })

  test.each([
    { when: 'before', how: 'says' },
    { when: 'before', how: 'fails' },
    { when: 'after', how: 'fails' },
  ] as const)(
    'a joined session is not bound if the person is back in the other one $when the server $how',
    async ({ when, how }) => {
      const place = await attached()
      place.sessions.push(session('ses_2'))
      const asked = lateAnswer(place)
      const former = surface.personJoined({ id: 'ses_2', directory: '/project' })
      await atRest()
      if (when === 'before') await surface.personJoined(EARLIER)
      await (how === 'says' ? asked.says(false) : asked.fails())
      await former
      if (when === 'after') await surface.personJoined(EARLIER)
      await clock.advance(LIMITS.opencode_begin_ms)
      expect((await status()).session_id).toBe('ses_1')
    },
  )

  test('a joined session is not retried if another one has started', async () => {
    const place = await attached()
    place.sessions.push(session('ses_2'))
    const asked = lateAnswer(place)
    const former = surface.personJoined({ id: 'ses_2', directory: '/project' })
    await asked.fails()
    await former
    tell(place.created(session('ses_3')))
    await clock.advance(LIMITS.opencode_begin_ms)
    expect((await status()).session_id).toBe('ses_3')
  })

  test('a joined session is retried if the server did not answer', async () => {
    const place = await attached()
    place.sessions.push(session('ses_2'))
    const real = { ...place.server }
    place.server.session = () => Promise.reject(new OpencodeError(null, 'not answered'))
    await surface.personJoined({ id: 'ses_2', directory: '/project' })
    place.server.session = (at) => real.session(at)
    await clock.advance(LIMITS.opencode_begin_ms)
    expect((await status()).session_id).toBe('ses_2')
  })

  test('a session joined without a connection is bound by the next one', async () => {
    await surface.personJoined(EARLIER)
    expect(await status()).toMatchObject({ session_id: null, turn: 'unknown' })
  })
})

describe("before the server has returned the session's turn", () => {
  test('the surface is absent although an event reports the session', async () => {
    const place = fakeOpencode(clock)
    tell(place.created(session('ses_1')))
    expect(await status()).toMatchObject({ session_id: 'ses_1', turn: 'unknown', absent: true })
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'unavailable' })
    const asked = lateAnswer(place)
    const connecting = surface.connected(place.server, EARLIER)
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'unavailable' })
    expect(host.reports.every(({ turn }) => turn === 'unknown')).toBe(true)
    await asked.says(false)
    await connecting
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_1', turn: 'busy' })
    await clock.advance(LIMITS.opencode_first_prompt_ms)
    expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
  })

  test('the surface is absent if the server does not return the turn', async () => {
    const place = fakeOpencode(clock)
    const asked = lateAnswer(place)
    const connecting = surface.connected(place.server, EARLIER)
    const rejected = expect(connecting).rejects.toThrow('not answered')
    await atRest()
    tell(place.created(session('ses_1')))
    await asked.fails()
    await rejected
    expect(await status()).toMatchObject({ session_id: 'ses_1', turn: 'unknown', absent: true })
    await surface.connected(place.server, EARLIER)
    await clock.advance(LIMITS.opencode_first_prompt_ms)
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_1', turn: 'idle' })
  })

  test.each(['says', 'fails'] as const)('a lost server that %s late changes nothing', async (how) => {
    const gone = fakeOpencode(clock)
    const asked = lateAnswer(gone)
    const former = surface.connected(gone.server, EARLIER).catch((error: Error) => error.message)
    await atRest()
    surface.disconnected()
    await attached()
    if (how === 'says') await asked.says(true)
    else await asked.fails()
    await former
    expect(await status()).toMatchObject({ session_id: 'ses_1', turn: 'idle' })
    expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
  })

  test('a session joined in between is bound, or the other if it is gone', async () => {
    const place = fakeOpencode(clock)
    tell(place.created(session('ses_1')))
    const { asked, connected } = await connecting(place)
    await surface.personJoined({ id: 'ses_gone', directory: '/project' })
    await asked.says(false)
    await connected
    await clock.advance(LIMITS.opencode_first_prompt_ms)
    expect(await status()).toMatchObject({ session_id: 'ses_1', turn: 'idle' })
  })

  test('a joined session is bound although its lookup fails and another one starts', async () => {
    const place = fakeOpencode(clock)
    const { asked, connected } = await connecting(place)
    await surface.personJoined({ id: 'ses_2', directory: '/project' })
    const real = { ...place.server }
    place.server.session = () => Promise.reject(new OpencodeError(null, 'not answered'))
    await asked.says(false)
    await connected
    place.server.session = (at) => real.session(at)
    tell(place.created(session('ses_3')))
    await clock.advance(LIMITS.opencode_first_prompt_ms)
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_3', turn: 'idle' })
  })

  test('a session that is deleted during the lookup is not bound', async () => {
    const place = await attached()
    surface.disconnected()
    const { asked, connected } = await connecting(place)
    tell({ type: 'session.deleted', properties: { sessionID: 'ses_1' } })
    await asked.says(false)
    await connected
    expect(await status()).toMatchObject({ session_id: null, turn: 'unknown' })
  })

  test('a joined session is not read from a former server', async () => {
    const gone = fakeOpencode(clock)
    const former = await connecting(gone)
    surface.disconnected()
    const next = fakeOpencode(clock)
    const { asked, connected } = await connecting(next)
    await surface.personJoined({ id: 'ses_gone', directory: '/project' })
    await former.asked.says(false)
    await former.connected
    await asked.says(false)
    await connected
    expect(await status()).toMatchObject({ session_id: 'ses_1', turn: 'idle' })
  })

  test('a session that starts is bound, not the other one, if the joined one is gone', async () => {
    const place = fakeOpencode(clock)
    const { asked, connected } = await connecting(place)
    tell(place.created(session('ses_3')), place.message('msg_1', 'ses_3'))
    await surface.personJoined({ id: 'ses_gone', directory: '/project' })
    await asked.says(false)
    await connected
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_3', turn: 'busy' })
  })

  test('an aborted turn ends with its second report', async () => {
    const place = await attached()
    surface.disconnected()
    const { asked, connected } = await connecting(place)
    tell(...place.breaks())
    await asked.says(true)
    await connected
    expect(host.reports.at(-1)).toMatchObject({ turn: 'busy' })
    const then = lateAnswer(place)
    await clock.advance(LIMITS.opencode_settle_ms)
    await then.fails()
    await clock.advance(LIMITS.opencode_begin_ms)
    expect(host.reports.at(-1)).toMatchObject({ turn: 'idle' })
  })

  test('a new session with an answer is idle', async () => {
    const place = fakeOpencode(clock, [session('ses_1', { time: { created: clock.now() } })])
    place.message('msg_1')
    place.answer('msg_1')
    await surface.connected(place.server, EARLIER)
    expect(await status()).toMatchObject({ session_id: 'ses_1', turn: 'idle' })
  })

  test('the surface is absent after that server is lost', async () => {
    const place = await attached()
    surface.disconnected()
    tell(...place.ends())
    expect(await status()).toMatchObject({ turn: 'unknown', absent: true })
  })
})

describe('a turn', () => {
  test("a turn that ends after an unanswered message may be followed by that message's turn", async () => {
    const place = await attached()
    tell(...place.begins(), place.message('msg_9'), ...place.ends())
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    tell(place.says('busy'), place.answer('msg_9'), ...place.ends())
    expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
  })

  test('a late error of an ended turn changes nothing', async () => {
    const place = await attached()
    tell(...place.begins(), ...place.ends(), ...place.breaks('ses_1', 'UnknownError'))
    expect((await status()).turn).toBe('idle')
  })

  test("a turn that ends after a message received without a connection may be followed by that message's turn", async () => {
    const place = await attached()
    tell(...place.begins())
    surface.disconnected()
    place.message('msg_9')
    place.busy = true
    await surface.connected(place.server, null)
    place.busy = false
    tell(...place.ends())
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    await clock.advance(LIMITS.opencode_begin_ms)
    expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
  })

  test('a turn may be about to begin if the newest message cannot be read', async () => {
    const place = fakeOpencode(clock)
    place.server.messages = () => Promise.reject(new OpencodeError(500, 'it cannot be shown'))
    await surface.connected(place.server, EARLIER)
    expect(await status()).toMatchObject({ session_id: 'ses_1', turn: 'busy' })
    await clock.advance(LIMITS.opencode_begin_ms)
    expect(await status()).toMatchObject({ session_id: 'ses_1', turn: 'idle' })
  })

  test('a closed surface does not query the turn', async () => {
    const place = await attachedBusy()
    const asked = lateAnswer(place)
    await clock.advance(LIMITS.opencode_begin_ms)
    surface.close()
    await asked.says(true)
    let questions = 0
    place.server.isBusy = async () => (questions += 1) > 0
    await clock.advance(LIMITS.opencode_begin_ms)
    expect(questions).toBe(0)
  })

  test('a doubt is not ended by the answer of a former server', async () => {
    const { asked } = await inDoubt()
    surface.disconnected()
    await attachedBusy()
    await asked.says(false)
    expect((await status()).turn).toBe('busy')
  })

  test('the turn of a message that arrived without a connection may be about to begin', async () => {
    const place = await attached()
    surface.disconnected()
    place.message('msg_1')
    await clock.advance(LIMITS.opencode_begin_ms - 1)
    await surface.connected(place.server, null)
    expect(host.reports.at(-1)).toMatchObject({ turn: 'busy' })
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    tell(place.says('busy'), place.answer('msg_1'), ...place.ends())
    expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
  })

  test('the turn of an older message is over after any number of reconnects', async () => {
    const place = await attached()
    tell(place.message('msg_1'))
    for (let flaps = 0; flaps < 3; flaps += 1) {
      surface.disconnected()
      await clock.advance(LIMITS.opencode_begin_ms / 2)
      await surface.connected(place.server, null)
    }
    expect(host.reports.at(-1)).toMatchObject({ turn: 'idle' })
  })

  test('a turn whose message was answered without a connection is over', async () => {
    const place = await attached()
    surface.disconnected()
    place.message('msg_1')
    place.answer('msg_1')
    await surface.connected(place.server, null)
    expect(host.reports.at(-1)).toMatchObject({ turn: 'idle' })
  })

  test('a turn in another session is known when the server reports that session', async () => {
    const place = await attached()
    place.sessions.push(session('ses_2'))
    tell(place.message('msg_9', 'ses_2'))
    surface.disconnected()
    await surface.connected(place.server, EARLIER)
    expect(await status()).toMatchObject({ session_id: 'ses_1' })
    tell(place.updated(session('ses_2')))
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_2', turn: 'busy' })
  })

  test('a doubt that outlasts the connect is queried after it', async () => {
    const place = await attached()
    surface.disconnected()
    const { asked, connected } = await connecting(place)
    tell(place.created(session('ses_2')))
    await clock.advance(LIMITS.opencode_first_prompt_ms)
    await asked.says(false)
    await connected
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_2', turn: 'idle' })
  })

  test('a turn that ended before a busy answer arrived is over', async () => {
    const { place, asked } = await inDoubt()
    tell(place.answer('msg_1'), ...place.ends())
    await asked.says(true)
    expect((await status()).turn).toBe('busy')
    await clock.advance(LIMITS.opencode_begin_ms)
    expect((await status()).turn).toBe('idle')
  })

  test('a turn runs while the server answers busy', async () => {
    const place = await attachedBusy()
    for (let waits = 0; waits < 3; waits += 1) await clock.advance(LIMITS.opencode_begin_ms)
    expect((await status()).turn).toBe('busy')
    place.busy = false
    await clock.advance(LIMITS.opencode_begin_ms)
    expect((await status()).turn).toBe('idle')
  })

  test('a turn that began after the query is not ended by its answer', async () => {
    const place = fakeOpencode(clock)
    tell(place.created(session('ses_1')))
    const { asked, connected } = await connecting(place)
    tell(place.message('msg_1'))
    await asked.says(false)
    await connected
    expect((await status()).turn).toBe('busy')
  })

  const MESSAGE = { what: 'message', patience_ms: LIMITS.opencode_begin_ms }
  const CREATED = { what: 'created', patience_ms: LIMITS.opencode_first_prompt_ms }
  test.each([
    { ...MESSAGE, away: false },
    { ...MESSAGE, away: true },
    { ...CREATED, away: false },
    { ...CREATED, away: true },
  ])(
    'a turn that begins is not ended by a reconnect ($what, connection lost: $away)',
    async ({ what, patience_ms, away }) => {
      const place = await attached()
      const begun = session('ses_2', { time: { created: clock.now() } })
      place.sessions.push(begun)
      tell(what === 'message' ? place.message('msg_1') : place.created(begun))
      if (away) surface.disconnected()
      expect(await status()).toMatchObject(away ? { turn: 'unknown', absent: true } : { turn: 'busy' })
      await surface.connected(place.server, null)
      expect(host.reports.at(-1)).toMatchObject({ turn: 'busy' })
      expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
      await clock.advance(patience_ms)
      expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
    },
  )

  test('a turn that began before a lost connection is over when the server answers idle', async () => {
    const place = await attached()
    tell(place.message('msg_1'))
    surface.disconnected()
    place.answer('msg_1')
    await clock.advance(LIMITS.opencode_begin_ms)
    place.busy = true
    await surface.connected(place.server, null)
    place.busy = false
    tell(...place.ends())
    expect((await status()).turn).toBe('idle')
  })

  test('the next turn is not ended by an answer about the former', async () => {
    const { place, asked } = await inDoubt()
    tell(place.says('busy'), ...place.ends(), place.message('msg_2'))
    await asked.says(false)
    expect((await status()).turn).toBe('busy')
  })

  test('a turn that ran at the connect and ended without an event is over', async () => {
    const place = await attachedBusy()
    expect((await status()).turn).toBe('busy')
    place.busy = false
    await clock.advance(LIMITS.opencode_begin_ms)
    expect((await status()).turn).toBe('idle')
  })

  test('a turn that ran at the connect is over at once with its event', async () => {
    const place = await attachedBusy()
    tell(...place.ends())
    expect((await status()).turn).toBe('idle')
  })

  test('a turn that ran at the connect is queried until the server answers', async () => {
    const place = await attachedBusy()
    place.busy = false
    const asked = lateAnswer(place)
    await clock.advance(LIMITS.opencode_begin_ms)
    await asked.fails()
    expect((await status()).turn).toBe('busy')
    await clock.advance(LIMITS.opencode_begin_ms)
    expect((await status()).turn).toBe('idle')
  })

  test('the turn of a message that arrived during a query is queried again', async () => {
    const { place, asked } = await inDoubt()
    tell(place.message('msg_2'))
    await asked.says(false)
    expect((await status()).turn).toBe('busy')
    await clock.advance(LIMITS.opencode_begin_ms)
    expect((await status()).turn).toBe('idle')
  })

  test('the turn of a message in a session that is being read has begun', async () => {
    const place = fakeOpencode(clock)
    const { asked, connected } = await connecting(place)
    tell(place.message('msg_1'))
    await asked.says(false)
    await connected
    expect(await status()).toMatchObject({ session_id: 'ses_1', turn: 'busy' })
  })

  test('a turn begins with its message, before the server reports busy', async () => {
    const place = await attached()
    const { turn_seq } = await status()
    tell(place.message('msg_1'))
    expect(await status()).toMatchObject({ turn: 'busy', turn_seq: turn_seq + 1 })
    tell(place.says('busy'))
    expect((await status()).turn_seq).toBe(turn_seq + 1)
  })

  test('a turn that never followed a message is over when the server answers idle', async () => {
    const place = await attached()
    tell(place.message('msg_1'))
    await clock.advance(LIMITS.opencode_begin_ms)
    expect((await status()).turn).toBe('idle')
  })

  test('an older message that is reported again begins no turn', async () => {
    const place = await attached()
    tell(...place.begins(), ...place.ends())
    const { turn_seq } = await status()
    tell(place.message('msg_0001', 'ses_1', { summary: { diffs: [] } }))
    expect(await status()).toMatchObject({ turn: 'idle', turn_seq })
  })

  test.each(['MessageAbortedError', 'APIError'])(
    'a turn that failed with %s ends once, with its second report',
    async (name) => {
      const place = await attached()
      tell(...place.begins(), ...place.breaks('ses_1', name))
      expect((await status()).turn).toBe('busy')
      expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'deferred' })
      tell(...place.ends())
      await clock.advance(LIMITS.opencode_settle_ms)
      expect((await status()).turn).toBe('idle')
      expect(new Set(host.reports.slice(-2).map(({ turn_seq }) => turn_seq)).size).toBe(1)
    },
  )

  test('a turn that waits for its model or for a permission is busy', async () => {
    const place = await attached()
    tell(...place.begins(), place.says('retry'))
    expect((await status()).turn).toBe('busy')
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'deferred' })
  })

  test('a turn without an event is detected before a doorbell is lost in it', async () => {
    const place = await attached()
    place.busy = true
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    expect(place.prompts).toEqual([])
    expect((await status()).turn).toBe('busy')
    place.busy = false
    await clock.advance(LIMITS.opencode_begin_ms)
    expect((await status()).turn).toBe('idle')
  })
})

describe('a bell', () => {
  test('a doorbell carries its persona and id, and the answer to it is its receipt', async () => {
    const place = await attached()
    const bell = doorbell()
    expect(await surface.notify_surface(bell)).toEqual({ accepted: true, proof: 'sent' })
    expect(place.prompts[0]?.parts).toEqual([
      { type: 'text', text: bell.text, metadata: { turnbell: `ada:${bell.doorbell_id}` } },
    ])
    const [message, part, busy, answer] = place.begins() as [Event, Event, Event, Event]
    tell(message, part, busy)
    expect(host.reports.at(-1)).not.toHaveProperty('seen_doorbell_id')
    tell(answer)
    expect(host.reports.at(-1)).toMatchObject({ turn: 'busy', seen_doorbell_id: bell.doorbell_id })
  })

  test('a doorbell of another persona is ignored', async () => {
    const place = await attached()
    tell(place.message('msg_1'), place.part('msg_1', { turnbell: 'bob:x' }), place.answer('msg_1'))
    expect(await status()).not.toHaveProperty('seen_doorbell_id')
  })

  test.each(['', 'x', '01ARZ3NDEKTSV4RRFFQ69G5FA', '01ARZ3NDEKTSV4RRFFQ69G5FAVX'])(
    'a prompt with the invalid doorbell id %j is ignored',
    async (doorbell_id) => {
      const place = await attached()
      tell(
        place.message('msg_1'),
        place.part('msg_1', { turnbell: `ada:${doorbell_id}` }),
        place.answer('msg_1'),
      )
      expect(await status()).not.toHaveProperty('seen_doorbell_id')
    },
  )

  test("a doorbell is prompted with the person's agent and model", async () => {
    const model = { id: 'big', providerID: 'p', variant: 'high' }
    const place = await attached(EARLIER, [session('ses_1', { agent: 'plan', model })])
    await surface.notify_surface(doorbell())
    const chosen = { agent: 'plan', model: { providerID: 'p', modelID: 'big' }, variant: 'high' }
    expect(place.prompts.at(-1)).toMatchObject(chosen)
    tell(...place.begins(), ...place.ends())
    tell(place.message('msg_1', 'ses_1', { agent: 'build' }), place.says('busy'))
    tell(place.answer('msg_1'), ...place.ends())
    await surface.notify_surface(doorbell())
    expect(place.prompts.at(-1)).toMatchObject({ ...chosen, agent: 'build' })
  })

  describe('to an agent that opencode no longer knows', () => {
    const refused = (agent: string): Event => ({
      type: 'session.error',
      properties: {
        sessionID: 'ses_1',
        error: { data: { message: `Agent not found: "${agent}". Available: x` } },
      },
    })
    async function missed(agent = 'gone') {
      const place = await attached(EARLIER, [session('ses_1', { agent: 'gone' })])
      expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true, proof: 'sent' })
      tell(refused(agent))
      return place
    }

    test('a doorbell for an unknown agent is lost, and later ones are prompted without it', async () => {
      const place = await missed()
      tell(place.updated(session('ses_1', { agent: 'gone' })))
      expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
      expect(place.prompts.map((prompt) => prompt.agent)).toEqual(['gone', undefined])
      expect(warned).toHaveLength(1)
    })

    test('a doorbell is prompted with another agent that the person chooses, or with the known one again', async () => {
      const place = await missed()
      for (const agent of ['plan', 'gone']) {
        const id = `msg_9${agent === 'gone' ? 2 : 1}`
        tell(place.message(id, 'ses_1', { agent }), place.says('busy'), place.answer(id), ...place.ends())
        await surface.notify_surface(doorbell())
        expect(place.prompts.at(-1)).toMatchObject({ agent })
        tell(...place.begins(), ...place.ends())
      }
    })

    test('an error about another agent keeps the chosen one', async () => {
      const place = await missed('another')
      place.taken.splice(0)
      await surface.notify_surface(doorbell())
      expect(place.prompts.at(-1)).toMatchObject({ agent: 'gone' })
      expect(warned).toEqual([])
    })
  })

  describe('with undone messages', () => {
    const undo = (place: ReturnType<typeof fakeOpencode>, revert: object | null) =>
      place.sessions.splice(0, 1, session('ses_1', { revert }))

    test('a doorbell waits until a new message or a redo, because a prompt deletes undone messages', async () => {
      const place = await attached()
      undo(place, { messageID: 'msg_1' })
      expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
      expect(place.prompts).toEqual([])
      undo(place, null)
      expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
    })

    test('a doorbell does not wait if no person is present to redo', async () => {
      let is_there = true
      surface = opencodeSurface({ ...deps(), mayRedo: () => is_there })
      const place = await attached()
      undo(place, { messageID: 'msg_1' })
      expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'deferred' })
      is_there = false
      expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
    })
  })

  test('a doorbell whose session is gone is rung in the next bound one', async () => {
    const place = await attached()
    place.server.prompt = async () => {
      tell(place.created(session('ses_2')))
      throw new OpencodeError(404, 'gone')
    }
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'failed' })
    expect(await status()).toMatchObject({ session_id: 'ses_2', turn: 'busy' })
  })
})

describe('with a session that cannot be stored', () => {
  beforeEach(() => {
    keep = () => {
      throw new Error('the disk is full')
    }
  })

  test('a session that cannot be stored is reported and rung', async () => {
    const place = await attached(null)
    tell(place.created(session('ses_1')))
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_1', turn: 'busy' })
    await clock.advance(LIMITS.opencode_first_prompt_ms)
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_1', turn: 'idle' })
    expect(warned).toHaveLength(1)
  })

  test('a joined session that is gone is not retried if storing fails', async () => {
    const place = await attached()
    await surface.personJoined({ id: 'ses_gone', directory: '/project' })
    place.server.session = () => Promise.reject(new Error('asked again'))
    await clock.advance(LIMITS.opencode_begin_ms)
    expect(await status()).toMatchObject({ session_id: 'ses_1', turn: 'idle' })
    expect(clock.armed()).toBe(0)
  })
})

describe('a session whose window is closed', () => {
  let has_window: boolean
  beforeEach(() => {
    has_window = true
    surface = opencodeSurface({ ...deps(), hasWindow: () => has_window })
    surface.open(host)
  })

  test('a session whose window is closed is not rung until the next window opens', async () => {
    const place = await attached()
    has_window = false
    surface.windowsChanged()
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_1', turn: 'idle', window: false })
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'unavailable' })
    expect(place.prompts).toEqual([])
    has_window = true
    surface.windowsChanged()
    expect(host.reports.at(-1)).not.toHaveProperty('window')
    expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
  })
})

describe('a doorbell whose turn begins late', () => {
  /** The server has accepted the prompt. */
  async function handed() {
    const place = await attached()
    const bell = doorbell()
    expect(await surface.notify_surface(bell)).toEqual({ accepted: true, proof: 'sent' })
    return { place, bell, outstanding: { outstanding_doorbell_id: bell.doorbell_id } }
  }

  /** The server has stored the prompt and does not run it. */
  async function stored() {
    const under = await handed()
    const { place, bell } = under
    place.taken.splice(0)
    tell(place.message('msg_5'), place.part('msg_5', { turnbell: `ada:${bell.doorbell_id}` }))
    return under
  }

  test('a late doorbell is outstanding from its sending on, and not rung a second time', async () => {
    const { place, outstanding } = await handed()
    expect(host.reports.at(-1)).toMatchObject(outstanding)
    expect(await status()).toMatchObject(outstanding)
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    expect(place.prompts).toHaveLength(1)
  })

  test('a late doorbell stays outstanding for 30 s while its prompt is stored, and no end of its turn is reported', async () => {
    const { place, bell, outstanding } = await stored()
    const { turn_seq } = await status()
    for (let waited_ms = 0; waited_ms < 30_000; waited_ms += LIMITS.opencode_begin_ms) {
      await clock.advance(LIMITS.opencode_begin_ms)
      expect(await status()).toMatchObject({ ...outstanding, turn: 'busy', turn_seq })
    }
    tell(place.says('busy'), place.answer('msg_5'))
    expect(host.reports.at(-1)).toMatchObject({ seen_doorbell_id: bell.doorbell_id, turn: 'busy', turn_seq })
    expect(host.reports.at(-1)).not.toHaveProperty('outstanding_doorbell_id')
    tell(...place.ends())
    expect(await status()).toMatchObject({ turn: 'idle', turn_seq })
    expect(place.removed).toEqual([])
  })

  test('a late doorbell stays outstanding while the server does not answer', async () => {
    const { place, outstanding } = await handed()
    place.server.messages = () => Promise.reject(new OpencodeError(null, 'too slow'))
    await clock.advance(LIMITS.opencode_bell_lost_ms)
    expect(await status()).toMatchObject(outstanding)
  })

  test('a late doorbell stays outstanding if its prompt was not confirmed in time', async () => {
    const place = await attached()
    place.server.prompt = () => Promise.reject(new OpencodeError(null, 'too slow'))
    const bell = doorbell()
    expect(await surface.notify_surface(bell)).toMatchObject({ accepted: false })
    expect(await status()).toMatchObject({ outstanding_doorbell_id: bell.doorbell_id })
  })

  test('a rejected doorbell is not outstanding', async () => {
    const place = await attached()
    place.server.prompt = () => Promise.reject(new OpencodeError(400, 'refused'))
    await surface.notify_surface(doorbell())
    expect(await status()).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('a late doorbell is deleted before it counts as lost, and then the next one is rung', async () => {
    const { place } = await stored()
    await clock.advance(LIMITS.opencode_bell_lost_ms - 1)
    expect(place.removed).toEqual([])
    await clock.advance(LIMITS.opencode_begin_ms)
    expect(place.removed).toEqual(['msg_5'])
    expect(await status()).toMatchObject({ turn: 'idle' })
    expect(await status()).not.toHaveProperty('outstanding_doorbell_id')
    expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
  })

  test('a late doorbell is not deleted while its session is busy', async () => {
    const { place, outstanding } = await stored()
    place.busy = true
    await clock.advance(2 * LIMITS.opencode_bell_lost_ms)
    expect(place.removed).toEqual([])
    expect(await status()).toMatchObject(outstanding)
  })

  /** A turn without the doorbell runs for twice the limit, then ends. */
  async function otherTurn(place: ReturnType<typeof fakeOpencode>, begins: Event[]) {
    place.busy = true
    tell(...begins)
    await clock.advance(2 * LIMITS.opencode_bell_lost_ms)
    place.busy = false
    tell(...place.ends())
  }

  test('a late doorbell without a stored prompt is outstanding for the limit after a long turn', async () => {
    const { place, outstanding } = await handed()
    await otherTurn(place, [place.message('msg_7'), place.says('busy'), place.answer('msg_7')])
    expect(await status()).toMatchObject({ ...outstanding, turn: 'idle' })
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    await clock.advance(LIMITS.opencode_bell_lost_ms - 1)
    expect(await status()).toMatchObject(outstanding)
    expect(place.prompts).toHaveLength(1)
    await clock.advance(1)
    expect(await status()).not.toHaveProperty('outstanding_doorbell_id')
    expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
  })

  test('a late doorbell is outstanding for the limit after a long turn that only queries show', async () => {
    const { place, outstanding } = await handed()
    place.busy = true
    expect(await status()).toMatchObject(outstanding)
    await clock.advance(2 * LIMITS.opencode_bell_lost_ms)
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'deferred' })
    place.busy = false
    expect(await status()).toMatchObject(outstanding)
    await clock.advance(LIMITS.opencode_bell_lost_ms - 1)
    expect(await status()).toMatchObject(outstanding)
    await clock.advance(LIMITS.opencode_begin_ms)
    expect(await status()).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('a late doorbell is not deleted when a long turn ends before its own', async () => {
    const { place, bell, outstanding } = await stored()
    await otherTurn(place, [place.says('busy')])
    await clock.advance(LIMITS.opencode_bell_lost_ms - 1)
    expect(await status()).toMatchObject({ ...outstanding, turn: 'busy' })
    expect(place.removed).toEqual([])
    tell(place.says('busy'), place.answer('msg_5'))
    expect(host.reports.at(-1)).toMatchObject({ seen_doorbell_id: bell.doorbell_id })
  })

  test('a late doorbell is deleted when the session was idle for the limit after a long turn', async () => {
    const { place } = await stored()
    await otherTurn(place, [place.says('busy')])
    for (let waited_ms = 0; waited_ms <= LIMITS.opencode_bell_lost_ms; waited_ms += LIMITS.opencode_begin_ms)
      await clock.advance(LIMITS.opencode_begin_ms)
    expect(place.removed).toEqual(['msg_5'])
    expect(await status()).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('a late doorbell is outstanding for the limit after a time without answers', async () => {
    const { place, outstanding } = await handed()
    const real = { ...place.server }
    place.server.isBusy = () => Promise.reject(new OpencodeError(null, 'too slow'))
    await clock.advance(2 * LIMITS.opencode_bell_lost_ms)
    expect(await status()).toMatchObject(outstanding)
    place.server.isBusy = () => real.isBusy()
    expect(await status()).toMatchObject(outstanding)
    await clock.advance(LIMITS.opencode_bell_lost_ms)
    expect(await status()).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('a late doorbell counts as lost after the sum of idle times between short outages', async () => {
    const place = await attached()
    const bell = doorbell()
    await surface.notify_surface(bell)
    for (let idle_ms = 0; idle_ms < LIMITS.opencode_bell_lost_ms; idle_ms += 10_000) {
      expect(await status()).toMatchObject({ outstanding_doorbell_id: bell.doorbell_id })
      await clock.advance(10_000)
      await status()
      surface.disconnected()
      await clock.advance(5_000)
      await surface.connected(place.server, null)
    }
    expect(await status()).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('a late doorbell is outstanding for the limit after a lost connection', async () => {
    const { place, outstanding } = await stored()
    surface.disconnected()
    await clock.advance(2 * LIMITS.opencode_bell_lost_ms)
    await surface.connected(place.server, EARLIER)
    await clock.advance(LIMITS.opencode_bell_lost_ms - 1)
    expect(await status()).toMatchObject(outstanding)
    expect(place.removed).toEqual([])
  })

  test('a doorbell is outstanding after a lost connection before its prompt was stored', async () => {
    const { place, outstanding } = await handed()
    surface.disconnected()
    await surface.connected(place.server, EARLIER)
    expect(host.reports.at(-1)).toMatchObject(outstanding)
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
  })

  test('a doorbell without a stored prompt is lost with its server process', async () => {
    let instance_id = 'server-1'
    surface.close()
    surface = opencodeSurface({ ...deps(), instanceId: () => instance_id })
    surface.open(host)
    const { place } = await handed()
    surface.disconnected()
    instance_id = 'server-2'
    await surface.connected(place.server, EARLIER)
    expect(host.reports.at(-1)).not.toHaveProperty('outstanding_doorbell_id')
    expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
  })

  test('a doorbell is outstanding after a failed turn that began before its prompt was stored', async () => {
    const { place, outstanding } = await handed()
    tell(place.message('msg_7'), place.says('busy'), place.answer('msg_7'))
    tell(...place.breaks('ses_1', 'APIError'))
    expect(await status()).toMatchObject(outstanding)
  })

  describe('and whose stored prompt cannot be deleted', () => {
    const CANNOT_DELETE: Record<string, { removeMessage: OpencodeServer['removeMessage'] }> = {
      'the client has no call for it': { removeMessage: undefined },
      'the server rejects it': { removeMessage: () => Promise.reject(new OpencodeError(400, 'refused')) },
    }
    const STUCK = 'doorbell started no turn and its prompt could not be deleted'

    test.each(Object.entries(CANNOT_DELETE))(
      'a stuck doorbell is reported with an unknown turn after the limit, because %s',
      async (_, without) => {
        const { place, outstanding } = await stored()
        Object.assign(place.server, without)
        await clock.advance(LIMITS.opencode_bell_lost_ms - 1)
        expect(host.reports.at(-1)).toMatchObject({ ...outstanding, turn: 'busy' })
        await clock.advance(LIMITS.opencode_begin_ms)
        expect(host.reports.at(-1)).toMatchObject({ ...outstanding, turn: 'unknown' })
        // The session exists, so the daemon reports `surface_failed`, not `no_client`.
        expect(host.reports.at(-1)).not.toHaveProperty('absent')
        await clock.advance(LIMITS.opencode_bell_lost_ms)
        expect(warned.filter((message) => message === STUCK)).toHaveLength(1)
        expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: false })
        expect(place.prompts).toHaveLength(1)
      },
    )

    test('a stuck doorbell is seen by the next turn, and the next doorbell is rung after it', async () => {
      const { place, bell } = await stored()
      Object.assign(place.server, { removeMessage: undefined })
      await clock.advance(LIMITS.opencode_bell_lost_ms + LIMITS.opencode_begin_ms)
      tell(place.message('msg_6'), place.says('busy'))
      expect(host.reports.at(-1)).toMatchObject({ turn: 'busy' })
      tell(place.answer('msg_6'), ...place.ends())
      expect(host.reports.at(-1)).toMatchObject({ seen_doorbell_id: bell.doorbell_id, turn: 'idle' })
      expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
    })
  })

  test('a late doorbell is seen by the turn of a later prompt, which shows the model both', async () => {
    const { place, bell } = await stored()
    tell(place.message('msg_6'), place.says('busy'), place.answer('msg_6'))
    expect(host.reports.at(-1)).toMatchObject({ seen_doorbell_id: bell.doorbell_id })
  })

  test('a late doorbell is found by the shim of the next daemon', async () => {
    const { place, outstanding } = await stored()
    surface.close()
    surface = opencodeSurface(deps())
    surface.open(host)
    await surface.connected(place.server, EARLIER)
    expect(host.reports.at(-1)).toMatchObject(outstanding)
  })

  test('a late doorbell is still outstanding after a lost connection', async () => {
    const { place, outstanding } = await stored()
    surface.disconnected()
    await surface.connected(place.server, EARLIER)
    expect(host.reports.at(-1)).toMatchObject(outstanding)
  })
})
