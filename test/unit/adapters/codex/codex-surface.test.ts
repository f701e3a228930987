import { beforeEach, describe, expect, test } from 'vitest'
import { codexSurface, type CodexSurface } from '../../../../adapters/codex/codex-surface.ts'
import { AppServerError } from '../../../../adapters/codex/app-server.ts'
import type { Notification } from '../../../../adapters/codex/protocol.ts'
import type { ThreadNews } from '../../../../src/contracts/clients/codex.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { doorbell } from '../../../support/doorbells.ts'
import { fakeAppServer, thread } from '../../../support/fakes/fake-app-server.ts'
import { atRest, fakeClock, type FakeClock } from '../../../support/fakes/fake-clock.ts'
import { recordingHost } from '../../../suites/surface.suite.ts'

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
  notifications.forEach((notification) => surface.handleNotification(notification))
const status = () => surface.status()

async function attached(...loaded: Parameters<typeof fakeAppServer>[1] & object) {
  const place = fakeAppServer(clock, loaded.length > 0 ? loaded : undefined)
  await surface.connected(place.server)
  await atRest()
  return place
}

describe('the bound thread', () => {
  test('the bound thread is the newest in which a person works, not a helper or a subagent', async () => {
    await attached(
      thread('older', { updatedAt: 1 }),
      thread('newer', { updatedAt: 2 }),
      thread('title', { updatedAt: 3, ephemeral: true, threadSource: 'thread_title' }),
      thread('subagent', { updatedAt: 4, parentThreadId: 'newer' }),
    )
    expect(await status()).toMatchObject({ session_id: 'newer', turn: 'idle' })
  })

  test('no thread is bound before a person starts the first one', async () => {
    const place = fakeAppServer(clock, [])
    await surface.connected(place.server)
    expect(await status()).toMatchObject({ session_id: null, turn: 'unknown' })
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'unavailable' })
    tell({ method: 'thread/started', params: { thread: thread('thread-1') } })
    await atRest()
    expect(await status()).toMatchObject({ session_id: 'thread-1', turn: 'idle' })
  })

  test('no thread is bound before its app-server is connected, even if notifications arrive', async () => {
    tell({ method: 'thread/started', params: { thread: thread('thread-1') } })
    expect(await status()).toMatchObject({ session_id: null, turn: 'unknown' })
    expect(host.reports).toEqual([])
    await attached()
    expect(await status()).toMatchObject({ session_id: 'thread-1', turn: 'idle' })
  })

  test('/new binds the new thread, and turns of the former are ignored', async () => {
    const place = await attached()
    tell({ method: 'thread/started', params: { thread: thread('thread-2') } })
    await atRest()
    const { turn_seq } = await status()
    tell(...place.begins('thread-1'))
    expect(await status()).toMatchObject({ session_id: 'thread-2', turn: 'idle', turn_seq })
  })

  test('the bound thread is not rung before its own tools have started', async () => {
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

  test('a turn that its user begins before the tools have started is reported busy', async () => {
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

  test('the bound thread is rung if the tool status is not available', async () => {
    const place = fakeAppServer(clock)
    place.tools = 'never'
    await surface.connected(place.server)
    await clock.advance(LIMITS.codex_start_ms - 1)
    expect(await status()).toMatchObject({ session_id: 'thread-1', turn: 'unknown' })
    await clock.advance(1)
    expect(await status()).toMatchObject({ session_id: 'thread-1', turn: 'idle' })
  })

  test('the tool status is requested again from an overloaded app-server, until the start timeout', async () => {
    const place = fakeAppServer(clock)
    place.tools = 'overloaded'
    await surface.connected(place.server)
    await clock.advance(LIMITS.codex_search_retry_ms)
    expect(await status()).toMatchObject({ turn: 'unknown' })
    place.tools = 'at once'
    await clock.advance(LIMITS.codex_search_retry_ms)
    expect(await status()).toMatchObject({ turn: 'idle' })

    place.tools = 'overloaded'
    tell({ method: 'thread/started', params: { thread: thread('thread-2') } })
    await clock.advance(LIMITS.codex_start_ms - 1)
    expect(await status()).toMatchObject({ session_id: 'thread-2', turn: 'unknown' })
    await clock.advance(LIMITS.codex_search_retry_ms)
    expect(await status()).toMatchObject({ session_id: 'thread-2', turn: 'idle' })
  })

  test('a tool status from an earlier connection is ignored', async () => {
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

  test('a drain shows that the tools have started, and a turn that ended before that counts as a boundary', async () => {
    const place = fakeAppServer(clock)
    place.tools = 'late'
    await surface.connected(place.server)
    await atRest()
    tell(...place.begins(), ...place.ends())
    const { turn_seq } = await status()
    tell(place.drains())
    expect(await status()).toMatchObject({ turn: 'idle', turn_seq: turn_seq + 1 })
  })

  test('the thread is searched again if the app-server reconnected during the search', async () => {
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

  test('a thread that is closed during the search is not bound', async () => {
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

  test('resume_surface binds again and discards the tracked state', async () => {
    const place = await attached()
    tell(...place.begins())
    await surface.resume_surface()
    await atRest()
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'thread-1', turn: 'idle' })
  })

  test('a thread without messages is subscribed to with its first turn', async () => {
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
  ])('the thread is searched again if the app-server did not return its %s', async (_what, method, times) => {
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
    await clock.advance(times * LIMITS.codex_search_retry_ms)
    expect(await status()).toMatchObject({ session_id: 'thread-1', turn: 'idle' })
  })

  test('a thread is found although another one cannot be read', async () => {
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

  test('the thread is searched again if the app-server was too busy to return it', async () => {
    const place = fakeAppServer(clock)
    const real = { ...place.server }
    let refused = 0
    place.server.call = async (method, params, answer) => {
      if (method === 'thread/read' && (refused += 1) === 1) throw new AppServerError(-32_001, 'overloaded')
      return real.call(method, params, answer)
    }
    await surface.connected(place.server)
    expect((await status()).session_id).toBeNull()
    await clock.advance(LIMITS.codex_search_retry_ms)
    expect((await status()).session_id).toBe('thread-1')
  })

  test('a thread is found although another one ends during the search', async () => {
    const place = fakeAppServer(clock)
    const real = { ...place.server }
    place.server.call = async (method, params, answer) =>
      method === 'thread/loaded/list'
        ? answer.parse({ data: ['ended', 'thread-1'] })
        : real.call(method, params, answer)
    await surface.connected(place.server)
    expect((await status()).session_id).toBe('thread-1')
  })

  test('a failed drain does not withdraw the queued doorbell', async () => {
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
  ])('a queued doorbell is withdrawn after %s %j only if that call drained', async (tool, args, takes) => {
    const place = await attached()
    place.paused = true
    await surface.notify_surface(doorbell())
    const item = { type: 'mcpToolCall', tool, arguments: args, status: 'completed' }
    tell({ method: 'item/completed', params: { threadId: 'thread-1', item } })
    await atRest()
    expect(place.queue).toHaveLength(takes ? 0 : 1)
  })

  test('a queued doorbell is withdrawn when the thread is closed', async () => {
    const place = await attached()
    place.paused = true
    await surface.notify_surface(doorbell())
    expect(place.queue).toHaveLength(1)
    tell({ method: 'thread/closed', params: { threadId: 'thread-1' } })
    await atRest()
    expect(place.queue).toEqual([])
  })

  test('a doorbell queued in the former thread is withdrawn when another thread is bound', async () => {
    const place = await attached()
    place.paused = true
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'sent' })
    expect(place.queue).toHaveLength(1)
    tell({ method: 'thread/started', params: { thread: thread('thread-2') } })
    await atRest()
    expect(place.queue).toEqual([])
  })

  test('the bound thread is unbound with its app-server, and found again in the next one', async () => {
    const place = await attached()
    surface.disconnected()
    expect(host.reports.at(-1)).toMatchObject({ session_id: null, turn: 'unknown' })
    await surface.connected(place.server)
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'thread-1', turn: 'idle' })
  })
})

describe('a turn', () => {
  test('an interrupted turn pauses the queue: no doorbell is queued until the next turn has ended', async () => {
    const place = await attached()
    tell(...place.begins(), ...place.ends('interrupted'))
    expect((await status()).turn).toBe('idle')
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    expect(place.calls).not.toContain('thread/queue/add')
    tell(...place.begins(), ...place.ends())
    expect((await surface.notify_surface(doorbell())).accepted).toBe(true)
  })

  test('a turn does not end with the status alone, because its own report follows', async () => {
    const place = await attached()
    tell(...place.begins())
    const [idle, completed] = place.ends('interrupted') as [Notification, Notification]
    tell(idle)
    expect((await status()).turn).toBe('busy')
    tell(completed)
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'deferred' })
  })

  test('a turn ends with the status if no report of its own follows', async () => {
    const place = await attached()
    tell(...place.begins(), place.ends()[0] as Notification)
    await clock.advance(LIMITS.codex_settle_ms)
    expect((await status()).turn).toBe('idle')
  })

  test('a turn that waits for an approval is busy', async () => {
    await attached()
    const waiting = { type: 'active', activeFlags: ['waitingOnApproval'] }
    tell({ method: 'thread/status/changed', params: { threadId: 'thread-1', status: waiting } })
    expect((await status()).turn).toBe('busy')
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'deferred' })
  })
})

describe('a bell', () => {
  test('a doorbell starts a turn in a Codex without queues, only while the thread is idle', async () => {
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
    // The queue is tried once, because the app-server does not change while it runs.
    expect(asked()).toBe(asked_before)
    expect(place.shown).toHaveLength(2)
  })

  test('a doorbell that was interrupted before its turn is withdrawn, and rung again once', async () => {
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

  describe('in a kept thread', () => {
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
      const people = { isAttached: () => joined, untilDetached: () => left }
      surface = codexSurface({ identity: 'ada', clock, log: silentLog, people })
      surface.open(host)
    })
    const started = ({ calls }: { calls: string[] }) =>
      calls.filter((method) => method === 'thread/queue/start').length

    test('a doorbell is accepted after an interrupt when the last person has left the kept thread', async () => {
      const place = await attached()
      tell(...place.begins(), ...place.ends('interrupted'))
      expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'deferred' })
      const before = await status()
      leave()
      await atRest()
      // For the daemon this is a boundary, so it sends a doorbell; for the hub no turn has passed that confirms a
      // drain.
      expect(host.reports.at(-1)).toMatchObject({ turn: 'idle', turn_seq: before.turn_seq + 2 })
      expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
      expect(place.shown).toHaveLength(1)
      tell(...place.begins(), ...place.ends())
      await surface.notify_surface(doorbell())
      // The queue continues by itself afterwards.
      expect(started(place)).toBe(1)
      expect(place.shown).toHaveLength(2)
    })

    test('a doorbell is accepted at the second try if the connection was lost during a pause', async () => {
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

    test('a queue that a person paused in their own thread stays paused', async () => {
      const place = fakeAppServer(clock)
      await surface.connected(place.server, 'shared')
      await surface.handleNews([{ event: 'UserPromptSubmit', thread_id: 'thread-1' } as ThreadNews])
      const told = (...notifications: Notification[]) =>
        notifications.forEach((notification) => surface.handleNotification(notification, 'shared'))
      told(...place.begins(), ...place.ends('interrupted'))
      leave()
      await atRest()
      expect(await status()).toMatchObject({ session_id: 'thread-1', turn: 'idle' })
      expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'deferred' })
      expect(started(place)).toBe(0)
    })
  })

  test('a ring waits for the ring before it', async () => {
    const place = await attached()
    place.mode = 'delays'
    const ringing = [surface.notify_surface(doorbell()), surface.notify_surface(doorbell())]
    await clock.advance(1_500)
    tell(...place.begins())
    await clock.advance(1_500)
    expect(await Promise.all(ringing)).toMatchObject([{ proof: 'sent' }, { proof: 'deferred' }])
    expect(place.shown).toHaveLength(1)
  })

  test('a doorbell that is queued after another thread was bound is withdrawn', async () => {
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

  test('a doorbell stays tracked after a lost connection: a drain withdraws it, and its receipt is read', async () => {
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

  test.each(['x', '', '01JZ'])(
    'a queued message with an invalid doorbell id is ignored: %j',
    async (rest) => {
      const place = await attached()
      tell(...place.begins())
      const item = { type: 'userMessage', clientId: `turnbell:ada:${rest}` }
      tell({ method: 'item/started', params: { threadId: 'thread-1', item } })
      expect((await status()).seen_doorbell_id).toBeUndefined()
    },
  )

  test('a doorbell that is queued after an interrupt is withdrawn at once', async () => {
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

  test('a doorbell has its receipt in the first turn of a thread that could not be subscribed to before', async () => {
    const place = fakeAppServer(clock)
    place.resumable = false
    await surface.connected(place.server)
    await atRest()
    const bell = doorbell()
    await surface.notify_surface(bell)
    // Messages are not sent to an unsubscribed client; only the status is.
    const [active] = place.begins() as [Notification]
    tell(active)
    await atRest()
    place.resumable = true
    tell(place.ends()[0] as Notification)
    await atRest()
    expect((await status()).seen_doorbell_id).toBe(bell.doorbell_id)
  })

  test('a queued doorbell of an earlier shim is replaced, and messages of others are kept', async () => {
    const place = await attached()
    place.queue = [
      { id: 'old', clientUserMessageId: 'turnbell:ada:01JZ0000000000000000000000', text: 'old' },
      { id: 'theirs', clientUserMessageId: 'turnbell:bob:01JZ0000000000000000000000', text: 'theirs' },
      { id: 'human', clientUserMessageId: 'x', text: 'human' },
    ]
    await surface.notify_surface(doorbell())
    expect(place.queue.map(({ id }) => id)).toEqual(['theirs', 'human'])
  })

  test('a doorbell is withdrawn when the agent drains before its turn', async () => {
    const place = await attached()
    place.paused = true
    await surface.notify_surface(doorbell())
    expect(place.queue).toHaveLength(1)
    tell(...place.begins(), place.drains())
    await atRest()
    expect(place.queue).toEqual([])
  })

  test('a doorbell carries its persona and id, and its receipt is reported', async () => {
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

  /** The app-server's notification about the shim's own subscription, which every client receives. */
  const reopened = (threadId = 'thread-1'): Notification => ({
    method: 'thread/goal/cleared',
    params: { threadId },
  })

  test('a thread whose window is closed reports no window and is not rung', async () => {
    const place = await attached()
    windows.own = false
    await clock.advance(LIMITS.codex_alive_look_ms)
    expect(host.reports.at(-1)).toMatchObject({ session_id: 'thread-1', turn: 'idle', window: false })
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'unavailable' })
    expect(place.queue).toEqual([])
  })

  test('a thread is not rung directly after its window was closed', async () => {
    const place = await attached()
    windows.own = false
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'unavailable' })
    expect([place.queue, place.taken]).toEqual([[], []])
  })

  test('a thread has a window again when a window opens it, not when the shim opened it', async () => {
    await attached()
    tell(reopened())
    windows.own = false
    await clock.advance(LIMITS.codex_alive_look_ms)
    windows.own = true
    await clock.advance(LIMITS.codex_alive_look_ms)
    // The open window may show another thread.
    expect(await status()).toMatchObject({ window: false })
    tell(reopened())
    expect(await status()).toMatchObject({ session_id: 'thread-1', turn: 'idle' })
    expect(host.reports.at(-1)).not.toHaveProperty('window')
  })

  test('a thread has a window again when its window begins a turn', async () => {
    const place = await attached()
    windows.own = false
    await clock.advance(LIMITS.codex_alive_look_ms)
    windows.own = true
    tell(...place.begins(), ...place.ends())
    expect(await status()).not.toHaveProperty('window')
  })

  test('a thread without a window is replaced by one that a new window starts or opens', async () => {
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

  test('a shim that starts after the window was closed reports no window', async () => {
    windows.own = false
    await attached()
    expect(await status()).toMatchObject({ session_id: 'thread-1', window: false })
  })
})

describe('a doorbell whose turn begins late', () => {
  /** Codex has taken the doorbell from the queue and has not begun its turn. */
  async function taken() {
    const place = await attached()
    const bell = doorbell()
    expect(await surface.notify_surface(bell)).toEqual({ accepted: true, proof: 'sent' })
    expect(place.queue).toEqual([])
    return { place, bell, outstanding: { outstanding_doorbell_id: bell.doorbell_id } }
  }

  test('a late doorbell is outstanding for 30 s, and no other one is queued', async () => {
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

  test('a late doorbell counts as lost after a minute without a trace in the idle thread', async () => {
    const { place } = await taken()
    place.taken.splice(0)
    await status()
    await clock.advance(LIMITS.codex_bell_lost_ms)
    expect(await status()).not.toHaveProperty('outstanding_doorbell_id')
    expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
  })

  test('a late doorbell has its own minute after an earlier late one', async () => {
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

  test('a late doorbell does not count as lost together with an earlier one', async () => {
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

  test('a late doorbell counts as lost one minute after a turn that ran without it', async () => {
    const { place, outstanding } = await taken()
    place.taken.splice(0)
    await status()
    tell(...place.begins(), ...place.ends())
    await clock.advance(LIMITS.codex_bell_lost_ms)
    expect(await status()).toMatchObject(outstanding)
    await clock.advance(LIMITS.codex_bell_lost_ms)
    expect(await status()).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('a late doorbell counts as lost one minute after the app-server reports its queue again', async () => {
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

  test('a late doorbell stays outstanding while the app-server does not report its queue', async () => {
    const { place, outstanding } = await taken()
    place.server.call = () => Promise.reject(new AppServerError(null, 'too slow'))
    await status()
    await clock.advance(LIMITS.codex_bell_lost_ms)
    expect(await status()).toMatchObject(outstanding)
  })

  test('a queued doorbell is found by the shim of the next daemon', async () => {
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
