import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { daemonWorld, rawClient, readyDaemon } from '../../support/worlds/daemon-world.ts'
import { eventually } from '../../support/eventually.ts'

describe('a push shim', () => {
  test('a push shim attaches with its first report and receives doorbells over its connection', async () => {
    const world = await daemonWorld()
    await world.daemon.start()
    await world.connected()
    const shim = await world.shim()
    expect(world.status()).toMatchObject({ delivery: 'degraded', surface: { attached: false } })
    expect(await shim.report()).toBeNull()
    expect(world.status()).toMatchObject({
      delivery: 'ok',
      surface: { attached: true, session_id: 'session-1' },
    })
    const entry = world.hub.push()
    await shim.rung(1)
    expect(shim.bells[0]).toMatchObject({ signal_id: entry.signal_id, identity: 'ada', pending_count: 1 })
    expect(shim.bells[0]?.text).toMatch(/^\[turnbell\] 1 signal waits .*\(bell [0-9a-z]{8}\)$/)
  })

  test("a push shim's turn state is sent to the hub immediately", async () => {
    const world = await readyDaemon()
    await world.first.turnBegins()
    await eventually('the heartbeat', () =>
      world.hub
        .framesOf('heartbeat')
        .some(({ surface }) => surface?.turn === 'busy' && surface.turn_seq === 1),
    )
    const last = world.hub.framesOf('heartbeat').at(-1)
    expect(last?.surface).toEqual({ attached: true, session_id: 'session-1', turn: 'busy', turn_seq: 1 })
  })

  test('a doorbell of a push shim has three stages: requested, accepted, seen', async () => {
    const world = await readyDaemon()
    world.hub.push()
    await world.first.rung(1)
    const stages = () => world.hub.framesOf('doorbell').map(({ stage }) => stage)
    // The response to the doorbell and the receipt use two connections.
    await eventually('the answer', () => stages().includes('accepted'))
    await world.first.turnBegins(world.first.bells[0]?.doorbell_id)
    await eventually('the receipt', () => stages().includes('seen'))
    expect(stages()).toEqual(['requested', 'accepted', 'seen'])
  })

  test('a push shim reports the proof of its doorbell, and the status shows the latest one', async () => {
    const world = await readyDaemon()
    const proof = () => world.status().surface.last_proof
    expect(proof()).toBeNull()
    world.hub.push()
    await eventually('the answer', () => proof() === 'sent')
    await world.first.turnBegins(world.first.bells[0]?.doorbell_id)
    await eventually('the receipt', () => proof() === 'confirmed')
    await world.first.turnEnds()
    world.first.answer = { accepted: false, proof: 'deferred' }
    world.hub.push()
    await eventually('the refusal', () => proof() === 'deferred')
  })

  test('a push shim receives a doorbell in the answer at the end of its turn, and not over the connection as well', async () => {
    const world = await readyDaemon()
    await world.first.turnBegins()
    const entry = world.hub.push()
    await eventually('the push', () => world.status().pending_count === 1)
    expect(await world.first.turnEndsAsking()).toMatchObject({ signal_id: entry.signal_id })
    expect(world.first.bells).toEqual([])
    expect(world.status().doorbells_rung).toBe(1)
  })

  test('a push shim is answered null immediately while the hub is down', async () => {
    const world = await readyDaemon()
    await world.hub.close()
    await eventually('the loss', () => world.status().state === 'DISCONNECTED')
    expect(await world.first.turnEndsAsking()).toBeNull()
  })

  test('a push shim that breaks on a doorbell degrades delivery and is counted; the signal stays pending', async () => {
    const world = await readyDaemon()
    world.first.answer = { accepted: false, proof: 'failed' }
    world.hub.push()
    await eventually('the error', () => world.status().last_error_class === 'surface_inject_failed')
    expect(world.status()).toMatchObject({ delivery: 'degraded', pending_count: 1, connected: true })
  })

  test.each([
    ['nonsense', 'yes'],
    ['another shape', { accepted: 1 }],
    ['an unknown proof', { accepted: true, proof: 'certain' }],
  ])('a push shim that answers a doorbell with %s counts as failed', async (_, answer) => {
    const world = await readyDaemon()
    world.first.answer = answer as never
    world.hub.push()
    await eventually('the error', () => world.status().last_error_class === 'surface_inject_failed')
  })

  test('a push shim that disconnects during a doorbell counts as failed', async () => {
    const world = await readyDaemon()
    world.first.answer = null
    world.hub.push()
    await world.first.rung(1)
    world.first.leave()
    await eventually('the error', () => world.status().last_error_class === 'surface_inject_failed')
    expect(world.status()).toMatchObject({ pending_count: 1, surface: { attached: false } })
  })

  test('a push shim that disconnects leaves the daemon healthy and degraded, counted once, until it returns', async () => {
    const world = await readyDaemon()
    world.first.leave()
    await eventually('the loss', () => !world.status().surface.attached)
    expect(world.status()).toMatchObject({
      state: 'CONNECTED',
      delivery: 'degraded',
      last_error_class: 'surface_unavailable',
      surface: { attached: false, session_id: null, turn: 'unknown' },
    })
    const next = await world.shim()
    await next.report()
    expect(world.status()).toMatchObject({ delivery: 'ok', surface: { attached: true } })
  })

  test('a push shim without its agent degrades the daemon, counted once, and receives doorbells when the agent returns', async () => {
    const world = await readyDaemon()
    await world.first.report({ session_id: null, turn: 'unknown', absent: true })
    await world.first.report({ session_id: null, turn: 'unknown', absent: true })
    expect(world.status()).toMatchObject({
      delivery: 'degraded',
      last_error_class: 'surface_unavailable',
      surface: { attached: false, session_id: null, turn: 'unknown' },
    })
    expect(world.written.at(-1)).toMatch(/error_class="surface_unavailable"[^}]*} 1$/m)
    world.hub.push()
    await eventually('the push', () => world.status().pending_count === 1)
    expect(world.first.bells).toEqual([])
    await world.first.report({ session_id: 'session-1', turn: 'idle' })
    await world.first.rung(1)
  })

  test('a push shim that never had an agent is not a surface', async () => {
    const world = await daemonWorld()
    await world.daemon.start()
    await world.connected()
    const shim = await world.shim({ session_id: null, turn: 'unknown', absent: true })
    expect(await shim.report()).toBeNull()
    expect(world.status()).toMatchObject({ delivery: 'degraded', surface: { attached: false } })
    expect(await world.ask('notify_surface')).toMatchObject({ accepted: false, reason: 'nothing_pending' })
    world.hub.push()
    await eventually('the push', () => world.status().pending_count === 1)
    expect(await world.ask('notify_surface')).toMatchObject({ accepted: false, reason: 'surface_absent' })
  })

  test('a push shim that disconnects while it waits for the end-of-turn answer loses no doorbell', async () => {
    const world = await readyDaemon()
    await world.first.turnBegins()
    world.hub.push()
    await eventually('the push', () => world.status().pending_count === 1)
    world.hub.answersPeeks = false
    const asking = world.first.turnEndsAsking().catch(() => 'hung up')
    await eventually('EMITTING', () => world.status().state === 'EMITTING')
    world.first.leave()
    await eventually('the loss', () => !world.status().surface.attached)
    world.hub.answersPeeks = true
    const peek = world.hub.framesOf('pending.peek').at(-1)
    const signals = world.hub.queue
    world.hub.send({ type: 'pending', id: peek?.id ?? '', signals, total: signals.length, as_of_seq: 1 })
    await eventually('CONNECTED', () => world.status().state === 'CONNECTED')
    expect(world.status().doorbells_rung).toBe(0)
    expect(await asking).toBe('hung up')
  })
})

describe('several shims', () => {
  test('shims form a stack: the newest is rung, and when it disconnects the previous one is probed and rung', async () => {
    const world = await readyDaemon()
    const second = await world.shim({ session_id: 'session-2' })
    await second.report()
    expect(world.status().surface.session_id).toBe('session-2')
    world.hub.push()
    await second.rung(1)
    expect(world.first.bells).toEqual([])
    second.leave()
    await eventually('the first again', () => world.status().surface.session_id === 'session-1')
    await world.first.rung(1)
    expect(world.first.asked).toContain('status')
    expect(world.status().last_error_class).toBeNull()
  })

  test('shims that are not the surface are answered null, and their reports count later', async () => {
    const world = await readyDaemon()
    const second = await world.shim({ session_id: 'session-2', turn: 'busy' })
    await second.report()
    world.hub.push()
    await eventually('the push', () => world.status().pending_count === 1)
    expect(await world.first.turnEndsAsking()).toBeNull()
    await world.first.turnBegins()
    expect(world.status().surface).toMatchObject({ session_id: 'session-2', turn: 'busy' })
    second.leave()
    await eventually('the first again', () => world.status().surface.session_id === 'session-1')
    expect(world.status().surface.turn).toBe('busy')
    expect(world.first.bells).toEqual([])
  })

  test('shims without a session rank below those with one, in any order of arrival', async () => {
    const world = await readyDaemon()
    const waiting = await world.shim({ session_id: null, turn: 'unknown' })
    await waiting.report()
    expect(world.status().surface.session_id).toBe('session-1')
    world.hub.push()
    await world.first.rung(1)
    expect(waiting.bells).toEqual([])
  })

  test('shims that lose their session are replaced by one that has a session', async () => {
    const world = await readyDaemon()
    const second = await world.shim({ session_id: 'session-2' })
    await second.report()
    expect(world.status().surface.session_id).toBe('session-2')
    await second.report({ session_id: null, turn: 'unknown' })
    expect(world.status().surface.session_id).toBe('session-1')
    world.hub.push()
    await world.first.rung(1)
  })

  test('shims without their agent are not the surface until it returns, and the previous one is used', async () => {
    const world = await readyDaemon()
    const second = await world.shim({ session_id: 'session-2' })
    await second.report()
    await second.report({ session_id: null, turn: 'unknown', absent: true })
    expect(world.status().surface.session_id).toBe('session-1')
    await second.report({ session_id: 'session-2', turn: 'idle' })
    expect(world.status().surface.session_id).toBe('session-2')
  })

  test('shims that find a session become the surface', async () => {
    const world = await readyDaemon()
    const waiting = await world.shim({ session_id: null, turn: 'unknown' })
    await waiting.report()
    await waiting.report({ session_id: 'session-2', turn: 'idle' })
    expect(world.status().surface.session_id).toBe('session-2')
  })

  test('shims that do not answer a status request are dropped', async () => {
    const world = await readyDaemon()
    world.first.probe = 'what?'
    const second = await world.shim({ session_id: 'session-2' })
    await second.report()
    second.leave()
    await eventually('nobody', () => !world.status().surface.attached)
    await eventually('let go', () => world.first.closed)
  })
})

describe('a pull shim', () => {
  const pull = { delivery: 'pull', surface: 'codex' } as const

  test('a pull shim attaches by its reports, stays attached without a connection, and is rung only in an answer', async () => {
    const world = await daemonWorld()
    await world.daemon.start()
    await world.connected()
    const hook = await world.shim(pull)
    await hook.report()
    hook.leave()
    world.hub.push()
    await eventually('the push', () => world.status().pending_count === 1)
    expect(world.status()).toMatchObject({ delivery: 'ok', doorbells_rung: 0, surface: { attached: true } })
    const next = await world.shim({ ...pull, turn_seq: 1 })
    expect(await next.turnEndsAsking()).toMatchObject({ pending_count: 1 })
  })

  test('a pull shim counts as gone after pull_attachment_ms without a report', async () => {
    const clock = fakeClock()
    const world = await daemonWorld({ daemon: { clock } })
    await world.daemon.start()
    await world.connected()
    const hook = await world.shim(pull)
    await hook.report()
    expect(world.status().surface.attached).toBe(true)
    for (let left = LIMITS.pull_attachment_ms; left > 0; left -= 10_000) {
      await clock.advance(10_000)
      world.hub.send({ type: 'pong' })
    }
    expect(world.status().surface.attached).toBe(false)
  })

  test('a pull shim does not displace a push shim, and is displaced by one', async () => {
    const world = await readyDaemon()
    const hook = await world.shim({ ...pull, session_id: 'stray' })
    expect(await hook.turnEndsAsking()).toBeNull()
    expect(world.status().surface.session_id).toBe('session-1')
    world.first.leave()
    await eventually('the loss', () => !world.status().surface.attached)
    await hook.report()
    expect(world.status().surface).toMatchObject({ kind: 'codex', session_id: 'stray' })
    const push = await world.shim({ session_id: 'session-3' })
    await push.report()
    expect(world.status().surface).toMatchObject({ kind: 'claude-code', session_id: 'session-3' })
  })
})

describe('the surface socket', () => {
  test('the surface socket rejects every method but status, and every invalid report', async () => {
    const world = await readyDaemon()
    const client = await rawClient(world.paths.surface_socket)
    const lines = [
      { method: 'notify_surface', params: {} },
      { method: 'shutdown' },
      { method: 'status' },
      { method: 'status', params: { ...world.first.status, turn: 'asleep' } },
      { method: 'status', params: { ...world.first.status, turn_seq: -1 } },
      { method: 'status', params: { ...world.first.status, surface: 'emacs' } },
      { method: 'status', params: { ...world.first.status, session_id: '' } },
    ]
    lines.forEach((line, id) => client.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...line })}\n`))
    client.write('garbage\n')
    await eventually('all answers', () => client.lines().length === lines.length + 1)
    expect(client.lines().map(({ error }) => error?.data.code)).toEqual([
      'unknown_verb',
      'unknown_verb',
      'params_invalid',
      'params_invalid',
      'params_invalid',
      'params_invalid',
      'params_invalid',
      'frame_invalid',
    ])
    expect(world.status().surface).toMatchObject({ attached: true, session_id: 'session-1' })
  })

  test('the surface socket drops a shim that sends an endless line, and the shim counts as gone', async () => {
    const world = await daemonWorld()
    await world.daemon.start()
    await world.connected()
    const client = await rawClient(world.paths.surface_socket)
    const status = { surface: 'mcp', session_id: 's', delivery: 'push', turn: 'idle', turn_seq: 0 }
    client.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'status', params: status })}\n`)
    await eventually('the attachment', () => world.status().surface.attached)
    client.write('x'.repeat(70_000))
    await eventually('the loss', () => !world.status().surface.attached)
    expect(await world.ask('resume_surface')).toEqual({ accepted: false })
  })

  test('the surface socket has no surface before the first report', async () => {
    const world = await readyDaemon()
    await rawClient(world.paths.surface_socket)
    world.hub.push()
    await world.first.rung(1)
  })
})

describe('resume_surface', () => {
  test('resume_surface asks the shim to bind again and uses its status as the new attachment', async () => {
    const world = await readyDaemon()
    expect(await world.ask('resume_surface')).toEqual({ accepted: true })
    await eventually('the binding', () => world.status().surface.attached)
    expect(world.first.asked).toEqual(['resume_surface', 'status'])
    expect(world.status()).toMatchObject({ delivery: 'ok', last_error_class: null })
  })

  test('resume_surface binds a connected shim that has not reported yet', async () => {
    const world = await daemonWorld()
    await world.daemon.start()
    await world.connected()
    await world.shim()
    // The connection may not have been processed by the daemon's event loop yet.
    await eventually('somebody to bind', async () => {
      const answer = await world.ask('resume_surface')
      return (answer as { accepted: boolean }).accepted
    })
    await eventually('the binding', () => world.status().surface.attached)
  })

  test('resume_surface is rejected without a shim', async () => {
    const world = await daemonWorld()
    await world.daemon.start()
    expect(await world.ask('resume_surface')).toEqual({ accepted: false })
  })
})
