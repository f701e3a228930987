import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { toProblem, TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { MetricsSet } from '../../../src/contracts/metrics.ts'
import type { StateFile } from '../../../src/daemon/saved-state.ts'
import type { StartShim } from '../../../src/daemon/supervise.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { daemonWorld, readyDaemon } from '../../support/worlds/daemon-world.ts'
import { eventually } from '../../support/eventually.ts'

describe('one signal', () => {
  test('one signal leads from a push to one doorbell to a drain, and each stage is reported', async () => {
    const world = await readyDaemon()
    const entry = world.hub.push()
    await world.first.rung(1)
    await world.first.turnBegins(world.first.bells[0]?.doorbell_id)
    expect(world.first.bells[0]?.signal_id).toBe(entry.signal_id)
    world.hub.drain()
    await eventually('the drain', () => world.status().pending_count === 0)
    await world.first.turnEndsAsking()
    expect(world.status()).toMatchObject({ doorbells_rung: 1, pending_count: 0, delivery: 'ok' })
    expect(world.status().last_drain_age_s).not.toBeNull()
  })

  test('a signal whose push was lost is found by the next reconcile', async () => {
    const world = await readyDaemon()
    world.hub.accept()
    world.hub.cutLinks()
    await eventually('the loss', () => world.hub.framesOf('hello').length === 2)
    await world.connected()
    await eventually('the list', () => world.status().pending_count === 1)
    expect(world.first.bells).toEqual([])
    await world.first.turnBegins()
    await world.first.turnEnds()
    await world.first.rung(1)
    expect(world.first.bells[0]).toMatchObject({ reason: 'backlog' })
  })

  test('a signal is noticed after thirty idle minutes without any action of the surface', async () => {
    const clock = fakeClock()
    const world = await readyDaemon({ daemon: { clock } })
    for (let minute = 0; minute < 30; minute += 1) {
      if (minute % 10 === 0) world.hub.push('ada', 0)
      for (let part = 0; part < 6; part += 1) {
        const heard = world.hub.framesOf('heartbeat').length
        await clock.advance(10_000)
        await eventually('the next heartbeat', () => world.hub.framesOf('heartbeat').length > heard)
      }
    }
    expect(world.status()).toMatchObject({ pending_count: 3, state: 'CONNECTED' })
    expect(world.hub.framesOf('hello')).toHaveLength(1)
  })
})

describe('heartbeats', () => {
  test('heartbeats are sent at once and then at the hub’s interval, with facts and the metric set', async () => {
    const clock = fakeClock()
    const world = await readyDaemon({ daemon: { clock }, heartbeat_interval_ms: 7_000 })
    await eventually('the two at the start', () => world.hub.framesOf('heartbeat').length === 2)
    await clock.advance(7_000)
    await eventually('the next', () => world.hub.framesOf('heartbeat').length === 3)
    const beats = world.hub.framesOf('heartbeat')
    expect(beats.map(({ seq, metrics }) => [seq, metrics !== undefined])).toEqual([
      [1, true],
      [2, false],
      [3, true],
    ])
    expect(beats[0]?.surface).toEqual({ attached: false, session_id: null, turn: 'unknown', turn_seq: 0 })
    expect(MetricsSet.parse(beats[0]?.metrics)).toMatchObject({ up: 1, signal_queue_depth: 0 })
  })

  test('the first heartbeat is sent before the list is requested, which depends on the session', async () => {
    const world = await readyDaemon()
    await eventually('the list', () => world.hub.framesOf('pending.peek').length > 0)
    const types = world.hub.frames.map(({ type }) => type)
    expect(types.indexOf('heartbeat')).toBeLessThan(types.indexOf('pending.peek'))
  })

  test('heartbeats of a restarted daemon name the previous session until it returns', async () => {
    const { world } = await restartedDaemon('session-1')
    const shim = await world.shim({ session_id: null, turn: 'unknown' })
    await shim.report()
    await eventually('the attachment', async () => (await world.askStatus()).surface.attached)
    await shim.report({ session_id: 'session-1', turn: 'busy', turn_seq: 3 })
    const facts = () => world.hub.framesOf('heartbeat').flatMap(({ surface }) => surface ?? [])
    await eventually('the session', () => facts().at(-1)?.attached)
    for (const earlier of facts().slice(0, -1))
      expect(earlier).toMatchObject({ attached: false, returning_session_id: 'session-1' })
    expect(facts().at(-1)).toMatchObject({ session_id: 'session-1', turn: 'busy', turn_seq: 3 })
  })

  test('heartbeats of a restarted daemon report after session_return_ms that no session returned', async () => {
    const { clock, world } = await restartedDaemon('session-1')
    const last = () => world.hub.framesOf('heartbeat').at(-1)?.surface
    await eventually('the first', () => last() !== undefined)
    await clock.advance(LIMITS.session_return_ms - 1)
    expect(last()).toMatchObject({ attached: false, returning_session_id: 'session-1' })
    await clock.advance(LIMITS.heartbeat_interval_ms)
    await eventually('the end', () => last()?.returning_session_id === undefined)
  })

  test('heartbeats name the session of a supervised shim that exited, but not that of a client', async () => {
    const supervised: StartShim = (onExit) => ({ pid: 1, stop: () => onExit(0, 'asked') })
    for (const startShim of [null, supervised]) {
      const world = await readyDaemon({ daemon: { startShim } })
      world.first.leave()
      const last = () => world.hub.framesOf('heartbeat').at(-1)?.surface
      await eventually('the loss', () => last()?.attached === false)
      expect(last()?.returning_session_id).toBe(startShim === null ? undefined : 'session-1')
    }
  })

  test("heartbeats count as accepted only after the hub's pong", async () => {
    const world = await daemonWorld()
    world.hub.answersPings = false
    await world.daemon.start()
    await world.connected()
    await eventually('a heartbeat', () => world.hub.framesOf('heartbeat').length > 0)
    expect(world.status().last_heartbeat_age_s).toBeNull()
    world.hub.send({ type: 'pong' })
    await eventually('its age', () => world.status().last_heartbeat_age_s !== null)
  })

  test('heartbeats that the hub does not accept are heartbeat_publish_failed', async () => {
    const clock = fakeClock()
    const world = await daemonWorld({ daemon: { clock } })
    world.hub.answersPings = false
    await world.daemon.start()
    await clock.advance(0)
    await world.connected()
    await clock.advance(10_000)
    await eventually('the error', () => world.status().last_error_class === 'heartbeat_publish_failed')
  })

  test('a last heartbeat with the current metric set is sent at a clean stop', async () => {
    const world = await readyDaemon()
    world.hub.push()
    await world.first.rung(1)
    world.hub.drain()
    await eventually('the drain', () => world.status().pending_count === 0)
    const before = world.hub.framesOf('heartbeat').length
    await world.daemon.stop()
    await eventually('the last one', () => world.hub.framesOf('heartbeat').length > before)
    expect(world.hub.framesOf('heartbeat').at(-1)?.metrics).toMatchObject({ signal_queue_depth: 0 })
  })

  test('the ages of heartbeats and drains are independent', async () => {
    const clock = fakeClock()
    const world = await readyDaemon({ daemon: { clock } })
    world.hub.push()
    await world.first.rung(1)
    world.hub.drain()
    await eventually('the drain', () => world.status().last_drain_age_s === 0)
    for (let n = 0; n < 6; n += 1) {
      await clock.advance(10_000)
      await eventually('accepted', () => world.status().last_heartbeat_age_s === 0)
    }
    expect(world.status()).toMatchObject({ last_heartbeat_age_s: 0, last_drain_age_s: 60 })
  })
})

const openSockets = () => process.getActiveResourcesInfo().filter((kind) => kind === 'PipeWrap').length

describe('sockets removed by another process', () => {
  test('removed sockets are recreated, and open connections stay open', async () => {
    const clock = fakeClock()
    const remakePlace = vi.fn<() => void>()
    const file = { read: () => null, write: vi.fn<(text: string) => void>() }
    const world = await readyDaemon({ daemon: { clock, restoreRunFiles: remakePlace, state_file: file } })
    const open = openSockets()
    fs.rmSync(world.paths.socket_dir, { recursive: true })
    file.write.mockClear()
    await clock.advance(LIMITS.socket_look_ms)
    await eventually('the sockets', () => world.exists(world.paths.surface_socket))
    expect(remakePlace).toHaveBeenCalled()
    expect(file.write).toHaveBeenCalledTimes(1)
    await eventually('no more sockets than before', () => openSockets() === open)
    const inode = fs.statSync(world.paths.surface_socket).ino
    expect((await world.askStatus()).surface.attached).toBe(true)
    world.hub.push()
    await world.first.rung(1)
    await clock.advance(LIMITS.socket_look_ms)
    expect(fs.statSync(world.paths.surface_socket).ino).toBe(inode)
    await world.daemon.stop()
    expect(world.exists(world.paths.surface_socket)).toBe(false)
  })

  test.each([
    ['a directory', (at: string) => fs.mkdirSync(path.join(at, 'something'), { recursive: true })],
    ['a file', (at: string) => fs.writeFileSync(at, 'garbage')],
    ['a link', (at: string) => fs.symlinkSync('/nowhere', at)],
  ])('sockets replaced by %s are recreated', async (_, replace) => {
    const clock = fakeClock()
    const world = await readyDaemon({ daemon: { clock } })
    fs.rmSync(world.paths.control_socket)
    replace(world.paths.control_socket)
    await clock.advance(LIMITS.socket_look_ms)
    await eventually('the socket', () => fs.lstatSync(world.paths.control_socket).isSocket())
    expect((await world.askStatus()).surface.attached).toBe(true)
  })

  test('sockets that cannot be recreated are retried later', async () => {
    const clock = fakeClock()
    let fails = true
    const remakePlace = () => {
      if (fails) throw new Error('EROFS')
    }
    const world = await readyDaemon({ daemon: { clock, restoreRunFiles: remakePlace } })
    fs.rmSync(world.paths.socket_dir, { recursive: true })
    await clock.advance(LIMITS.socket_look_ms)
    expect(world.exists(world.paths.control_socket)).toBe(false)
    fails = false
    await clock.advance(LIMITS.socket_look_ms)
    await eventually('the sockets', () => world.exists(world.paths.surface_socket))
  })
})

describe('a hub on the same machine', () => {
  test('the hub is watched for only while it is away, and connected to as soon as it is back', async () => {
    const clock = fakeClock()
    const watches: { onBack: () => void; closed: boolean }[] = []
    const watchHub = (onBack: () => void) => {
      const watch = { onBack, closed: false }
      watches.push(watch)
      return { close: () => void (watch.closed = true) }
    }
    const world = await daemonWorld({ daemon: { clock, watchHub } })
    await world.daemon.start()
    await clock.advance(0)
    await world.connected()
    expect(watches.every(({ closed }) => closed)).toBe(true)
    world.hub.cutLinks()
    await eventually('DISCONNECTED', () => world.status().state === 'DISCONNECTED')
    expect(watches.filter(({ closed }) => !closed)).toHaveLength(1)
    watches.at(-1)?.onBack()
    await clock.advance(0)
    await world.connected()
    expect(watches.every(({ closed }) => closed)).toBe(true)
  })
})

describe('metrics.prom', () => {
  test('metrics.prom is written at the start, every metrics_publish_ms, and when the surface is lost', async () => {
    const clock = fakeClock()
    const world = await readyDaemon({ daemon: { clock } })
    await eventually('the first', () => world.written.length === 1)
    await clock.advance(LIMITS.metrics_publish_ms)
    await eventually('the tick', () => world.written.length === 2)
    world.first.leave()
    await eventually('the loss', () => world.written.length === 3)
    expect(world.written[2]).toContain('error_class="surface_unavailable"} 1')
    await eventually('the hub to be told', () =>
      world.hub
        .framesOf('heartbeat')
        .some(
          ({ metrics, surface }) => metrics?.errors_total.surface_unavailable === 1 && !surface?.attached,
        ),
    )
  })

  test('a failed write of metrics.prom does not stop the daemon', async () => {
    const world = await readyDaemon({
      daemon: {
        writeMetrics: () => {
          throw new Error('disk full')
        },
      },
    })
    world.hub.push()
    await world.first.rung(1)
  })
})

describe('the hub', () => {
  test('a hub that does not list in time is pending_reconcile_failed, and the daemon reconnects', async () => {
    const clock = fakeClock()
    const world = await daemonWorld({ daemon: { clock } })
    world.hub.answersPeeks = false
    await world.daemon.start()
    await clock.advance(0)
    await eventually('RECONCILING', () => world.status().state === 'RECONCILING')
    await clock.advance(LIMITS.reconcile_timeout_ms)
    expect(world.status()).toMatchObject({
      state: 'DISCONNECTED',
      connected: false,
      last_error_class: 'pending_reconcile_failed',
    })
    world.hub.answersPeeks = true
    await clock.advance(LIMITS.reconnect_max_ms)
    await world.connected()
  })

  test('a hub that refuses to list is pending_reconcile_failed', async () => {
    const world = await daemonWorld()
    world.hub.answersPeeks = false
    await world.daemon.start()
    await eventually('the question', () => world.hub.framesOf('pending.peek').length === 1)
    const id = world.hub.framesOf('pending.peek')[0]?.id ?? ''
    const refusal = toProblem(new TurnbellError('store_unavailable', { detail: 'disk full' }), 'x')
    world.hub.send({ ...refusal, type: 'error', id })
    await eventually('the error', () => world.status().last_error_class === 'pending_reconcile_failed')
  })

  test('an unreachable hub is retried until it is found', async () => {
    const world = await daemonWorld()
    await world.hub.close()
    await world.daemon.start()
    await eventually('the failure', () => world.status().last_error_class === 'ws_connect_failed')
    expect(world.status()).toMatchObject({ state: 'DISCONNECTED', last_heartbeat_age_s: null })
  })

  test.each(['wrap', 'remove'])('a hub that announces %s ends the daemon cleanly', async (reason) => {
    const world = await readyDaemon()
    world.hub.send({ type: 'lifecycle.shutdown', reason })
    await eventually('the end', () => world.stops.length === 1)
    expect(world.stops).toEqual([{ kind: 'lifecycle', detail: reason }])
  })

  test('a hub that announces its own stop does not end the daemon, which waits for the next one', async () => {
    const world = await readyDaemon()
    world.hub.send({ type: 'lifecycle.shutdown', reason: 'stopping' })
    world.hub.closeLinks()
    await eventually('the next link', () => world.hub.framesOf('hello').length === 2)
    await world.connected()
    expect(world.stops).toEqual([])
  })

  test('a hub that reports persona_wrapped ends the daemon, on the link or at the token request', async () => {
    const refusal = toProblem(new TurnbellError('persona_wrapped', { detail: 'ada is wrapped' }), 'x')
    const onLink = await daemonWorld()
    onLink.hub.welcomes = false
    await onLink.daemon.start()
    await eventually('hello', () => onLink.hub.framesOf('hello').length === 1)
    onLink.hub.send({ ...refusal, type: 'error' })
    await eventually('the end', () => onLink.stops.length === 1)
    const atDoor = await daemonWorld()
    atDoor.hub.tokenRefusal = { status: 409, body: refusal }
    await atDoor.daemon.start()
    await eventually('the end', () => atDoor.stops.length === 1)
    expect([...onLink.stops, ...atDoor.stops]).toEqual([
      { kind: 'lifecycle', detail: 'ada is wrapped' },
      { kind: 'lifecycle', detail: 'ada is wrapped' },
    ])
  })

  test('a hub that gave the registration to another daemon ends this one', async () => {
    const world = await readyDaemon()
    world.hub.closeLinks(4409, 'stale')
    await eventually('the end', () => world.stops.length === 1)
    expect(world.stops).toMatchObject([{ kind: 'replaced' }])
  })

  test('unexpected frames of the hub change nothing', async () => {
    const world = await readyDaemon()
    world.hub.send({ type: 'pending', id: 'nobody asked', signals: [], total: 99, as_of_seq: 9 })
    world.hub.send({ type: 'pong' })
    world.hub.send({ type: 'result', id: 4 })
    world.hub.send({
      type: 'event',
      id: 'e',
      channel: 'global',
      event: 'x',
      data: null,
      timestamp: '2026-01-01T00:00:00.000Z',
    })
    world.hub.push('bob')
    world.hub.push('ada')
    await world.first.rung(1)
    expect(world.status()).toMatchObject({ state: 'CONNECTED', last_error_class: null })
    expect(world.first.bells).toHaveLength(1)
  })
})

describe('stopping', () => {
  test('a second stop returns the first, and no timer remains', async () => {
    const clock = fakeClock()
    const world = await readyDaemon({ daemon: { clock } })
    await Promise.all([world.daemon.stop(), world.daemon.stop()])
    await clock.advance(1_000)
    expect(clock.armed()).toBe(0)
  })
})

describe('a bug in a step', () => {
  test('a bug in a step is passed to the owner of the process, and no later event is handled', async () => {
    const bugs: unknown[] = []
    let broken = false
    const bug = new Error('the step broke')
    const log = {
      ...silentLog,
      debug() {
        if (broken) throw bug
      },
    }
    const world = await readyDaemon({ daemon: { log, onBug: (error) => bugs.push(error) } })
    await world.first.turnBegins()
    world.hub.push()
    await eventually('the push', () => world.status().pending_count === 1)
    // The end of the turn leads to EMITTING while the shim's request is being handled, so the request gets no response.
    broken = true
    void world.first.turnEnds().catch(() => {})
    await eventually('the bug', () => bugs.length === 1)
    const { pending_count } = world.status()
    world.hub.push()
    void world.ask('notify_surface').catch(() => {})
    expect(await world.askStatus()).toMatchObject({ pending_count })
    expect(bugs).toEqual([bug])
  })
})

/** Returns a daemon that continues the state of a daemon with this session attached. */
async function restartedDaemon(session_id: string) {
  const clock = fakeClock()
  const world = await daemonWorld({ daemon: { clock, state_file: await memoryOfSession(session_id) } })
  await world.daemon.start()
  await world.connected()
  return { clock, world }
}

/** Returns the state file of a daemon with this session attached. */
async function memoryOfSession(session_id: string): Promise<StateFile> {
  let kept: string | null = null
  const memory: StateFile = { read: () => kept, write: (text) => void (kept = text) }
  const world = await readyDaemon({ daemon: { state_file: memory } })
  await world.first.report({ session_id })
  await eventually('the state file', () => kept?.includes(session_id) === true)
  await world.daemon.stop()
  return memory
}
