/** Threads that the persona's own app-server does not hold. */
import { beforeEach, describe, expect, test } from 'vitest'
import { AppServerError } from '../../../../adapters/codex/app-server.ts'
import { codexSurface, type CodexSurface } from '../../../../adapters/codex/codex-surface.ts'
import type { Notification } from '../../../../adapters/codex/protocol.ts'
import type { ServerKind } from '../../../../adapters/codex/thread-search.ts'
import type { ThreadEvent, ThreadNews } from '../../../../src/contracts/clients/codex.ts'
import { shortBellId } from '../../../../src/contracts/doorbell.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { doorbell } from '../../../support/doorbells.ts'
import { fakeAppServer, thread } from '../../../support/fakes/fake-app-server.ts'
import { atRest, fakeClock, type FakeClock } from '../../../support/fakes/fake-clock.ts'
import { recordingHost } from '../../../suites/surface.suite.ts'

type FakeServer = ReturnType<typeof fakeAppServer>

let clock: FakeClock
let surface: CodexSurface
let reached: ServerKind[]
/** The shared app-server that the surface connects to. */
let there: Partial<Record<ServerKind, FakeServer>>
let dead: number[]

beforeEach(() => {
  clock = fakeClock()
  reached = []
  dead = []
  there = {}
  surface = codexSurface({
    identity: 'ada',
    clock,
    log: silentLog,
    alive: ({ pid }) => !dead.includes(pid),
    instanceId: (place) => `server of ${place}`,
    async reach(place) {
      reached.push(place)
      const found = there[place]
      if (found !== undefined) void surface.connected(found.server, place)
    },
  })
  surface.open(recordingHost())
})

const status = () => surface.status()
let told_at = 0
const news = (thread_id: string, event: ThreadEvent, bell?: string): ThreadNews => ({
  thread_id,
  event,
  at: new Date((told_at += 1_000)).toISOString(),
  ...(bell === undefined ? {} : { bell }),
})
async function hear(...all: ThreadNews[]): Promise<void> {
  await surface.handleNews(all)
  await atRest()
}
const tell = (place: ServerKind, ...notifications: Notification[]) =>
  notifications.forEach((notification) => surface.handleNotification(notification, place))

describe('a thread on the shared app-server', () => {
  test('a shared thread is bound when a report names this persona; other threads are not bound', async () => {
    there.shared = fakeAppServer(clock, [thread('hers'), thread('somebody-elses', { updatedAt: 9 })])
    expect((await status()).session_id).toBeNull()
    await hear(news('hers', 'ToolCall'))
    expect(await status()).toMatchObject({
      session_id: 'hers',
      turn: 'idle',
      instance_id: 'server of shared',
    })
    tell('shared', { method: 'thread/started', params: { thread: thread('a-new-one-of-somebody') } })
    expect((await status()).session_id).toBe('hers')
    expect(reached).toEqual(['shared'])
  })

  test.each([
    ['idle', 'ends', { type: 'active' }],
    ['busy', 'begins', { type: 'idle' }],
  ] as const)('a shared thread is %s if its turn %s during the search', async (turn, what, before) => {
    const shared = (there.shared = fakeAppServer(clock, [thread('hers', { status: before })]))
    const heard = what === 'ends' ? shared.ends('completed', 'hers') : shared.begins('hers')
    const real = { ...shared.server }
    shared.server.call = async (method, params, answer) => {
      const answered = await real.call(method, params, answer)
      // Both arrived in one chunk, so the notification is handled before the answer.
      if (method === 'thread/read') tell('shared', ...heard.splice(0))
      return answered
    }
    await hear(news('hers', 'ToolCall'))
    await clock.advance(LIMITS.codex_settle_ms)
    expect(await status()).toMatchObject({ session_id: 'hers', turn })
  })

  test('a shared thread is rung through its own queue, and its turns are reported', async () => {
    const shared = (there.shared = fakeAppServer(clock, [thread('hers')]))
    await hear(news('hers', 'SessionStart'))
    tell('shared', ...shared.begins('hers'))
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'deferred' })
    tell('shared', ...shared.ends('completed', 'hers'))
    expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
    expect(shared.shown).toHaveLength(1)
  })

  test('a shared thread is replaced by the thread in which the person works next, on either app-server', async () => {
    there.shared = fakeAppServer(clock, [thread('plain')])
    const own = fakeAppServer(clock, [])
    await surface.connected(own.server)
    await hear(news('plain', 'SessionStart'))
    own.loaded.push(thread('joined'))
    tell('own', { method: 'thread/started', params: { thread: thread('joined') } })
    expect((await status()).session_id).toBe('joined')
    await hear(news('plain', 'UserPromptSubmit'))
    expect((await status()).session_id).toBe('plain')
  })

  test('a shared thread is searched again when its app-server reconnects', async () => {
    const shared = (there.shared = fakeAppServer(clock, [thread('hers')]))
    await hear(news('hers', 'ToolCall'))
    there = {}
    surface.disconnected('shared')
    await atRest()
    expect(await status()).toMatchObject({ session_id: null, turn: 'unknown' })
    there.shared = shared
    await hear(news('hers', 'ToolCall'))
    expect((await status()).session_id).toBe('hers')
  })

  test.each(['thread/loaded/list', 'thread/read'])(
    'a shared thread is searched again after its app-server was too busy for %s',
    async (busy_for) => {
      const shared = (there.shared = fakeAppServer(clock, [thread('hers')]))
      const real = { ...shared.server }
      let refused = 0
      shared.server.call = async (method, params, answer) => {
        if (method === busy_for && (refused += 1) <= 2) throw new AppServerError(-32_001, 'overloaded')
        return real.call(method, params, answer)
      }
      await hear(news('hers', 'ToolCall'))
      expect((await status()).session_id).toBeNull()
      await clock.advance(2 * LIMITS.codex_search_retry_ms)
      expect((await status()).session_id).toBe('hers')
    },
  )

  test('an ended shared thread is not bound, and no app-server stays connected for it', async () => {
    there.shared = fakeAppServer(clock, [])
    await hear(news('gone', 'ToolCall'))
    expect((await status()).session_id).toBeNull()
    expect(reached).toEqual(['shared'])
  })
})

describe('a thread in a terminal that keeps it to itself', () => {
  async function embedded(): Promise<FakeServer> {
    const own = (there.own = fakeAppServer(clock, []))
    own.stored.push(thread('kept', { status: { type: 'notLoaded' } }))
    await hear(news('kept', 'SessionStart'), news('kept', 'UserPromptSubmit'))
    expect(await status()).toMatchObject({ session_id: 'kept', turn: 'busy' })
    await hear(news('kept', 'Stop'))
    expect(reached).toContain('own')
    expect(await status()).toMatchObject({ session_id: 'kept', turn: 'idle' })
    return own
  }

  test("a terminal's thread has the turn that its hooks report", async () => {
    await embedded()
    const { turn_seq } = await status()
    await hear(news('kept', 'UserPromptSubmit'))
    expect(await status()).toMatchObject({ turn: 'busy', turn_seq: turn_seq + 1 })
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'deferred' })
    await hear(news('kept', 'Stop'))
    expect((await status()).turn).toBe('idle')
    await hear(news('kept', 'UserPromptSubmit'), news('kept', 'Interrupt'))
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'deferred' })
  })

  test("a terminal's thread is rung through its queue, and the hook of the prompt is the receipt", async () => {
    const own = await embedded()
    own.paused = true
    const bell = doorbell()
    expect(await surface.notify_surface(bell)).toEqual({ accepted: true, proof: 'sent' })
    expect(own.queue).toHaveLength(1)
    await hear(news('kept', 'UserPromptSubmit', shortBellId(bell.doorbell_id)))
    expect((await status()).seen_doorbell_id).toBe(bell.doorbell_id)
    expect(own.calls).not.toContain('thread/resume')
  })

  test("a doorbell of a terminal's thread stays outstanding after the app-server reconnects, even if it left the queue", async () => {
    const own = await embedded()
    const bell = doorbell()
    await surface.notify_surface(bell)
    expect(own.queue).toEqual([])
    surface.disconnected('own')
    await surface.connected(own.server)
    expect(await status()).toMatchObject({
      ...{ session_id: 'kept', turn: 'idle' },
      outstanding_doorbell_id: bell.doorbell_id,
    })
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    expect(own.shown).toEqual([bell.text])
  })

  test("a doorbell that an earlier shim queued in a terminal's thread is outstanding", async () => {
    const own = (there.own = fakeAppServer(clock, []))
    const { doorbell_id, text } = doorbell()
    own.stored.push(thread('kept', { status: { type: 'notLoaded' } }))
    own.queue.push({ id: 'item-1', clientUserMessageId: `turnbell:ada:${doorbell_id}`, text })
    await hear(news('kept', 'UserPromptSubmit'), news('kept', 'Stop'))
    expect(await status()).toMatchObject({ session_id: 'kept', outstanding_doorbell_id: doorbell_id })
  })

  test("a queued doorbell is withdrawn when a terminal's thread drains without it", async () => {
    const own = await embedded()
    own.paused = true
    await surface.notify_surface(doorbell())
    await hear(news('kept', 'UserPromptSubmit'), news('kept', 'Drain'))
    expect(own.queue).toEqual([])
  })

  test("a terminal's thread is unbound when its session ends, and its doorbell is withdrawn", async () => {
    const own = await embedded()
    own.paused = true
    await surface.notify_surface(doorbell())
    await hear(news('kept', 'SessionEnd'))
    expect(own.queue).toEqual([])
    expect(await status()).toMatchObject({ session_id: null, turn: 'unknown' })
  })

  test("a terminal's thread whose session ends during the search is not bound", async () => {
    const own = (there.own = fakeAppServer(clock, []))
    own.stored.push(thread('kept', { status: { type: 'notLoaded' } }))
    const real = { ...own.server }
    own.server.call = async (method, params, answer) => {
      const answered = await real.call(method, params, answer)
      if (method === 'thread/read') void surface.handleNews([news('kept', 'SessionEnd')])
      return answered
    }
    await hear(news('kept', 'UserPromptSubmit'), news('kept', 'Stop'))
    expect(await status()).toMatchObject({ session_id: null, turn: 'unknown' })
  })

  test("a terminal's thread is unbound when its terminal is killed, and its doorbell is withdrawn", async () => {
    const own = await embedded()
    own.paused = true
    await hear({ ...news('kept', 'Stop'), client: { pid: 7, started: 'then', namespace: 'here' } })
    await surface.notify_surface(doorbell())
    dead = [7]
    await clock.advance(LIMITS.codex_alive_look_ms)
    expect(own.queue).toEqual([])
    expect(await status()).toMatchObject({ session_id: null, turn: 'unknown' })
  })

  test("a terminal's thread whose terminal was killed earlier is not bound", async () => {
    dead = [7]
    const own = (there.own = fakeAppServer(clock, []))
    own.stored.push(thread('kept', { status: { type: 'notLoaded' } }))
    const client = { pid: 7, started: 'then', namespace: 'here' }
    await hear({ ...news('kept', 'UserPromptSubmit'), client }, { ...news('kept', 'Stop'), client })
    expect((await status()).session_id).toBeNull()
    await hear({ ...news('kept', 'UserPromptSubmit'), client: { pid: 8, started: 'now', namespace: 'here' } })
    expect(await status()).toMatchObject({ session_id: 'kept', turn: 'busy', instance_id: '8:now' })
  })

  test('a thread of a single command is not bound', async () => {
    const own = (there.own = fakeAppServer(clock, []))
    own.stored.push(thread('exec', { source: 'exec' }))
    await hear(news('exec', 'SessionStart'))
    expect((await status()).session_id).toBeNull()
  })
})
