import { beforeEach, describe, expect, test } from 'vitest'
import { codexSurface, type CodexSurface } from '../../../adapters/codex/codex-surface.ts'
import { AppServerError } from '../../../adapters/codex/app-server.ts'
import type { Notification } from '../../../adapters/codex/protocol.ts'
import type { ThreadNews } from '../../../src/contracts/codex.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { doorbell } from '../../support/doorbells.ts'
import { fakeAppServer, thread } from '../../support/fake-app-server.ts'
import { atRest, fakeClock, type FakeClock } from '../../support/fake-clock.ts'
import { recordingHost } from '../../suites/surface.suite.ts'

let clock: FakeClock
let surface: CodexSurface
let host: ReturnType<typeof recordingHost>
beforeEach(() => {
  clock = fakeClock()
  host = recordingHost()
  surface = codexSurface({ identity: 'ada', clock, log: silentLog })
  surface.open(host)
})

const tell = (...notifications: Notification[]) =>
  notifications.forEach((notification) => surface.notified(notification))
const status = () => surface.status()

async function attached(...loaded: Parameters<typeof fakeAppServer>[1] & object) {
  const place = fakeAppServer(clock, loaded.length > 0 ? loaded : undefined)
  await surface.connected(place.server)
  await atRest()
  return place
}

describe('the thread that is rung', () => {
  test('is the newest a person works in: no helper, no subagent', async () => {
    await attached(
      thread('older', { updatedAt: 1 }),
      thread('newer', { updatedAt: 2 }),
      thread('title', { updatedAt: 3, ephemeral: true, threadSource: 'thread_title' }),
      thread('subagent', { updatedAt: 4, parentThreadId: 'newer' }),
    )
    expect(await status()).toMatchObject({ session_id: 'newer', turn: 'idle' })
  })

  test('is none while nobody has begun one, and then the first', async () => {
    const place = fakeAppServer(clock, [])
    await surface.connected(place.server)
    expect(await status()).toMatchObject({ session_id: null, turn: 'unknown' })
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'unavailable' })
    tell({ method: 'thread/started', params: { thread: thread('thread-1') } })
    await atRest()
    expect(await status()).toMatchObject({ session_id: 'thread-1', turn: 'idle' })
  })

  test('is none before its app-server can be rung, whatever is told meanwhile', async () => {
    tell({ method: 'thread/started', params: { thread: thread('thread-1') } })
    expect(await status()).toMatchObject({ session_id: null, turn: 'unknown' })
    expect(host.reports).toEqual([])
    await attached()
    expect(await status()).toMatchObject({ session_id: 'thread-1', turn: 'idle' })
  })

  test('changes with /new, and a turn of the former moves nothing', async () => {
    const place = await attached()
    tell({ method: 'thread/started', params: { thread: thread('thread-2') } })
    await atRest()
    const { turn_seq } = await status()
    tell(...place.begins('thread-1'))
    expect(await status()).toMatchObject({ session_id: 'thread-2', turn: 'idle', turn_seq })
  })

  test('is not rung before its tools have started, nor by those of the thread before it', async () => {
    const place = await attached()
    place.tools = 'late'
    for (const id of ['thread-2', 'thread-3'])
      tell({ method: 'thread/started', params: { thread: thread(id) } })
    place.starting.get('thread-2')!()
    await atRest()
    expect(await status()).toMatchObject({ session_id: 'thread-3', turn: 'unknown' })
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    expect(place.shown).toEqual([])
    place.starting.get('thread-3')!()
    await atRest()
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'thread-3', turn: 'idle' })
    expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
  })

  test('is busy with what its user began before its tools had started', async () => {
    const place = await attached()
    place.tools = 'late'
    tell({ method: 'thread/started', params: { thread: thread('thread-2') } })
    tell(...place.begins('thread-2'))
    expect(await status()).toMatchObject({ turn: 'busy' })
    tell(...place.ends('completed', 'thread-2'))
    expect(await status()).toMatchObject({ turn: 'unknown' })
    place.starting.get('thread-2')!()
    await atRest()
    expect(await status()).toMatchObject({ turn: 'idle' })
  })

  test('is rung all the same where nothing is said of its tools', async () => {
    const place = fakeAppServer(clock)
    place.tools = 'never'
    await surface.connected(place.server)
    await clock.advance(LIMITS.codex_start_ms - 1)
    expect(await status()).toMatchObject({ session_id: 'thread-1', turn: 'unknown' })
    await clock.advance(1)
    expect(await status()).toMatchObject({ session_id: 'thread-1', turn: 'idle' })
  })

  test('is asked for its tools again by an app-server that had too much to do, for as long as one that starts', async () => {
    const place = fakeAppServer(clock)
    place.tools = 'overloaded'
    await surface.connected(place.server)
    await clock.advance(LIMITS.codex_seek_again_ms)
    expect(await status()).toMatchObject({ turn: 'unknown' })
    place.tools = 'at once'
    await clock.advance(LIMITS.codex_seek_again_ms)
    expect(await status()).toMatchObject({ turn: 'idle' })

    place.tools = 'overloaded'
    tell({ method: 'thread/started', params: { thread: thread('thread-2') } })
    await clock.advance(LIMITS.codex_start_ms - 1)
    expect(await status()).toMatchObject({ session_id: 'thread-2', turn: 'unknown' })
    await clock.advance(LIMITS.codex_seek_again_ms)
    expect(await status()).toMatchObject({ session_id: 'thread-2', turn: 'idle' })
  })

  test('is not taken for ready by the answer to an earlier connection', async () => {
    const place = fakeAppServer(clock)
    place.tools = 'late'
    await surface.connected(place.server)
    await atRest()
    const before = place.starting.get('thread-1')!
    surface.disconnected()
    await surface.connected(place.server)
    await atRest()
    before()
    await atRest()
    expect(await status()).toMatchObject({ session_id: 'thread-1', turn: 'unknown' })
    place.starting.get('thread-1')!()
    await atRest()
    expect(await status()).toMatchObject({ turn: 'idle' })
  })

  test('has its tools once it drained, and a boundary where a turn ended before they were known', async () => {
    const place = fakeAppServer(clock)
    place.tools = 'late'
    await surface.connected(place.server)
    await atRest()
    tell(...place.begins(), ...place.ends())
    const { turn_seq } = await status()
    tell(place.drains())
    expect(await status()).toMatchObject({ turn: 'idle', turn_seq: turn_seq + 1 })
  })

  test('is looked for again where its app-server went away and came back while it looked', async () => {
    const place = fakeAppServer(clock, [thread('thread-1', { status: { type: 'active' } })])
    const real = { ...place.server }
    const looking = new Promise<() => void>((begun) => {
      let first = true
      place.server.call = async (method, params, answer) => {
        const answered = await real.call(method, params, answer)
        if (method === 'thread/read' && first) {
          first = false
          await new Promise<void>((goOn) => begun(goOn))
        }
        return answered
      }
    })
    const connected = surface.connected(place.server)
    const goOn = await looking
    surface.disconnected()
    place.loaded[0] = thread('thread-1')
    goOn()
    await Promise.all([connected, surface.connected(place.server)])
    await atRest()
    expect(await status()).toMatchObject({ session_id: 'thread-1', turn: 'idle' })
  })

  test('is none that was closed while it was looked for', async () => {
    const place = fakeAppServer(clock)
    const real = { ...place.server }
    place.server.call = async (method, params, answer) => {
      const answered = await real.call(method, params, answer)
      if (method === 'thread/read') {
        place.loaded.splice(0)
        tell({ method: 'thread/closed', params: { threadId: 'thread-1' } })
      }
      return answered
    }
    await surface.connected(place.server)
    await atRest()
    expect(await status()).toMatchObject({ session_id: null, turn: 'unknown' })
  })

  test('is bound anew when the daemon says so, whatever was told of it', async () => {
    const place = await attached()
    tell(...place.begins())
    await surface.resume_surface()
    await atRest()
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'thread-1', turn: 'idle' })
  })

  test('is subscribed to with its first turn where it could not be before', async () => {
    const place = fakeAppServer(clock)
    place.resumable = false
    await surface.connected(place.server)
    await atRest()
    expect(await status()).toMatchObject({ session_id: 'thread-1', turn: 'idle' })
    place.resumable = true
    const before = place.calls.filter((method) => method === 'thread/resume').length
    tell(...place.begins())
    await atRest()
    tell(...place.ends())
    tell(...place.begins())
    expect(place.calls.filter((method) => method === 'thread/resume')).toHaveLength(before + 1)
  })

  test.each([
    ['list', 'thread/loaded/list', 2],
    ['thread', 'thread/read', 2],
  ])('is looked for again where the app-server did not show its %s', async (_what, method, times) => {
    const place = fakeAppServer(clock)
    const real = { ...place.server }
    let failed = 0
    place.server.call = async (asked, params, answer) => {
      if (asked !== method || failed === times) return real.call(asked, params, answer)
      failed += 1
      throw new AppServerError(null, `${method} was not answered`)
    }
    await surface.connected(place.server)
    await atRest()
    expect((await status()).session_id).toBeNull()
    await clock.advance(times * LIMITS.codex_seek_again_ms)
    expect(await status()).toMatchObject({ session_id: 'thread-1', turn: 'idle' })
  })

  test('is found beside one that cannot be read', async () => {
    const place = fakeAppServer(clock, [thread('thread-1'), thread('strange')])
    const real = { ...place.server }
    place.server.call = async (method, params, answer) => {
      if ((params as { threadId?: string }).threadId === 'strange')
        throw new AppServerError(null, 'another form')
      return real.call(method, params, answer)
    }
    await surface.connected(place.server)
    expect((await status()).session_id).toBe('thread-1')
  })

  test('is looked for again where the app-server was too busy to show it', async () => {
    const place = fakeAppServer(clock)
    const real = { ...place.server }
    let refused = 0
    place.server.call = async (method, params, answer) => {
      if (method === 'thread/read' && (refused += 1) === 1) throw new AppServerError(-32_001, 'overloaded')
      return real.call(method, params, answer)
    }
    await surface.connected(place.server)
    expect((await status()).session_id).toBeNull()
    await clock.advance(LIMITS.codex_seek_again_ms)
    expect((await status()).session_id).toBe('thread-1')
  })

  test('is found beside one that ends while it is looked for', async () => {
    const place = fakeAppServer(clock)
    const real = { ...place.server }
    place.server.call = async (method, params, answer) =>
      method === 'thread/loaded/list'
        ? answer.parse({ data: ['ended', 'thread-1'] })
        : real.call(method, params, answer)
    await surface.connected(place.server)
    expect((await status()).session_id).toBe('thread-1')
  })

  test('keeps the bell where a drain failed', async () => {
    const place = await attached()
    place.paused = true
    await surface.notify_surface(doorbell())
    const item = { type: 'mcpToolCall', tool: 'signals_pending', status: 'failed' }
    tell({ method: 'item/completed', params: { threadId: 'thread-1', item } })
    await atRest()
    expect(place.queue).toHaveLength(1)
    tell(place.drains())
    await atRest()
    expect(place.queue).toEqual([])
  })

  test.each([
    ['signals', { action: 'pending' }, true],
    ['tool_invoke', { name: 'signals_pending' }, true],
    ['prism_signals_pending', {}, true],
    ['signals', { action: 'inbox' }, false],
    ['signals_pending', { peek: true }, false],
  ])('takes the bell back after %s %j only if that took what waited', async (tool, args, takes) => {
    const place = await attached()
    place.paused = true
    await surface.notify_surface(doorbell())
    const item = { type: 'mcpToolCall', tool, arguments: args, status: 'completed' }
    tell({ method: 'item/completed', params: { threadId: 'thread-1', item } })
    await atRest()
    expect(place.queue).toHaveLength(takes ? 0 : 1)
  })

  test('leaves no bell behind for whoever opens it again', async () => {
    const place = await attached()
    place.paused = true
    await surface.notify_surface(doorbell())
    expect(place.queue).toHaveLength(1)
    tell({ method: 'thread/closed', params: { threadId: 'thread-1' } })
    await atRest()
    expect(place.queue).toEqual([])
  })

  test('takes no bell along that still stands in the former', async () => {
    const place = await attached()
    place.paused = true
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'sent' })
    expect(place.queue).toHaveLength(1)
    tell({ method: 'thread/started', params: { thread: thread('thread-2') } })
    await atRest()
    expect(place.queue).toEqual([])
  })

  test('is gone with the app-server, and found again in the next', async () => {
    const place = await attached()
    surface.disconnected()
    expect(host.reports.at(-1)).toMatchObject({ session_id: null, turn: 'unknown' })
    await surface.connected(place.server)
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'thread-1', turn: 'idle' })
  })
})

describe('a turn', () => {
  test('that was interrupted pauses the queue: nothing is put there until the next one has ended', async () => {
    const place = await attached()
    tell(...place.begins(), ...place.ends('interrupted'))
    expect((await status()).turn).toBe('idle')
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    expect(place.calls).not.toContain('thread/queue/add')
    tell(...place.begins(), ...place.ends())
    expect((await surface.notify_surface(doorbell())).accepted).toBe(true)
  })

  test('is not over with the status alone, which comes before the word on how it ended', async () => {
    const place = await attached()
    tell(...place.begins())
    const [idle, completed] = place.ends('interrupted') as [Notification, Notification]
    tell(idle)
    expect((await status()).turn).toBe('busy')
    tell(completed)
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'deferred' })
  })

  test('is over with the status where no word follows', async () => {
    const place = await attached()
    tell(...place.begins(), place.ends()[0] as Notification)
    await clock.advance(LIMITS.codex_settle_ms)
    expect((await status()).turn).toBe('idle')
  })

  test('that waits for an approval is a running one', async () => {
    await attached()
    const waiting = { type: 'active', activeFlags: ['waitingOnApproval'] }
    tell({ method: 'thread/status/changed', params: { threadId: 'thread-1', status: waiting } })
    expect((await status()).turn).toBe('busy')
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'deferred' })
  })
})

describe('a bell', () => {
  test('begins a turn in a Codex that has no queue, and only while its thread is idle', async () => {
    const place = await attached()
    place.mode = 'too old'
    const asked = () => place.calls.filter((method) => method === 'thread/queue/list').length
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: true, proof: 'sent' })
    expect(place.calls.filter((method) => method === 'turn/start')).toHaveLength(1)
    const asked_before = asked()
    tell(...place.begins())
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    tell(...place.ends())
    await surface.notify_surface(doorbell())
    // Asked for once: the app-server does not change while it runs.
    expect(asked()).toBe(asked_before)
    expect(place.shown).toHaveLength(2)
  })

  test('that a person interrupted before its turn came is taken back, and rung again once', async () => {
    const place = await attached()
    place.paused = true
    await surface.notify_surface(doorbell())
    expect(place.queue).toHaveLength(1)
    tell(...place.begins(), ...place.ends('interrupted'))
    await atRest()
    expect(place.queue).toEqual([])
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'deferred' })
    tell(...place.begins(), ...place.ends())
    expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
    expect(place.shown).toHaveLength(1)
  })

  describe('in a thread that the daemon keeps', () => {
    let joined: boolean
    let leave: () => void
    beforeEach(() => {
      joined = true
      const left = new Promise<void>((resolve) => {
        leave = () => {
          joined = false
          resolve()
        }
      })
      const persons = { isJoined: () => joined, untilAlone: () => left }
      surface = codexSurface({ identity: 'ada', clock, log: silentLog, persons })
      surface.open(host)
    })
    const started = ({ calls }: { calls: string[] }) =>
      calls.filter((method) => method === 'thread/queue/start').length

    test('is taken after an interrupt once nobody is there who could have a next turn', async () => {
      const place = await attached()
      tell(...place.begins(), ...place.ends('interrupted'))
      expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'deferred' })
      const before = await status()
      leave()
      await atRest()
      // The daemon hears of a boundary, and rings; to the hub no turn has passed that would confirm a drain.
      expect(host.reports.at(-1)).toMatchObject({ turn: 'idle', turn_seq: before.turn_seq + 2 })
      expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
      expect(place.shown).toHaveLength(1)
      tell(...place.begins(), ...place.ends())
      await surface.notify_surface(doorbell())
      // The queue goes on by itself from there.
      expect(started(place)).toBe(1)
      expect(place.shown).toHaveLength(2)
    })

    test('is taken at the second try where the connection was lost during a pause', async () => {
      const place = await attached()
      tell(...place.begins(), ...place.ends('interrupted'))
      surface.disconnected()
      leave()
      await surface.connected(place.server)
      await atRest()
      await surface.notify_surface(doorbell())
      expect(place.shown).toEqual([])
      await surface.notify_surface(doorbell())
      expect(place.shown).toHaveLength(1)
      expect(place.queue).toEqual([])
    })

    test('leaves alone what a person paused in a thread of their own', async () => {
      const place = fakeAppServer(clock)
      await surface.connected(place.server, 'shared')
      await surface.told([{ event: 'UserPromptSubmit', thread_id: 'thread-1' } as ThreadNews])
      const told = (...notifications: Notification[]) =>
        notifications.forEach((notification) => surface.notified(notification, 'shared'))
      told(...place.begins(), ...place.ends('interrupted'))
      leave()
      await atRest()
      expect(await status()).toMatchObject({ session_id: 'thread-1', turn: 'idle' })
      expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'deferred' })
      expect(started(place)).toBe(0)
    })
  })

  test('that is asked for while another is on its way waits for it', async () => {
    const place = await attached()
    place.mode = 'delays'
    const ringing = [surface.notify_surface(doorbell()), surface.notify_surface(doorbell())]
    await clock.advance(1_500)
    tell(...place.begins())
    await clock.advance(1_500)
    expect(await Promise.all(ringing)).toMatchObject([{ proof: 'sent' }, { proof: 'deferred' }])
    expect(place.shown).toHaveLength(1)
  })

  test('that reaches the queue after its person began another thread is taken back', async () => {
    const place = await attached()
    place.paused = true
    place.mode = 'delays'
    const ringing = surface.notify_surface(doorbell())
    await atRest()
    tell({ method: 'thread/started', params: { thread: thread('thread-2') } })
    await clock.advance(1_500)
    expect(await ringing).toEqual({ accepted: false, proof: 'deferred' })
    expect(place.queue).toEqual([])
  })

  test('is known also after the connection was lost: taken back by a drain, and its receipt read', async () => {
    const place = await attached()
    place.paused = true
    await surface.notify_surface(doorbell())
    surface.disconnected()
    await surface.connected(place.server)
    await atRest()
    tell(place.drains())
    await atRest()
    expect(place.queue).toEqual([])

    place.paused = false
    const bell = doorbell()
    await surface.notify_surface(bell)
    surface.disconnected()
    place.begins()
    place.ends()
    await surface.connected(place.server)
    await atRest()
    expect((await status()).seen_doorbell_id).toBe(bell.doorbell_id)
  })

  test.each(['x', '', '01JZ'])('is none that another client named as one: %j', async (rest) => {
    const place = await attached()
    tell(...place.begins())
    const item = { type: 'userMessage', clientId: `turnbell:ada:${rest}` }
    tell({ method: 'item/started', params: { threadId: 'thread-1', item } })
    expect((await status()).seen_doorbell_id).toBeUndefined()
  })

  test('that reaches the queue after the interrupt is taken back at once', async () => {
    const place = await attached()
    place.paused = true
    place.mode = 'delays'
    const ringing = surface.notify_surface(doorbell())
    await atRest()
    tell(...place.begins(), ...place.ends('interrupted'))
    await clock.advance(1_500)
    expect(await ringing).toEqual({ accepted: false, proof: 'deferred' })
    expect(place.queue).toEqual([])
  })

  test('has its receipt in the first turn of a thread, which could not be followed until then', async () => {
    const place = fakeAppServer(clock)
    place.resumable = false
    await surface.connected(place.server)
    await atRest()
    const bell = doorbell()
    await surface.notify_surface(bell)
    // Of what is said nothing is heard; only the status is told to all.
    const [active] = place.begins() as [Notification]
    tell(active)
    await atRest()
    place.resumable = true
    tell(place.ends()[0] as Notification)
    await atRest()
    expect((await status()).seen_doorbell_id).toBe(bell.doorbell_id)
  })

  test('of an earlier shim that still stands in the queue is replaced, what others queued is left', async () => {
    const place = await attached()
    place.queue = [
      { id: 'old', clientUserMessageId: 'turnbell:ada:01JZ0000000000000000000000', text: 'old' },
      { id: 'theirs', clientUserMessageId: 'turnbell:bob:01JZ0000000000000000000000', text: 'theirs' },
      { id: 'human', clientUserMessageId: 'x', text: 'human' },
    ]
    await surface.notify_surface(doorbell())
    expect(place.queue.map(({ id }) => id)).toEqual(['theirs', 'human'])
  })

  test('is taken out of the queue when the agent drained before its turn came', async () => {
    const place = await attached()
    place.paused = true
    await surface.notify_surface(doorbell())
    expect(place.queue).toHaveLength(1)
    tell(...place.begins(), place.drains())
    await atRest()
    expect(place.queue).toEqual([])
  })

  test('bears the name of its persona and its id, and its receipt is told', async () => {
    const place = await attached()
    const bell = doorbell()
    await surface.notify_surface(bell)
    expect(place.taken).toMatchObject([{ clientUserMessageId: `turnbell:ada:${bell.doorbell_id}` }])
    tell(...place.begins())
    expect(host.reports.at(-1)).toMatchObject({ turn: 'busy', seen_doorbell_id: bell.doorbell_id })
  })
})

describe('a thread whose window is closed', () => {
  let windows: Partial<Record<'own' | 'shared', boolean>>
  beforeEach(() => {
    windows = { own: true }
    surface = codexSurface({
      identity: 'ada',
      clock,
      log: silentLog,
      hasWindow: (at) => windows[at] === true,
    })
    surface.open(host)
  })

  /** The echo of the shim's own subscription, which the app-server sends to every client. */
  const reopened = (threadId = 'thread-1'): Notification => ({
    method: 'thread/goal/cleared',
    params: { threadId },
  })

  test('is reported without a window, and is not rung', async () => {
    const place = await attached()
    windows.own = false
    await clock.advance(LIMITS.codex_alive_look_ms)
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'thread-1', turn: 'idle', window: false })
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'unavailable' })
    expect(place.queue).toEqual([])
  })

  test('is not rung in the moment after the window was closed', async () => {
    const place = await attached()
    windows.own = false
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'unavailable' })
    expect([place.queue, place.taken]).toEqual([[], []])
  })

  test('is there again once a window opens it, and not for the shim that opened it before', async () => {
    await attached()
    tell(reopened())
    windows.own = false
    await clock.advance(LIMITS.codex_alive_look_ms)
    windows.own = true
    await clock.advance(LIMITS.codex_alive_look_ms)
    // The window may show another thread.
    expect(await status()).toMatchObject({ window: false })
    tell(reopened())
    expect(await status()).toMatchObject({ session_id: 'thread-1', turn: 'idle' })
    expect(host.reports.at(-1)).not.toHaveProperty('window')
  })

  test('is there again once its window begins a turn', async () => {
    const place = await attached()
    windows.own = false
    await clock.advance(LIMITS.codex_alive_look_ms)
    windows.own = true
    tell(...place.begins(), ...place.ends())
    expect(await status()).not.toHaveProperty('window')
  })

  test('is left for the thread that a new window begins, or opens', async () => {
    await attached(thread('thread-1'), thread('thread-0', { updatedAt: 1 }))
    windows.own = false
    await clock.advance(LIMITS.codex_alive_look_ms)
    windows.own = true
    tell({ method: 'thread/started', params: { thread: thread('thread-2') } })
    await atRest()
    expect(await status()).toMatchObject({ session_id: 'thread-2', turn: 'idle' })
    tell(reopened('thread-0'))
    await atRest()
    expect(await status()).toMatchObject({ session_id: 'thread-0', turn: 'idle' })
    expect(await status()).not.toHaveProperty('window')
  })

  test('has no window for a shim that begins after the window was closed', async () => {
    windows.own = false
    await attached()
    expect(await status()).toMatchObject({ session_id: 'thread-1', window: false })
  })
})

describe('a doorbell whose turn begins late', () => {
  /** Codex has taken it from the queue and has not begun its turn. */
  async function taken() {
    const place = await attached()
    const bell = doorbell()
    expect(await surface.notify_surface(bell)).toEqual({ accepted: true, proof: 'sent' })
    expect(place.queue).toEqual([])
    return { place, bell, outstanding: { outstanding_doorbell_id: bell.doorbell_id } }
  }

  test('is outstanding for 30 s, and no other one is put into the queue', async () => {
    const { place, bell, outstanding } = await taken()
    expect(host.reports.at(-1)).toMatchObject(outstanding)
    for (let waited_ms = 0; waited_ms < 30_000; waited_ms += 5_000) {
      await clock.advance(5_000)
      expect(await status()).toMatchObject({ ...outstanding, turn: 'idle' })
      expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    }
    tell(...place.begins())
    expect(host.reports.at(-1)).toMatchObject({ seen_doorbell_id: bell.doorbell_id })
    expect(host.reports.at(-1)).not.toHaveProperty('outstanding_doorbell_id')
    expect(place.shown).toEqual([bell.text])
  })

  test('is lost after a minute in which the idle thread shows no trace of it', async () => {
    const { place } = await taken()
    place.taken.splice(0)
    await status()
    await clock.advance(LIMITS.codex_bell_lost_ms)
    expect(await status()).not.toHaveProperty('outstanding_doorbell_id')
    expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
  })

  test('is outstanding for its own minute after an earlier one that began late too', async () => {
    const { place } = await taken()
    await clock.advance(LIMITS.bell_receipt_ms)
    await status()
    tell(...place.begins(), ...place.ends())
    await clock.advance(10 * LIMITS.codex_bell_lost_ms)
    const second = doorbell()
    expect(await surface.notify_surface(second)).toEqual({ accepted: true, proof: 'sent' })
    await clock.advance(LIMITS.bell_receipt_ms)
    expect(await status()).toMatchObject({ outstanding_doorbell_id: second.doorbell_id })
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    expect(place.taken).toHaveLength(1)
  })

  test('is not lost together with one that left the queue before it', async () => {
    const { place } = await taken()
    place.taken.splice(0)
    await status()
    await clock.advance(LIMITS.codex_bell_lost_ms - 1)
    const other = doorbell()
    const clientUserMessageId = `turnbell:ada:${other.doorbell_id}`
    place.queue = [{ id: 'other', clientUserMessageId, text: other.text }]
    await status()
    place.queue = []
    await clock.advance(1)
    expect(await status()).toMatchObject({ outstanding_doorbell_id: other.doorbell_id })
    await clock.advance(LIMITS.codex_bell_lost_ms)
    expect(await status()).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('is lost only a minute after a turn that ran without it', async () => {
    const { place, outstanding } = await taken()
    place.taken.splice(0)
    await status()
    tell(...place.begins(), ...place.ends())
    await clock.advance(LIMITS.codex_bell_lost_ms)
    expect(await status()).toMatchObject(outstanding)
    await clock.advance(LIMITS.codex_bell_lost_ms)
    expect(await status()).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('is lost only a minute after the app-server reports its queue again', async () => {
    const { place, outstanding } = await taken()
    place.taken.splice(0)
    await status()
    const real = { ...place.server }
    place.server.call = () => Promise.reject(new AppServerError(null, 'too slow'))
    await status()
    Object.assign(place.server, real)
    await clock.advance(LIMITS.codex_bell_lost_ms)
    expect(await status()).toMatchObject(outstanding)
    await clock.advance(LIMITS.codex_bell_lost_ms)
    expect(await status()).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('stays outstanding where the app-server does not report its queue', async () => {
    const { place, outstanding } = await taken()
    place.server.call = () => Promise.reject(new AppServerError(null, 'too slow'))
    await status()
    await clock.advance(LIMITS.codex_bell_lost_ms)
    expect(await status()).toMatchObject(outstanding)
  })

  test('is found in the queue by the shim of the next daemon', async () => {
    const place = await attached()
    place.paused = true
    const bell = doorbell()
    await surface.notify_surface(bell)
    surface.close()
    surface = codexSurface({ identity: 'ada', clock, log: silentLog })
    surface.open(host)
    await surface.connected(place.server)
    await atRest()
    expect(await status()).toMatchObject({ outstanding_doorbell_id: bell.doorbell_id })
  })
})

test('an interrupted turn is reported until the person begins another one', async () => {
  const place = await attached()
  tell(...place.begins(), ...place.ends('interrupted'))
  expect(host.reports.at(-1)).toMatchObject({ turn: 'idle', interrupted: true })
  tell(...place.begins(), ...place.ends())
  expect(host.reports.at(-1)).not.toHaveProperty('interrupted')
})
