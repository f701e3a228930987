import { beforeEach, describe, expect, test } from 'vitest'
import {
  opencodeSurface,
  type OpencodeSurface,
  type OpencodeSurfaceDeps,
} from '../../../adapters/opencode/opencode-surface.ts'
import type { Event, Session } from '../../../adapters/opencode/protocol.ts'
import { OpencodeError, type OpencodeServer, type Place } from '../../../adapters/opencode/server.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { doorbell } from '../../support/doorbells.ts'
import { atRest, fakeClock, type FakeClock } from '../../support/fake-clock.ts'
import { fakeOpencode, session } from '../../support/fake-opencode.ts'
import { recordingHost } from '../../suites/surface.suite.ts'

let clock: FakeClock
let surface: OpencodeSurface
let host: ReturnType<typeof recordingHost>
let kept: (Place | null)[]
let keep: (place: Place | null) => void
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
  ...{ identity: 'ada', clock, keep: (place) => keep(place) },
  log: { ...silentLog, warn: (_fields, message) => void warned.push(message) },
})

const tell = (...events: Event[]) => events.forEach((event) => surface.told(event))
const status = () => surface.status()
const EARLIER = { id: 'ses_1', directory: '/project' }

async function attached(earlier: Place | null = EARLIER, sessions?: Session[]) {
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

/** A message came, its turn did not, and the server is being asked about it. */
async function inDoubt() {
  const place = await attached()
  tell(place.message('msg_1'))
  const asked = lateAnswer(place)
  await clock.advance(LIMITS.opencode_begin_ms)
  return { place, asked }
}

/** Is being asked whether a turn runs in the session that it goes on with. */
async function connecting(place: ReturnType<typeof fakeOpencode>) {
  const asked = lateAnswer(place)
  const connected = surface.connected(place.server, EARLIER)
  await atRest()
  return { asked, connected }
}

/** Whether a turn runs is answered when the test says so, from now on until it has said so once. */
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

describe('the session that is rung', () => {
  test('is none while nobody has begun one, and then the first', async () => {
    const place = await attached(null)
    expect(await status()).toMatchObject({ session_id: null, turn: 'unknown' })
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'unavailable' })
    tell(place.created(session('ses_1')))
    expect(await status()).toMatchObject({ session_id: 'ses_1', turn: 'busy' })
    expect(kept).toEqual([EARLIER])
  })

  test('is not rung before the turn of the prompt that began it is over', async () => {
    const place = await attached(null)
    tell(place.created(session('ses_1')))
    const { turn_seq } = await status()
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    tell(...place.begins())
    expect(await status()).toMatchObject({ turn: 'busy', turn_seq })
    tell(...place.ends())
    expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
  })

  test('is not taken for idle by a question that was asked for another reason', async () => {
    const place = await attached(null)
    tell(place.created(session('ses_1')))
    await surface.resume_surface()
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_1', turn: 'busy' })
    tell(place.message('msg_1'))
    await surface.resume_surface()
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_1', turn: 'busy' })
  })

  test('is rung after a while where nobody says anything in it', async () => {
    const place = await attached(null)
    tell(place.created(session('ses_1')))
    await clock.advance(LIMITS.opencode_first_prompt_ms - 1)
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_1', turn: 'busy' })
    await clock.advance(1)
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_1', turn: 'idle' })
  })

  test('is the one of an earlier shim, with the turn that runs in it', async () => {
    await attachedBusy()
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_1', turn: 'busy' })
  })

  test('is none where that one is gone', async () => {
    await attached(EARLIER, [])
    expect(await status()).toMatchObject({ session_id: null, turn: 'unknown' })
  })

  test("is never a subagent's", async () => {
    const place = await attached()
    const child = session('ses_2', { parentID: 'ses_1' })
    tell(place.created(child), place.message('msg_9', 'ses_2'), place.updated(child))
    expect(await status()).toMatchObject({ session_id: 'ses_1', turn: 'idle' })
  })

  test('changes with a new one, and a turn of the former moves nothing', async () => {
    const place = await attached()
    tell(place.created(session('ses_2')))
    const { turn_seq } = await status()
    tell(...place.begins('ses_1'))
    expect(await status()).toMatchObject({ session_id: 'ses_2', turn: 'busy', turn_seq })
    tell(...place.ends('ses_1'))
    expect(await status()).toMatchObject({ session_id: 'ses_2', turn: 'busy' })
  })

  test('changes to an older one in which the person writes', async () => {
    const place = await attached()
    tell(place.message('msg_9', 'ses_0'), place.updated(session('ses_0')), place.says('busy', 'ses_0'))
    expect(await status()).toMatchObject({ session_id: 'ses_0', turn: 'busy' })
    expect(kept.at(-1)).toMatchObject({ id: 'ses_0' })
  })

  test('is the one in which the person wrote before the connection was made', async () => {
    const place = fakeOpencode(clock)
    tell(place.message('msg_1'))
    await surface.connected(place.server, null)
    tell(place.updated(session('ses_1')))
    expect(await status()).toMatchObject({ session_id: 'ses_1', turn: 'busy' })
  })

  test('is asked and rung in the directory that it was last told to work in, which is kept', async () => {
    const place = await attached()
    const moved = { ...EARLIER, directory: '/moved' }
    tell(place.updated(session('ses_1', { directory: '/moved' })))
    expect(kept).toEqual([EARLIER, moved])
    const real = { ...place.server }
    const rung: Place[] = []
    place.server.prompt = async (at, prompt) => {
      rung.push(at)
      await real.prompt(at, prompt)
    }
    expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
    expect(rung).toEqual([moved])
    tell(place.updated(session('ses_1', { directory: '/moved', agent: 'plan' })))
    expect(kept).toHaveLength(2)
  })

  test('is kept while the server is away, and gone on with in the next', async () => {
    const place = await attached()
    surface.disconnected()
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_1', turn: 'unknown' })
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'unavailable' })
    await surface.connected(place.server, null)
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_1', turn: 'idle' })
  })
})

describe('a session that began while nothing was heard of the server', () => {
  test('is gone on with, because it was kept', async () => {
    const place = await attached(EARLIER, [session('ses_1'), session('ses_2')])
    surface.disconnected()
    await surface.connected(place.server, { id: 'ses_2', directory: '/project' })
    expect(await status()).toMatchObject({ session_id: 'ses_2', turn: 'idle' })
  })

  test('is bound by whoever joins in it, and what is known of it already stays', async () => {
    const place = await attached(null)
    place.sessions.push(session('ses_2'))
    await surface.joined({ id: 'ses_2', directory: '/project' })
    expect(await status()).toMatchObject({ session_id: 'ses_2', turn: 'idle' })
    tell(...place.begins('ses_2'))
    await surface.joined({ id: 'ses_2', directory: '/project' })
    expect(await status()).toMatchObject({ session_id: 'ses_2', turn: 'busy' })
  })

  test('is rung rather than one that was looked up before and answers later', async () => {
    const place = fakeOpencode(clock, [session('ses_1'), session('ses_2')])
    const real = { ...place.server }
    const late: (() => void)[] = []
    place.server.session = async (at) => {
      if (at.id === 'ses_1') await new Promise<void>((resolve) => late.push(resolve))
      return real.session(at)
    }
    const connecting = surface.connected(place.server, EARLIER)
    await surface.joined({ id: 'ses_2', directory: '/project' })
    late.forEach((answer) => answer())
    await connecting
    expect((await status()).session_id).toBe('ses_2')
    expect(kept.at(-1)).toMatchObject({ id: 'ses_2' })
  })

  test('takes nothing from the one that is rung where it is gone, and the bridge knows it again', async () => {
    await attached()
    kept = []
    await surface.joined({ id: 'ses_gone', directory: '/project' })
    expect(await status()).toMatchObject({ session_id: 'ses_1', turn: 'idle' })
    expect(kept).toEqual([EARLIER])
  })

  test('takes no doubt from the one that is rung where it is gone', async () => {
    const place = await attached()
    tell(...place.begins(), ...place.breaks())
    await surface.joined({ id: 'ses_gone', directory: '/project' })
    tell(...place.ends())
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'deferred' })
  })

  test('is bound though the one that was rung is deleted before it is looked up', async () => {
    const place = await attached()
    place.sessions.push(session('ses_2'))
    const asked = lateAnswer(place)
    const joined = surface.joined({ id: 'ses_2', directory: '/project' })
    tell({ type: 'session.deleted', properties: { sessionID: 'ses_1' } })
    await asked.says(false)
    await joined
    expect(await status()).toMatchObject({ session_id: 'ses_2', turn: 'idle' })
  })

  test('is the last of those that are joined, in whatever order they are answered', async () => {
    const place = await attached()
    place.sessions.push(session('ses_2'), session('ses_3'))
    const asked = lateAnswer(place)
    const former = surface.joined({ id: 'ses_2', directory: '/project' })
    await atRest()
    place.server.isBusy = async () => false
    await surface.joined({ id: 'ses_3', directory: '/project' })
    await asked.says(false)
    await former
    expect(kept.at(-1)).toMatchObject({ id: 'ses_3' })
  })

  test.each([
    { when: 'before', how: 'says' },
    { when: 'before', how: 'fails' },
    { when: 'after', how: 'fails' },
  ] as const)(
    'is left alone once the person is back in the other, $when the server $how',
    async ({ when, how }) => {
      const place = await attached()
      place.sessions.push(session('ses_2'))
      const asked = lateAnswer(place)
      const former = surface.joined({ id: 'ses_2', directory: '/project' })
      await atRest()
      if (when === 'before') await surface.joined(EARLIER)
      await (how === 'says' ? asked.says(false) : asked.fails())
      await former
      if (when === 'after') await surface.joined(EARLIER)
      await clock.advance(LIMITS.opencode_begin_ms)
      expect((await status()).session_id).toBe('ses_1')
    },
  )

  test('is not asked for again where another one began since', async () => {
    const place = await attached()
    place.sessions.push(session('ses_2'))
    const asked = lateAnswer(place)
    const former = surface.joined({ id: 'ses_2', directory: '/project' })
    await asked.fails()
    await former
    tell(place.created(session('ses_3')))
    await clock.advance(LIMITS.opencode_begin_ms)
    expect((await status()).session_id).toBe('ses_3')
  })

  test('is asked for again where the server did not answer', async () => {
    const place = await attached()
    place.sessions.push(session('ses_2'))
    const real = { ...place.server }
    place.server.session = () => Promise.reject(new OpencodeError(null, 'not answered'))
    await surface.joined({ id: 'ses_2', directory: '/project' })
    place.server.session = (at) => real.session(at)
    await clock.advance(LIMITS.opencode_begin_ms)
    expect((await status()).session_id).toBe('ses_2')
  })

  test('is left to the next connection while there is none', async () => {
    await surface.joined(EARLIER)
    expect(await status()).toMatchObject({ session_id: null, turn: 'unknown' })
  })
})

describe('before the server has said where a session stands', () => {
  test('nobody is there, though an event tells of the session', async () => {
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

  test('nobody is there where it does not say', async () => {
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

  test.each(['says', 'fails'] as const)('one that is gone and %s it late changes nothing', async (how) => {
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

  test('one that was joined in meanwhile counts, and where it is gone the other', async () => {
    const place = fakeOpencode(clock)
    tell(place.created(session('ses_1')))
    const { asked, connected } = await connecting(place)
    await surface.joined({ id: 'ses_gone', directory: '/project' })
    await asked.says(false)
    await connected
    await clock.advance(LIMITS.opencode_first_prompt_ms)
    expect(await status()).toMatchObject({ session_id: 'ses_1', turn: 'idle' })
  })

  test('one that is joined in counts, though its lookup fails and another begins meanwhile', async () => {
    const place = fakeOpencode(clock)
    const { asked, connected } = await connecting(place)
    await surface.joined({ id: 'ses_2', directory: '/project' })
    const real = { ...place.server }
    place.server.session = () => Promise.reject(new OpencodeError(null, 'not answered'))
    await asked.says(false)
    await connected
    place.server.session = (at) => real.session(at)
    tell(place.created(session('ses_3')))
    await clock.advance(LIMITS.opencode_first_prompt_ms)
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_3', turn: 'idle' })
  })

  test('one that is deleted while it is looked up is none', async () => {
    const place = await attached()
    surface.disconnected()
    const { asked, connected } = await connecting(place)
    tell({ type: 'session.deleted', properties: { sessionID: 'ses_1' } })
    await asked.says(false)
    await connected
    expect(await status()).toMatchObject({ session_id: null, turn: 'unknown' })
  })

  test('one that is joined in is not looked up by a former server', async () => {
    const gone = fakeOpencode(clock)
    const former = await connecting(gone)
    surface.disconnected()
    const next = fakeOpencode(clock)
    const { asked, connected } = await connecting(next)
    await surface.joined({ id: 'ses_gone', directory: '/project' })
    await former.asked.says(false)
    await former.connected
    await asked.says(false)
    await connected
    expect(await status()).toMatchObject({ session_id: 'ses_1', turn: 'idle' })
  })

  test('one that begins counts, and not the other where one that is gone was joined', async () => {
    const place = fakeOpencode(clock)
    const { asked, connected } = await connecting(place)
    tell(place.created(session('ses_3')), place.message('msg_1', 'ses_3'))
    await surface.joined({ id: 'ses_gone', directory: '/project' })
    await asked.says(false)
    await connected
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_3', turn: 'busy' })
  })

  test('a turn that is aborted ends after the second word on it', async () => {
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

  test('a session that just began and was answered is idle', async () => {
    const place = fakeOpencode(clock, [session('ses_1', { time: { created: clock.now() } })])
    place.message('msg_1')
    place.answer('msg_1')
    await surface.connected(place.server, EARLIER)
    expect(await status()).toMatchObject({ session_id: 'ses_1', turn: 'idle' })
  })

  test('nobody is there any more once that server is gone', async () => {
    const place = await attached()
    surface.disconnected()
    tell(...place.ends())
    expect(await status()).toMatchObject({ turn: 'unknown', absent: true })
  })
})

describe('a turn', () => {
  test('that ends behind a message that nobody answered may be followed by its own', async () => {
    const place = await attached()
    tell(...place.begins(), place.message('msg_9'), ...place.ends())
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    tell(place.says('busy'), place.answer('msg_9'), ...place.ends())
    expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
  })

  test('that is over moves nothing by an error that is told late', async () => {
    const place = await attached()
    tell(...place.begins(), ...place.ends(), ...place.breaks('ses_1', 'UnknownError'))
    expect((await status()).turn).toBe('idle')
  })

  test('that ends behind a message which came while nothing was heard may be followed by its own', async () => {
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

  test('may be about to begin where the server cannot show the newest message', async () => {
    const place = fakeOpencode(clock)
    place.server.messages = () => Promise.reject(new OpencodeError(500, 'it cannot be shown'))
    await surface.connected(place.server, EARLIER)
    expect(await status()).toMatchObject({ session_id: 'ses_1', turn: 'busy' })
    await clock.advance(LIMITS.opencode_begin_ms)
    expect(await status()).toMatchObject({ session_id: 'ses_1', turn: 'idle' })
  })

  test('that is not asked for any more once the surface is closed', async () => {
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

  test('in doubt is not ended by the answer of a former server', async () => {
    const { asked } = await inDoubt()
    surface.disconnected()
    await attachedBusy()
    await asked.says(false)
    expect((await status()).turn).toBe('busy')
  })

  test('of a message that came while nothing was heard of the server may be about to begin', async () => {
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

  test('of an older message was over before, however often the connection is made anew', async () => {
    const place = await attached()
    tell(place.message('msg_1'))
    for (let flaps = 0; flaps < 3; flaps += 1) {
      surface.disconnected()
      await clock.advance(LIMITS.opencode_begin_ms / 2)
      await surface.connected(place.server, null)
    }
    expect(host.reports.at(-1)).toMatchObject({ turn: 'idle' })
  })

  test('whose message was answered while nothing was heard of the server is over', async () => {
    const place = await attached()
    surface.disconnected()
    place.message('msg_1')
    place.answer('msg_1')
    await surface.connected(place.server, null)
    expect(host.reports.at(-1)).toMatchObject({ turn: 'idle' })
  })

  test('that somebody began by writing in another session is known once the server tells of that one', async () => {
    const place = await attached()
    place.sessions.push(session('ses_2'))
    tell(place.message('msg_9', 'ses_2'))
    surface.disconnected()
    await surface.connected(place.server, EARLIER)
    expect(await status()).toMatchObject({ session_id: 'ses_1' })
    tell(place.updated(session('ses_2')))
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_2', turn: 'busy' })
  })

  test('in doubt for longer than the server takes to say where it stands is asked for then', async () => {
    const place = await attached()
    surface.disconnected()
    const { asked, connected } = await connecting(place)
    tell(place.created(session('ses_2')))
    await clock.advance(LIMITS.opencode_first_prompt_ms)
    await asked.says(false)
    await connected
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_2', turn: 'idle' })
  })

  test('that was over before the answer that it runs came is over', async () => {
    const { place, asked } = await inDoubt()
    tell(place.answer('msg_1'), ...place.ends())
    await asked.says(true)
    expect((await status()).turn).toBe('busy')
    await clock.advance(LIMITS.opencode_begin_ms)
    expect((await status()).turn).toBe('idle')
  })

  test('is believed to run as long as the server says so', async () => {
    const place = await attachedBusy()
    for (let waits = 0; waits < 3; waits += 1) await clock.advance(LIMITS.opencode_begin_ms)
    expect((await status()).turn).toBe('busy')
    place.busy = false
    await clock.advance(LIMITS.opencode_begin_ms)
    expect((await status()).turn).toBe('idle')
  })

  test('that began after the server was asked is not over by its answer', async () => {
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
    'that begins is not over by a new connection ($what, away meanwhile: $away)',
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

  test('that began before its server was away is over once the server says so', async () => {
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

  test('that is the next one is not over by an answer about the former', async () => {
    const { place, asked } = await inDoubt()
    tell(place.says('busy'), ...place.ends(), place.message('msg_2'))
    await asked.says(false)
    expect((await status()).turn).toBe('busy')
  })

  test('that ran at the beginning of a connection and ended unheard is over all the same', async () => {
    const place = await attachedBusy()
    expect((await status()).turn).toBe('busy')
    place.busy = false
    await clock.advance(LIMITS.opencode_begin_ms)
    expect((await status()).turn).toBe('idle')
  })

  test('that ran at the beginning of a connection is over at once when that is heard', async () => {
    const place = await attachedBusy()
    tell(...place.ends())
    expect((await status()).turn).toBe('idle')
  })

  test('that ran at the beginning of a connection is asked for until the server answers', async () => {
    const place = await attachedBusy()
    place.busy = false
    const asked = lateAnswer(place)
    await clock.advance(LIMITS.opencode_begin_ms)
    await asked.fails()
    expect((await status()).turn).toBe('busy')
    await clock.advance(LIMITS.opencode_begin_ms)
    expect((await status()).turn).toBe('idle')
  })

  test('of a message that came while the server was asked is asked for again', async () => {
    const { place, asked } = await inDoubt()
    tell(place.message('msg_2'))
    await asked.says(false)
    expect((await status()).turn).toBe('busy')
    await clock.advance(LIMITS.opencode_begin_ms)
    expect((await status()).turn).toBe('idle')
  })

  test('of a message in a session that is looked up has begun', async () => {
    const place = fakeOpencode(clock)
    const { asked, connected } = await connecting(place)
    tell(place.message('msg_1'))
    await asked.says(false)
    await connected
    expect(await status()).toMatchObject({ session_id: 'ses_1', turn: 'busy' })
  })

  test('begins with the message, before the server says busy', async () => {
    const place = await attached()
    const { turn_seq } = await status()
    tell(place.message('msg_1'))
    expect(await status()).toMatchObject({ turn: 'busy', turn_seq: turn_seq + 1 })
    tell(place.says('busy'))
    expect((await status()).turn_seq).toBe(turn_seq + 1)
  })

  test('that never came of a message is over when the server says so', async () => {
    const place = await attached()
    tell(place.message('msg_1'))
    await clock.advance(LIMITS.opencode_begin_ms)
    expect((await status()).turn).toBe('idle')
  })

  test('is not begun by an older message that is told of again', async () => {
    const place = await attached()
    tell(...place.begins(), ...place.ends())
    const { turn_seq } = await status()
    tell(place.message('msg_0001', 'ses_1', { summary: { diffs: [] } }))
    expect(await status()).toMatchObject({ turn: 'idle', turn_seq })
  })

  test.each(['MessageAbortedError', 'APIError'])(
    'that broke by %s ends once, after the second word on it',
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

  test('that waits for its model again, or for a permission, is a running one', async () => {
    const place = await attached()
    tell(...place.begins(), place.says('retry'))
    expect((await status()).turn).toBe('busy')
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'deferred' })
  })

  test('of which no event told yet is noticed before a bell is lost in it', async () => {
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
  test('bears the name of its persona and its id, and its receipt is the answer to it', async () => {
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

  test("of another persona's is none of ours", async () => {
    const place = await attached()
    tell(place.message('msg_1'), place.part('msg_1', { turnbell: 'bob:x' }), place.answer('msg_1'))
    expect(await status()).not.toHaveProperty('seen_doorbell_id')
  })

  test.each(['', 'x', '01ARZ3NDEKTSV4RRFFQ69G5FA', '01ARZ3NDEKTSV4RRFFQ69G5FAVX'])(
    'that bears %j for an id was never rung, and has no receipt',
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

  test('is rung with the agent and the model that the person chose', async () => {
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

  describe('to an agent that opencode does not know any more', () => {
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

    test('is lost, and rung without it from then on', async () => {
      const place = await missed()
      tell(place.updated(session('ses_1', { agent: 'gone' })))
      expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
      expect(place.prompts.map((prompt) => prompt.agent)).toEqual(['gone', undefined])
      expect(warned).toEqual(['the agent of the session is gone, so it is rung without'])
    })

    test('is rung with another one that the person takes, or with that one once it answers again', async () => {
      const place = await missed()
      for (const agent of ['plan', 'gone']) {
        const id = `msg_9${agent === 'gone' ? 2 : 1}`
        tell(place.message(id, 'ses_1', { agent }), place.says('busy'), place.answer(id), ...place.ends())
        await surface.notify_surface(doorbell())
        expect(place.prompts.at(-1)).toMatchObject({ agent })
        tell(...place.begins(), ...place.ends())
      }
    })

    test('is no reason to leave out one that is there', async () => {
      const place = await missed('another')
      place.taken.splice(0)
      await surface.notify_surface(doorbell())
      expect(place.prompts.at(-1)).toMatchObject({ agent: 'gone' })
      expect(warned).toEqual([])
    })
  })

  describe('where something was undone', () => {
    const undo = (place: ReturnType<typeof fakeOpencode>, revert: object | null) =>
      place.sessions.splice(0, 1, session('ses_1', { revert }))

    test('waits until something new is said or it is taken back, because a prompt deletes it', async () => {
      const place = await attached()
      undo(place, { messageID: 'msg_1' })
      expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
      expect(place.prompts).toEqual([])
      undo(place, null)
      expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
    })

    test('waits for nobody where nobody is there to take it back', async () => {
      let is_there = true
      surface = opencodeSurface({ ...deps(), mayRedo: () => is_there })
      const place = await attached()
      undo(place, { messageID: 'msg_1' })
      expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'deferred' })
      is_there = false
      expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
    })
  })

  test('that finds its session gone is rung in the next, whichever is bound by then', async () => {
    const place = await attached()
    place.server.prompt = async () => {
      tell(place.created(session('ses_2')))
      throw new OpencodeError(404, 'gone')
    }
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'failed' })
    expect(await status()).toMatchObject({ session_id: 'ses_2', turn: 'busy' })
  })
})

describe('where what is rung cannot be written down', () => {
  beforeEach(() => {
    keep = () => {
      throw new Error('the disk is full')
    }
  })

  test('a session is told of, and rung, all the same', async () => {
    const place = await attached(null)
    tell(place.created(session('ses_1')))
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_1', turn: 'busy' })
    await clock.advance(LIMITS.opencode_first_prompt_ms)
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'ses_1', turn: 'idle' })
    expect(warned).toEqual(['which session is rung was not written down'])
  })

  test('one that was joined and is gone is not asked for again and again', async () => {
    const place = await attached()
    await surface.joined({ id: 'ses_gone', directory: '/project' })
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

  test('is reported without a window, is not rung, and is there again with the next window', async () => {
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
  /** The prompt was accepted. */
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

  test('is outstanding from the moment it is handed over, and is not rung a second time', async () => {
    const { place, outstanding } = await handed()
    expect(host.reports.at(-1)).toMatchObject(outstanding)
    expect(await status()).toMatchObject(outstanding)
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    expect(place.prompts).toHaveLength(1)
  })

  test('stays outstanding for 30 s while its prompt is stored, and its turn is not reported as ended', async () => {
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

  test('stays outstanding where the server does not answer whether it has the prompt', async () => {
    const { place, outstanding } = await handed()
    place.server.messages = () => Promise.reject(new OpencodeError(null, 'too slow'))
    await clock.advance(LIMITS.opencode_bell_lost_ms)
    expect(await status()).toMatchObject(outstanding)
  })

  test('stays outstanding where the server did not confirm in time that it has the prompt', async () => {
    const place = await attached()
    place.server.prompt = () => Promise.reject(new OpencodeError(null, 'too slow'))
    const bell = doorbell()
    expect(await surface.notify_surface(bell)).toMatchObject({ accepted: false })
    expect(await status()).toMatchObject({ outstanding_doorbell_id: bell.doorbell_id })
  })

  test('is gone at once where the server refused it', async () => {
    const place = await attached()
    place.server.prompt = () => Promise.reject(new OpencodeError(400, 'refused'))
    await surface.notify_surface(doorbell())
    expect(await status()).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('is deleted before it counts as lost, and then the next one is rung', async () => {
    const { place } = await stored()
    await clock.advance(LIMITS.opencode_bell_lost_ms - 1)
    expect(place.removed).toEqual([])
    await clock.advance(LIMITS.opencode_begin_ms)
    expect(place.removed).toEqual(['msg_5'])
    expect(await status()).toMatchObject({ turn: 'idle' })
    expect(await status()).not.toHaveProperty('outstanding_doorbell_id')
    expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
  })

  test('is not deleted while its session is busy', async () => {
    const { place, outstanding } = await stored()
    place.busy = true
    await clock.advance(2 * LIMITS.opencode_bell_lost_ms)
    expect(place.removed).toEqual([])
    expect(await status()).toMatchObject(outstanding)
  })

  /** A turn that does not contain the doorbell runs for twice the bound, then ends. */
  async function otherTurn(place: ReturnType<typeof fakeOpencode>, begins: Event[]) {
    place.busy = true
    tell(...begins)
    await clock.advance(2 * LIMITS.opencode_bell_lost_ms)
    place.busy = false
    tell(...place.ends())
  }

  test('is outstanding for the bound after a long turn where its prompt is not stored yet', async () => {
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

  test('is outstanding for the bound after a long turn that only the answers of the server show', async () => {
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

  test('is not deleted when a long turn ends after which its own begins', async () => {
    const { place, bell, outstanding } = await stored()
    await otherTurn(place, [place.says('busy')])
    await clock.advance(LIMITS.opencode_bell_lost_ms - 1)
    expect(await status()).toMatchObject({ ...outstanding, turn: 'busy' })
    expect(place.removed).toEqual([])
    tell(place.says('busy'), place.answer('msg_5'))
    expect(host.reports.at(-1)).toMatchObject({ seen_doorbell_id: bell.doorbell_id })
  })

  test('is deleted once the session was idle for the bound after a long turn', async () => {
    const { place } = await stored()
    await otherTurn(place, [place.says('busy')])
    for (let waited_ms = 0; waited_ms <= LIMITS.opencode_bell_lost_ms; waited_ms += LIMITS.opencode_begin_ms)
      await clock.advance(LIMITS.opencode_begin_ms)
    expect(place.removed).toEqual(['msg_5'])
    expect(await status()).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('is outstanding for the bound after a time without answers of the server', async () => {
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

  test('is lost by the sum of the idle times between many short outages', async () => {
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

  test('is outstanding for the bound after its server was away', async () => {
    const { place, outstanding } = await stored()
    surface.disconnected()
    await clock.advance(2 * LIMITS.opencode_bell_lost_ms)
    await surface.connected(place.server, EARLIER)
    await clock.advance(LIMITS.opencode_bell_lost_ms - 1)
    expect(await status()).toMatchObject(outstanding)
    expect(place.removed).toEqual([])
  })

  test('is outstanding after its connection broke before the server had stored its prompt', async () => {
    const { place, outstanding } = await handed()
    surface.disconnected()
    await surface.connected(place.server, EARLIER)
    expect(host.reports.at(-1)).toMatchObject(outstanding)
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
  })

  test('is gone with the process of its server if its prompt was not stored', async () => {
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

  test('is outstanding after the failure of a turn that began before its prompt was stored', async () => {
    const { place, outstanding } = await handed()
    tell(place.message('msg_7'), place.says('busy'), place.answer('msg_7'))
    tell(...place.breaks('ses_1', 'APIError'))
    expect(await status()).toMatchObject(outstanding)
  })

  describe('and whose stored prompt cannot be deleted', () => {
    const CANNOT_DELETE: Record<string, { removeMessage: OpencodeServer['removeMessage'] }> = {
      'the client offers no call for it': { removeMessage: undefined },
      'the server refuses it': { removeMessage: () => Promise.reject(new OpencodeError(400, 'refused')) },
    }
    const STUCK = 'the doorbell began no turn and its prompt cannot be deleted'

    test.each(Object.entries(CANNOT_DELETE))(
      'is reported with an unknown turn after the bound, because %s',
      async (_, without) => {
        const { place, outstanding } = await stored()
        Object.assign(place.server, without)
        await clock.advance(LIMITS.opencode_bell_lost_ms - 1)
        expect(host.reports.at(-1)).toMatchObject({ ...outstanding, turn: 'busy' })
        await clock.advance(LIMITS.opencode_begin_ms)
        expect(host.reports.at(-1)).toMatchObject({ ...outstanding, turn: 'unknown' })
        // The session is there, so the daemon reports `surface_failed`, not `no_client`.
        expect(host.reports.at(-1)).not.toHaveProperty('absent')
        await clock.advance(LIMITS.opencode_bell_lost_ms)
        expect(warned.filter((message) => message === STUCK)).toHaveLength(1)
        expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: false })
        expect(place.prompts).toHaveLength(1)
      },
    )

    test('is seen by the next turn, and the next doorbell is rung after it', async () => {
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

  test('is seen by the turn of a later prompt, which shows the model both', async () => {
    const { place, bell } = await stored()
    tell(place.message('msg_6'), place.says('busy'), place.answer('msg_6'))
    expect(host.reports.at(-1)).toMatchObject({ seen_doorbell_id: bell.doorbell_id })
  })

  test('is found by the shim of the next daemon', async () => {
    const { place, outstanding } = await stored()
    surface.close()
    surface = opencodeSurface(deps())
    surface.open(host)
    await surface.connected(place.server, EARLIER)
    expect(host.reports.at(-1)).toMatchObject(outstanding)
  })

  test('is still outstanding after the connection to its server broke', async () => {
    const { place, outstanding } = await stored()
    surface.disconnected()
    await surface.connected(place.server, EARLIER)
    expect(host.reports.at(-1)).toMatchObject(outstanding)
  })
})
