import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { DaemonStatus } from '../../../src/contracts/control.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { connectLocally } from '../../../src/system/ipc/unix-socket.ts'
import { daemonWorld, rawClient, readyDaemon, type DaemonWorld } from '../../support/worlds/daemon-world.ts'
import { eventually } from '../../support/eventually.ts'

const question = (id: number, method: string, params?: object) =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method, ...(params && { params }) })}\n`

async function started(): Promise<DaemonWorld> {
  const world = await daemonWorld()
  await world.daemon.start()
  return world
}

describe("the daemon's sockets", () => {
  test('the sockets are in a directory of mode 0700, have mode 0600, and are removed at a clean stop', async () => {
    const world = await started()
    const { socket_dir, control_socket, surface_socket } = world.paths
    expect([world.mode(socket_dir), world.mode(control_socket), world.mode(surface_socket)]).toEqual([
      0o700, 0o600, 0o600,
    ])
    await world.daemon.stop()
    expect([world.exists(control_socket), world.exists(surface_socket)]).toEqual([false, false])
  })

  test('the sockets are refused in a directory that other users can access', async () => {
    const world = await daemonWorld()
    fs.mkdirSync(world.paths.socket_dir, { mode: 0o755 })
    fs.chmodSync(world.paths.socket_dir, 0o755)
    await expect(world.daemon.start()).rejects.toMatchObject({ code: 'home_not_permitted' })
    expect(world.status().last_error_class).toBe('ipc_bind_failed')
  })

  test('the sockets replace those of a killed daemon', async () => {
    const world = await daemonWorld()
    fs.mkdirSync(world.paths.socket_dir, { mode: 0o700 })
    fs.writeFileSync(world.paths.control_socket, '')
    await world.daemon.start()
    expect(await world.askStatus()).toMatchObject({ identity: 'ada' })
  })

  test('the sockets are refused for a path longer than the system allows', async () => {
    const world = await daemonWorld()
    const socket_dir = path.join(world.paths.socket_dir, 'x'.repeat(120))
    const other = await daemonWorld({
      daemon: {
        paths: {
          socket_dir,
          control_socket: path.join(socket_dir, 'control.sock'),
          surface_socket: path.join(socket_dir, 'surface.sock'),
        },
      },
    })
    await expect(other.daemon.start()).rejects.toMatchObject({ code: 'bind_failed' })
  })

  test('the sockets accept a limited number of clients; the next one gets an error and is disconnected', async () => {
    const world = await started()
    const { control_socket } = world.paths
    const clients = []
    for (let n = 0; n < LIMITS.socket_clients_max; n += 1) clients.push(await rawClient(control_socket))
    const surplus = await rawClient(control_socket)
    await eventually('the surplus client to be let go', surplus.ended)
    expect(surplus.lines()[0]?.error?.data.code).toBe('limit_reached')
    clients[0]?.end()
    await eventually('a place', async () => {
      const next = await rawClient(control_socket)
      next.write(question(1, 'status'))
      await eventually('an answer', () => next.lines().length > 0 || next.ended())
      return next.lines()[0]?.result !== undefined
    })
  })
})

describe('the control socket', () => {
  test('status returns every field of the contract', async () => {
    const world = await readyDaemon()
    world.hub.push()
    await world.first.rung(1)
    const answer = await world.ask('status', { identity: 'ada' })
    const status = DaemonStatus.strict().parse(answer)
    expect(status).toMatchObject({
      tenant_id: 'local',
      identity: 'ada',
      pid: process.pid,
      state: 'CONNECTED',
      connected: true,
      delivery: 'ok',
      last_drain_age_s: null,
      pending_count: 1,
      last_error_class: null,
      surface: {
        kind: 'claude-code',
        attached: true,
        session_id: 'session-1',
        turn: 'idle',
        last_proof: 'sent',
      },
      doorbells_rung: 1,
      restarts: 0,
    })
    expect(status.last_heartbeat_age_s).not.toBeNull()
  })

  test('the control socket supports exactly four verbs; any other is unknown_verb', async () => {
    const world = await started()
    const client = await rawClient(world.paths.control_socket)
    const others = ['send', 'Status', 'drain', '', 'toString', '__proto__', 'x'.repeat(500)]
    others.forEach((method, n) => client.write(question(n, method)))
    await eventually('all answers', () => client.lines().length === others.length)
    for (const { error } of client.lines())
      expect([error?.code, error?.data.code]).toEqual([-32601, 'unknown_verb'])
  })

  test('a request about another persona is refused and counted as ipc_auth_failed', async () => {
    const world = await started()
    for (const verb of ['status', 'notify_surface', 'resume_surface', 'shutdown']) {
      await expect(world.ask(verb, { identity: 'bob' })).rejects.toMatchObject({ code: 'identity_mismatch' })
    }
    expect(world.stops).toEqual([])
    expect(world.status().last_error_class).toBe('ipc_auth_failed')
  })

  test.each([
    ['another member', { verbose: true }],
    ['an identity that is none', { identity: 7 }],
    ['an identity that is no name', { identity: '../bob' }],
  ])('params with %s are refused', async (_, params) => {
    const world = await started()
    await expect(world.ask('status', params)).rejects.toMatchObject({ code: 'params_invalid' })
  })

  test('the control socket returns errors for invalid lines and continues', async () => {
    const world = await started()
    const client = await rawClient(world.paths.control_socket)
    client.write('nonsense\n')
    client.write(Uint8Array.from([0xff, 0xfe, 0x0a]))
    client.write('[1,2]\n')
    client.write('{"jsonrpc":"1.0","id":7,"method":"status"}\n')
    client.write('{"jsonrpc":"2.0","id":8,"method":5}\n')
    client.write('{"jsonrpc":"2.0","id":9,"method":"status","params":[1]}\n')
    client.write('\n\r\n')
    client.write(question(10, 'status'))
    await eventually('seven answers', () => client.lines().length === 7)
    expect(client.lines().map(({ id, error }) => [id, error?.code ?? 'result'])).toEqual([
      [null, -32700],
      [null, -32700],
      [null, -32600],
      [7, -32600],
      [8, -32600],
      [9, -32600],
      [10, 'result'],
    ])
  })

  test('a line over the limit gets an error and closes the connection, wherever it was split', async () => {
    const world = await started()
    for (const chunk of [1_000, 65_536, 70_000]) {
      const client = await rawClient(world.paths.control_socket)
      for (let sent = 0; sent <= LIMITS.line_bytes_max; sent += chunk) client.write('x'.repeat(chunk))
      await eventually('the end', client.ended)
      expect(client.lines()[0]?.error?.data.code).toBe('line_too_long')
    }
    expect(await world.askStatus()).toMatchObject({ identity: 'ada' })
  })

  test('a line of exactly the limit is accepted in pieces', async () => {
    const world = await started()
    const client = await rawClient(world.paths.control_socket)
    const request = question(1, 'status').trimEnd()
    const line = request + ' '.repeat(LIMITS.line_bytes_max - request.length)
    client.write(line.slice(0, 10))
    client.write(line.slice(10))
    client.write('\n')
    await eventually('the answer', () => client.lines().length === 1)
    expect(client.lines()[0]?.result).toMatchObject({ identity: 'ada' })
  })

  test('many requests in one write are answered in order', async () => {
    const world = await started()
    const client = await rawClient(world.paths.control_socket)
    client.write(Array.from({ length: 50 }, (_, n) => question(n, 'status')).join(''))
    await eventually('all', () => client.lines().length === 50)
    expect(client.lines().map(({ id }) => id)).toEqual(Array.from({ length: 50 }, (_, n) => n))
  })

  test('a notification gets no response', async () => {
    const world = await started()
    const client = await rawClient(world.paths.control_socket)
    client.write('{"jsonrpc":"2.0","method":"status"}\n')
    client.write(question(1, 'status'))
    await eventually('one answer', () => client.lines().length === 1)
    expect(client.lines()[0]?.id).toBe(1)
  })

  test('a client that sends requests but never reads is disconnected', async () => {
    const world = await started()
    const socket = await connectLocally(world.paths.control_socket)
    socket.close()
    const net = await import('node:net')
    const deaf = net.connect(world.paths.control_socket)
    deaf.pause()
    let gone = false
    deaf.on('close', () => (gone = true)).on('error', () => {})
    const many = Array.from({ length: 500 }, (_, n) => question(n, 'status')).join('')
    await eventually('the end', () => {
      if (!gone) deaf.write(many)
      return gone
    })
  })

  test('notify_surface rings at once, or returns the reason why it does not', async () => {
    const world = await readyDaemon()
    expect(await world.ask('notify_surface')).toEqual({ accepted: false, reason: 'nothing_pending' })
    world.hub.push('ada', 0)
    await eventually('the push', () => world.status().pending_count === 1)
    expect(await world.ask('notify_surface', { identity: 'ada' })).toEqual({ accepted: true })
    await world.first.rung(1)
    expect(world.first.bells[0]).toMatchObject({ reason: 'manual', pending_count: 1 })
    expect(await world.ask('notify_surface')).toEqual({ accepted: false, reason: 'already_rung' })
  })

  test('shutdown is answered before the daemon stops, and afterwards no socket listens', async () => {
    const world = await readyDaemon()
    expect(await world.ask('shutdown')).toEqual({ stopping: true })
    await eventually('the sockets to go', () => !world.exists(world.paths.control_socket))
    expect(world.stops).toEqual([{ kind: 'requested' }])
    await eventually('the shim to be told', () => world.first.closed)
    await eventually('the link to close', () => world.hub.links.length === 0)
    await expect(world.ask('status')).rejects.toMatchObject({ code: 'daemon_unreachable' })
    await eventually('the last metrics', () =>
      world.written.at(-1)?.includes('daemon_up{tenant_id="local",identity="ada"} 0'),
    )
  })
})
