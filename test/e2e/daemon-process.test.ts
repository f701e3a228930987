/** Tests one daemon as a process: its shim, its files, its log, and its exit. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { DaemonStatus } from '../../src/contracts/control.ts'
import { Problem } from '../../src/contracts/errors/errors.ts'
import { resolveHome } from '../../src/system/config/home.ts'
import type { HubPid } from '../../src/system/config/hub-discovery.ts'
import { connectLocally } from '../../src/system/ipc/unix-socket.ts'
import { processAlive } from '../../src/system/process/process-info.ts'
import { writeFileAtomic } from '../../src/system/files/atomic-write.ts'
import { eventually } from '../support/eventually.ts'
import { fakeHub } from '../support/fakes/fake-hub.ts'
import { end, start, startDaemon, temporaryHome, turnbell } from '../support/processes/processes.ts'

const SUPERVISED = { personas: { ada: { surface: 'command', command: { argv: ['true'] } } } }

function homeWith(config: object): string {
  const home = temporaryHome()
  onTestFinished(() => fs.rmSync(home, { recursive: true, force: true }))
  // YAML is a superset of JSON.
  fs.writeFileSync(path.join(home, 'config.yaml'), JSON.stringify(config))
  return home
}

async function daemonOf(home: string, ...args: string[]) {
  const daemon = await startDaemon(home, 'ada', args)
  onTestFinished(() => void end(daemon))
  return daemon
}

const runDirectory = (home: string) => path.join(home, 'run/local/ada')

async function status(home: string): Promise<DaemonStatus> {
  const peer = await connectLocally(path.join(runDirectory(home), 'control.sock'))
  try {
    return (await peer.request('status', {}, 5_000)) as unknown as DaemonStatus
  } finally {
    peer.close()
  }
}

/** Writes the pid file of a ready hub. */
function writeHubPid(home: string, pid: HubPid): void {
  const file = resolveHome({}, home).hub_pid
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
  writeFileAtomic(file, JSON.stringify(pid))
}

function writeOperatorToken(home: string): void {
  fs.mkdirSync(path.join(home, 'secrets'), { mode: 0o700 })
  fs.writeFileSync(path.join(home, 'secrets/operator.token'), 'op\n', { mode: 0o600 })
}

const childOf = (pid: number) =>
  Number(fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')[0])

describe('a daemon with a command surface', () => {
  test('a daemon connects, starts its shim, and leaves only its last metrics after its end', async () => {
    const home = homeWith(SUPERVISED)
    const hub = await fakeHub()
    onTestFinished(() => hub.close())
    writeOperatorToken(home)
    const daemon = await daemonOf(home, '--hub', hub.url)
    await eventually('the hub', async () => (await status(home)).state === 'CONNECTED')
    await eventually('the shim', async () => (await status(home)).surface.attached)
    expect(hub.tokenRequests[0]?.bearer).toBe('Bearer op')
    const shim = childOf(daemon.child.pid as number)
    expect(await end(daemon, 'SIGTERM')).toBe(0)
    expect(fs.readdirSync(runDirectory(home))).toEqual(['daemon.state.json', 'metrics.prom'])
    const metrics = fs.readFileSync(path.join(runDirectory(home), 'metrics.prom'), 'utf8')
    expect(metrics).toContain('daemon_up{tenant_id="local",identity="ada"} 0')
    expect(processAlive(shim)).toBe(false)
    await eventually('the link to close', () => hub.links.length === 0)
  })

  test('a daemon restarts a killed shim and counts the restarts', async () => {
    const home = homeWith(SUPERVISED)
    const daemon = await daemonOf(home)
    await eventually('the shim', async () => (await status(home)).surface.attached)
    process.kill(childOf(daemon.child.pid as number), 'SIGKILL')
    await eventually('the next', async () => {
      const { restarts, surface } = await status(home)
      return restarts === 1 && surface.attached
    })
  })

  test('the shim of a killed daemon does not ring next to the new one', async () => {
    const home = homeWith(SUPERVISED)
    const daemon = await daemonOf(home)
    await eventually('the shim', async () => (await status(home)).surface.attached)
    const shim = childOf(daemon.child.pid as number)
    await end(daemon)
    const next = await daemonOf(home)
    expect((await status(home)).pid).toBe(next.child.pid)
    await eventually('the old shim to go', () => !processAlive(shim))
    await eventually('the new one', async () => (await status(home)).surface.attached)
  })
})

describe('a daemon', () => {
  test('the files of a daemon are readable only by its owner', async () => {
    const home = homeWith({})
    await daemonOf(home, '--surface', 'mcp')
    const open: string[] = []
    // Metrics are written to a temporary file and renamed continuously, so a listed file may be gone.
    for (const entry of fs.readdirSync(home, { recursive: true, withFileTypes: true })) {
      if (entry.name === 'config.yaml') continue
      const file = path.join(entry.parentPath, entry.name)
      const mode = fs.statSync(file, { throwIfNoEntry: false })?.mode ?? 0
      if ((mode & 0o077) !== 0) open.push(file)
    }
    expect(open).toEqual([])
  })

  test.each([
    ['without a surface', ['--persona', 'ada'], 78, 'personas.ada'],
    ['with a reserved name', ['--persona', 'operator', '--surface', 'mcp'], 78, 'reserved'],
    ['with an unknown flag', ['--persona', 'ada', '--remote', 'x'], 64, '--remote'],
  ])('a daemon does not start %s', async (_, args, code, text) => {
    const result = await turnbell(['daemon', '--home', homeWith({}), ...args])
    expect(result).toMatchObject({ code, stdout: '' })
    expect(result.stderr).toContain(text)
  })

  test('a daemon replaces an empty directory at the path of its socket', async () => {
    const home = homeWith({ personas: { ada: { surface: 'mcp' } } })
    const socket = path.join(runDirectory(home), 'surface.sock')
    fs.mkdirSync(socket, { recursive: true, mode: 0o700 })
    await daemonOf(home)
    expect(fs.lstatSync(socket).isSocket()).toBe(true)
  })

  test('a daemon recreates its removed run directory and stays the only one', async () => {
    const home = homeWith({ personas: { ada: { surface: 'mcp' } } })
    const daemon = await daemonOf(home)
    const { pid } = await status(home)
    fs.rmSync(path.join(home, 'run'), { recursive: true })
    const log = () => fs.readFileSync(path.join(home, 'logs/ada.log'), 'utf8')
    await eventually('the sockets', () => fs.existsSync(path.join(runDirectory(home), 'surface.sock')))
    expect((await status(home)).pid).toBe(pid)
    await eventually('the lock', () => log().includes('daemon lock was removed and taken again'))
    expect(fs.readFileSync(path.join(runDirectory(home), 'daemon.pid'), 'utf8')).toBe(`${pid}\n`)
    const second = await turnbell(['daemon', '--home', home, '--persona', 'ada'])
    expect(second.code).toBe(75)
    expect(await end(daemon, 'SIGTERM')).toBe(0)
    expect(log()).toContain('removed sockets recreated')
  })

  test('a daemon tries each hub that starts in its home at once and does not wait for its backoff', async () => {
    const home = homeWith({ personas: { ada: { surface: 'mcp' } } })
    const hub = await fakeHub()
    onTestFinished(() => hub.close())
    hub.tokenRefusal = { status: 503, body: {} }
    writeOperatorToken(home)
    await daemonOf(home)
    let [hubs, tried] = [0, 0]
    // With backoff alone, 16 failed attempts take minutes.
    await eventually('an attempt at each hub', () => {
      if (hub.tokenRequests.length > tried || hubs === 0) {
        tried = hub.tokenRequests.length
        hubs += 1
        const started_at = new Date(hubs).toISOString()
        writeHubPid(home, { pid: process.pid, url: hub.url, started_at })
      }
      return tried >= 16
    })
  })

  test('a daemon with an invalid configuration reports file and key', async () => {
    const home = homeWith({ personas: { ada: { surface: 'command', colour: 'red' } } })
    const result = await turnbell(['daemon', '--home', home, '--persona', 'ada', '--json'])
    expect(result.code).toBe(78)
    expect(result.stderr).toBe('')
    const problem = Problem.parse(result.json())
    expect(problem).toMatchObject({ code: 'config_invalid' })
    expect(problem.detail).toContain('config.yaml')
    expect(problem.detail).toContain('colour')
  })

  test('a second daemon logs why it does not start with the instance of its problem', async () => {
    const home = homeWith({})
    await daemonOf(home, '--surface', 'mcp')
    const second = await turnbell([
      'daemon',
      '--home',
      home,
      '--persona',
      'ada',
      '--surface',
      'mcp',
      '--json',
    ])
    expect(second).toMatchObject({ code: 75, stderr: '' })
    const instance = Problem.parse(second.json()).instance.replace('urn:turnbell:instance:', '')
    const paths = await turnbell(['paths', '--home', home, '--persona', 'ada', '--json'])
    const { log } = paths.json<{ log: string }>()
    const line = fs
      .readFileSync(log, 'utf8')
      .split('\n')
      .find((text) => text.includes(instance))
    expect(line).toContain('already_running')
  })

  test('a daemon with --json prints one document when it is ready', async () => {
    const home = homeWith({})
    const daemon = start(['daemon', '--home', home, '--persona', 'ada', '--surface', 'mcp', '--json'])
    onTestFinished(() => void end(daemon))
    await eventually('the line', () => daemon.output().endsWith('\n'))
    const control_socket = path.join(runDirectory(home), 'control.sock')
    expect(JSON.parse(daemon.output())).toMatchObject({ status: 'ready', identity: 'ada', control_socket })
  })

  test('a daemon writes its whole log as JSON lines', async () => {
    const home = homeWith({})
    const daemon = await daemonOf(home, '--surface', 'mcp')
    expect(await end(daemon, 'SIGINT')).toBe(0)
    const lines = fs.readFileSync(path.join(home, 'logs/ada.log'), 'utf8').trim().split('\n')
    const messages = lines.map((line) => (JSON.parse(line) as { msg: string }).msg)
    expect(messages).toContain('ready')
    expect(messages.at(-1)).toBe('stopped')
  })
})
