/** Tests that a home has one hub, and one daemon per persona, however they are started and ended. */
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import type { DaemonStatus } from '../../../src/contracts/control.ts'
import { eventually } from '../../support/eventually.ts'
import {
  end,
  type Running,
  start,
  startDaemon,
  startHub,
  temporaryHome,
  turnbell,
} from '../../support/processes/processes.ts'

const running: Running[] = []
const keep = <T extends Running>(process_: T): T => {
  running.push(process_)
  return process_
}
afterEach(async () => {
  await Promise.all(running.splice(0).map((process_) => end(process_)))
})

const status = async (home: string, persona: string) =>
  (await turnbell(['status', '--home', home, '--persona', persona, '--json'])).json<DaemonStatus>()

describe('a hub', () => {
  test('a hub prints its ready line, answers 200, and leaves nothing after SIGTERM', async () => {
    const home = temporaryHome()
    const hub = keep(await startHub(home))
    const ready = await fetch(`${hub.url}/ready`)
    expect(ready.status).toBe(200)

    expect(await end(hub, 'SIGTERM')).toBe(0)
    expect(fs.existsSync(path.join(home, 'hub/hub.pid'))).toBe(false)
    expect(fs.readdirSync(path.join(home, 'hub')).filter((name) => name.startsWith('lock'))).toEqual([])
  })

  test('the hub of a second home uses another port, and the same one again', async () => {
    // Another program on this machine may use the default port; from here on it is certainly used.
    keep(await startHub(temporaryHome(), []))
    const home = temporaryHome()
    const second = keep(await startHub(home, []))
    expect(new URL(second.url).port).not.toBe('4888')
    expect((await turnbell(['persona', 'list', '--home', home, '--json'])).json()).toEqual({ personas: [] })
    await end(second, 'SIGTERM')
    expect(keep(await startHub(home, [])).url).toBe(second.url)
  })

  test('a hub on a requested port in use does not start and names its process', async () => {
    const first = keep(await startHub(temporaryHome()))
    const { port } = new URL(first.url)
    const { code, stderr } = await turnbell(['hub', '--home', temporaryHome(), '--port', port])
    expect(code).toBe(1)
    expect(stderr).toContain('bind_failed')
    expect(stderr).toMatch(`127.0.0.1:${port} is in use by the hub`)
    expect(stderr).toContain(`(process ${first.child.pid})`)
  })

  test('a second hub on the same home exits 75 and names the first', async () => {
    const home = temporaryHome()
    const first = keep(await startHub(home))
    const second = keep(start(['hub', '--home', home, '--port', '0']))
    expect(await second.exited).toBe(75)
    expect(second.output()).toContain(String(first.child.pid))
  })

  test('exactly one of two hubs that start together runs', async () => {
    const home = temporaryHome()
    const [one, two] = [0, 1].map(() => keep(start(['hub', '--home', home, '--port', '0']))) as [
      Running,
      Running,
    ]
    const loser = await Promise.race([
      one.exited.then((how) => ({ how, winner: two })),
      two.exited.then((how) => ({ how, winner: one })),
    ])
    expect(loser.how).toBe(75)
    await eventually('the other is ready', () => loser.winner.output().includes('turnbell hub ready'))
  })

  test('a hub starts at once on the home of a killed one', async () => {
    const home = temporaryHome()
    await end(keep(await startHub(home)), 'SIGKILL')
    const next = keep(await startHub(home))
    expect((await fetch(`${next.url}/ready`)).status).toBe(200)
  })

  test('a hub creates its home and secrets as private', async () => {
    const home = path.join(temporaryHome(), 'fresh')
    keep(await startHub(home))
    expect(fs.statSync(home).mode & 0o777).toBe(0o700)
    for (const secret of ['operator.token', 'signing.key']) {
      expect(fs.statSync(path.join(home, 'secrets', secret)).mode & 0o777).toBe(0o600)
    }
  })

  test('a hub refuses a home that others can access', async () => {
    const home = temporaryHome()
    fs.chmodSync(home, 0o755)
    const hub = keep(start(['hub', '--home', home, '--port', '0']))
    expect(await hub.exited).toBe(77)
    expect(hub.output()).toContain('chmod 700')
  })

  test('a hub names an invalid configuration key and exits 78', async () => {
    const home = temporaryHome()
    fs.writeFileSync(path.join(home, 'config.yaml'), 'hub:\n  prot: 4888\n')
    const hub = keep(start(['hub', '--home', home, '--port', '0']))
    expect(await hub.exited).toBe(78)
    expect(hub.output()).toContain('prot')
    expect(hub.output()).toContain('config.yaml')
  })

  test('a hub reports a port in use', async () => {
    const taken = net.createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const { port } = taken.address() as net.AddressInfo
    const hub = keep(start(['hub', '--home', temporaryHome(), '--port', String(port)]))
    expect(await hub.exited).toBe(1)
    expect(hub.output()).toContain(String(port))
    taken.close()
  })
})

describe('a daemon', () => {
  test('a second daemon of a persona exits 75 and names the first', async () => {
    const home = temporaryHome()
    keep(await startHub(home))
    const first = keep(await startDaemon(home, 'ada', ['--surface', 'mcp']))
    const second = keep(start(['daemon', '--home', home, '--persona', 'ada', '--surface', 'mcp']))
    expect(await second.exited).toBe(75)
    expect(second.output()).toContain(String(first.child.pid))
  })

  test('daemons of two personas do not affect each other', async () => {
    const home = temporaryHome()
    keep(await startHub(home))
    const ada = keep(await startDaemon(home, 'ada', ['--surface', 'mcp']))
    const bob = keep(await startDaemon(home, 'bob', ['--surface', 'mcp']))
    expect(ada.child.pid).not.toBe(bob.child.pid)
    expect(ada.control_socket).not.toBe(bob.control_socket)
    await end(ada, 'SIGKILL')
    expect(await status(home, 'bob')).toMatchObject({ pid: bob.child.pid })
  })

  test('a daemon starts at once after its predecessor was killed', async () => {
    const home = temporaryHome()
    await end(keep(await startDaemon(home, 'ada', ['--surface', 'mcp'])), 'SIGKILL')
    const next = keep(await startDaemon(home, 'ada', ['--surface', 'mcp']))
    expect(await status(home, 'ada')).toMatchObject({ pid: next.child.pid })
  })

  test('a daemon creates private sockets and removes them at its end', async () => {
    const home = temporaryHome()
    const daemon = keep(await startDaemon(home, 'ada', ['--surface', 'mcp']))
    const directory = path.dirname(daemon.control_socket)
    expect(fs.statSync(directory).mode & 0o777).toBe(0o700)
    for (const name of ['control.sock', 'surface.sock']) {
      expect(fs.statSync(path.join(directory, name)).mode & 0o777).toBe(0o600)
    }
    expect(await end(daemon, 'SIGTERM')).toBe(0)
    expect(fs.readdirSync(directory).filter((name) => /sock|pid|lock/.test(name))).toEqual([])
  })

  test('a daemon places its sockets elsewhere if the path is too long and reports where', async () => {
    const home = path.join(temporaryHome(), 'x'.repeat(90))
    const daemon = keep(await startDaemon(home, 'ada', ['--surface', 'mcp']))
    expect(Buffer.byteLength(daemon.control_socket)).toBeLessThan(104)
    expect(fs.statSync(path.dirname(daemon.control_socket)).mode & 0o777).toBe(0o700)
    await end(daemon, 'SIGTERM')
  })

  test('a daemon without a persona is a configuration error', async () => {
    const daemon = keep(start(['daemon', '--home', temporaryHome()]))
    expect(await daemon.exited).toBe(78)
  })

  test('a daemon runs disconnected without a hub', async () => {
    const home = temporaryHome()
    keep(await startDaemon(home, 'ada', ['--surface', 'mcp']))
    expect(await status(home, 'ada')).toMatchObject({ connected: false, state: 'DISCONNECTED' })
    keep(await startHub(home))
    await eventually('it finds the hub', async () => (await status(home, 'ada')).connected)
  })
})
