/** Tests the command line with real hubs and daemons, as used in two terminals. */
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { DaemonStatus } from '../../src/contracts/control.ts'
import { Problem } from '../../src/contracts/errors/errors.ts'
import { Receipt, type DrainResult } from '../../src/contracts/signal.ts'
import { attachedUsers } from '../../src/system/clients/attached-users.ts'
import { personaPaths, resolveHome } from '../../src/system/config/home.ts'
import { processAlive } from '../../src/system/process/process-info.ts'
import { eventually } from '../support/eventually.ts'
import {
  BIN,
  cleanEnvironment,
  end,
  startDaemon,
  startHub,
  standStill,
  startReady,
  temporaryHome,
  turnbell,
  type Running,
} from '../support/processes/processes.ts'

const running: Running[] = []
const homes: string[] = []

afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => end(one)))
  // Processes started by `up` survive a test that fails.
  for (const home of homes.splice(0)) {
    for (const pid of pidsOf(home)) if (processAlive(pid)) process.kill(pid, 'SIGKILL')
    fs.rmSync(home, { recursive: true, force: true })
  }
})

function keep<T extends Running>(one: T): T {
  running.push(one)
  return one
}

/** Returns a home whose hub takes any free port, with personas of a surface without requirements. */
function home(...personas: string[]): string {
  const made = temporaryHome()
  homes.push(made)
  const entries = personas.map((name) => `  ${name}:\n    surface: mcp\n`).join('')
  fs.writeFileSync(
    path.join(made, 'config.yaml'),
    `hub:\n  port: 0 # any\npersonas:${entries === '' ? ' {}\n' : `\n${entries}`}`,
  )
  return made
}

const pathsOf = (at: string, identity: string) => personaPaths(resolveHome({}, at), 'local', identity, {})

function pidsOf(at: string): number[] {
  const run = path.join(at, 'run/local')
  const daemons = fs.existsSync(run) ? fs.readdirSync(run).map((name) => pathsOf(at, name).daemon_pid) : []
  return [path.join(at, 'hub/hub.pid'), ...daemons].flatMap((file) => {
    const pid = fs.existsSync(file) ? /\d+/.exec(fs.readFileSync(file, 'utf8')) : null
    return pid === null ? [] : [Number(pid[0])]
  })
}
const hubPid = (at: string) =>
  (JSON.parse(fs.readFileSync(path.join(at, 'hub/hub.pid'), 'utf8')) as { pid: number }).pid

const up = async (at: string) =>
  keep(await startReady(['up', '--home', at], /turnbell up ready (\S+) \((\d+) daemons?\)/))

async function statusOf(at: string, persona: string): Promise<DaemonStatus> {
  const asked = await turnbell(['status', '--home', at, '--persona', persona, '--json'])
  if (asked.code !== 0) throw new Error(asked.stdout)
  return asked.json<DaemonStatus>()
}
const connected = (at: string, persona: string) =>
  eventually(`${persona} is connected`, async () => {
    const status = await statusOf(at, persona)
    return status.connected && status
  })

describe('up, send, status, pending, shutdown', () => {
  test('up, send, status, pending and shutdown work together, and Ctrl-C stops every process', async () => {
    const at = home('ada')
    const added = await turnbell(['persona', 'add', 'bob', '--home', at, '--surface', 'mcp'])
    expect(added.code).toBe(0)
    expect(added.stdout).toContain('No hub runs')
    expect(fs.readFileSync(path.join(at, 'config.yaml'), 'utf8')).toContain('port: 0 # any')

    const all = await up(at)
    expect(all.ready[2]).toBe('2')
    await connected(at, 'ada')

    const status = await turnbell(['status', '--home', at, '--json'])
    for (const one of status.json<{ running: boolean; status: unknown }[]>()) {
      expect(one.running).toBe(true)
      expect(DaemonStatus.safeParse(one.status).success).toBe(true)
    }

    const sent = await turnbell(['send', '--home', at, '--to', 'ada', 'Please look.', '--json'])
    const receipt = Receipt.parse(sent.json())
    expect(receipt.route).toEqual({ live: false, reason: 'surface_absent' })
    await eventually('the daemon knows', async () => (await statusOf(at, 'ada')).pending_count === 1)

    const pending = (...more: string[]) =>
      turnbell(['pending', '--home', at, '--persona', 'ada', '--json', ...more])
    expect((await pending()).json<DrainResult>().signals).toHaveLength(1)
    const drained = (await pending('--take')).json<DrainResult>()
    expect(drained.signals).toMatchObject([
      { signal_id: receipt.signal_id, payload: 'Please look.', origin: 'human', deliveries: 1 },
    ])
    expect((await pending('--take')).json<DrainResult>().signals).toEqual([])
    const read = await turnbell([
      ...['call', 'signals', 'read', '--home', at, '--json'],
      ...['--params', JSON.stringify({ signal_id: receipt.signal_id })],
    ])
    expect(read.json()).toMatchObject({
      status: 'acked',
      stages: { confirmed_at: expect.any(String) as string },
    })

    const { pid } = await statusOf(at, 'bob')
    const stopped = await turnbell(['shutdown', '--home', at, '--persona', 'bob', '--json'])
    expect(stopped.code).toBe(0)
    expect(stopped.json()).toMatchObject({ pid, socket_gone: true, process_gone: true })
    expect(processAlive(pid)).toBe(false)
    await eventually('up says so', () => /bob: stopped/.test(all.output()))

    const pids = pidsOf(at)
    expect(await end(all, 'SIGINT')).toBe(0)
    expect(pids.filter(processAlive)).toEqual([])
    expect(pidsOf(at)).toEqual([])
    expect(fs.existsSync(pathsOf(at, 'ada').control_socket)).toBe(false)
  })

  test('a signal is delivered again after its reader ended during the output', async () => {
    const at = home('ada')
    keep(await startHub(at))
    expect((await turnbell(['send', '--home', at, '--to', 'ada', 'for a closed pipe'])).stderr).toBe('')
    const child = spawn(process.execPath, [BIN, 'pending', '--home', at, '--persona', 'ada', '--take'], {
      env: cleanEnvironment(),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    child.stdout.destroy()
    expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(1)
    const again = await turnbell(['pending', '--home', at, '--persona', 'ada', '--take', '--json'])
    expect(again.json<DrainResult>().signals).toMatchObject([{ payload: 'for a closed pipe', deliveries: 2 }])
  })
})

describe('the user', () => {
  test('send --wait returns the answer across a hub restart, and other answers are in the inbox', async () => {
    const at = home('ada')
    const first = keep(await startHub(at))
    const child = spawn(
      process.execPath,
      [BIN, 'send', '--home', at, '--to', 'ada', '--wait', '2m', 'Is main green?', '--json'],
      { env: cleanEnvironment(), stdio: ['ignore', 'pipe', 'inherit'] },
    )
    let answer = ''
    child.stdout.on('data', (chunk: Buffer) => (answer += chunk.toString()))
    const ended = new Promise((resolve) => child.once('close', resolve))
    const agent = (action: string, params: object) =>
      turnbell(['call', 'signals', action, '--home', at, '--json', '--params', JSON.stringify(params)])
    const asked = await eventually('the question is there', async () => {
      const page = (await agent('inbox', { to: 'ada' })).json<{ signals: { signal_id: string }[] }>()
      return page.signals[0]
    })
    await end(first)
    keep(await startHub(at))
    await agent('ack', { signal_ids: [asked.signal_id], result: 'yes' })
    expect(await ended).toBe(0)
    expect(JSON.parse(answer)).toMatchObject({
      signal_id: asked.signal_id,
      status: 'completed',
      result: 'yes',
    })
    const inbox = async (...more: string[]) =>
      (await turnbell(['inbox', '--home', at, '--json', ...more])).json<DrainResult>().signals
    expect(await inbox()).toEqual([])

    await turnbell(['send', '--home', at, '--from', 'ada', '--to', 'operator', 'done'])
    expect(await inbox()).toMatchObject([{ from: 'ada', payload: 'done' }])
    expect(await inbox('--take')).toHaveLength(1)
    expect(await inbox()).toEqual([])

    const sent = (
      await turnbell(['send', '--home', at, '--to', 'ada', 'never mind', '--json'])
    ).json<Receipt>()
    expect((await turnbell(['cancel', '--home', at, sent.signal_id])).code).toBe(0)
    const log = await turnbell(['log', '--home', at, '--persona', 'ada', '--json'])
    const { signals } = log.json<{ signals: { signal_id: string; stage: string }[] }>()
    expect(signals.map(({ stage }) => stage)).toEqual(['completed', 'confirmed', 'cancelled'])
  })

  test('send starts a hub if none runs, unless autostart is off', async () => {
    const at = home('ada')
    const sent = await turnbell(['send', '--home', at, '--to', 'ada', 'hello', '--json'])
    expect(sent.stderr).toContain(`turnbell down --home ${at}`)
    expect(Receipt.parse(sent.json())).toMatchObject({ status: 'pending' })
    process.kill(hubPid(at), 'SIGTERM')
    await eventually('it has ended', () => pidsOf(at).length === 0)
    const refused = await turnbell(['send', '--home', at, '--no-autostart', '--to', 'ada', 'hello', '--json'])
    expect(refused.code).toBe(69)
  })
})

describe('up', () => {
  test('up names the open windows when it is stopped on a pipe', async () => {
    const at = home('ada')
    const all = await up(at)
    attachedUsers(pathsOf(at, 'ada').run_dir, 'codex').attach(process.pid)
    expect(await end(all, 'SIGINT')).toBe(0)
    expect(all.output()).toMatch(new RegExp(`ada +Codex \\(process ${process.pid}\\)`))
  })

  test('up restarts a crashed daemon and a crashed hub with its queue', async () => {
    const at = home('ada')
    await up(at)
    const first = await connected(at, 'ada')
    await turnbell(['send', '--home', at, '--to', 'ada', 'kept'])
    const hub = hubPid(at)
    process.kill(first.pid, 'SIGKILL')
    process.kill(hub, 'SIGKILL')
    const second = await eventually(
      'both are back',
      async () => {
        const status = await statusOf(at, 'ada')
        return status.pid !== first.pid && status.connected && status.pending_count === 1 && status
      },
      30_000,
    )
    expect(hubPid(at)).not.toBe(hub)
    expect(processAlive(second.pid)).toBe(true)
  })

  test('the processes of a killed up are used by the next one and keep running', async () => {
    const at = home('ada')
    const first = await up(at)
    const daemon = await connected(at, 'ada')
    const hub = hubPid(at)
    await end(first, 'SIGKILL')
    expect([daemon.pid, hub].filter(processAlive)).toHaveLength(2)

    const second = await up(at)
    expect((await statusOf(at, 'ada')).pid).toBe(daemon.pid)
    expect(hubPid(at)).toBe(hub)
    await eventually('up says whose they are', () => /ada: running .*already running/.test(second.output()))
    expect(await end(second, 'SIGTERM')).toBe(0)
    expect([daemon.pid, hub].filter(processAlive)).toHaveLength(2)
  })

  test('up stops its daemons and keeps a hub that was running before', async () => {
    const at = home('ada')
    const hub = keep(await startHub(at))
    const all = await up(at)
    const { pid } = await connected(at, 'ada')
    expect(await end(all, 'SIGINT')).toBe(0)
    expect(processAlive(pid)).toBe(false)
    expect(hub.child.exitCode).toBe(null)
  })

  test('up follows personas that are added, wrapped and reactivated', async () => {
    const at = home('ada')
    await up(at)
    const first = await connected(at, 'ada')
    const wrapped = await turnbell(['persona', 'wrap', 'ada', '--home', at, '--json'])
    expect(wrapped.json()).toMatchObject({
      persona: { state: 'wrapped' },
      daemon: { pid: first.pid, socket_gone: true, process_gone: true },
    })
    expect((await turnbell(['send', '--home', at, '--to', 'ada', 'x', '--json'])).json<Problem>().code).toBe(
      'target_wrapped',
    )
    await turnbell(['persona', 'add', 'bob', '--home', at, '--surface', 'mcp'])
    await connected(at, 'bob')
    expect((await turnbell(['status', '--home', at, '--persona', 'ada'])).code).toBe(69)
    await turnbell(['persona', 'add', 'ada', '--home', at, '--surface', 'mcp'])
    expect((await connected(at, 'ada')).pid).not.toBe(first.pid)
  })

  test('up restarts a daemon with outdated settings', async () => {
    const at = home('ada')
    const all = await up(at)
    const first = await connected(at, 'ada')
    // Otherwise it could notice the change and stop the daemon before the command does.
    const goOn = await standStill(all)
    const added = await turnbell([
      ...['persona', 'add', 'ada', '--home', at],
      ...['--surface', 'command', '--command', 'true'],
    ])
    expect(added.stdout).toContain('still has the old settings')
    goOn()
    await eventually('the new daemon', async () => (await statusOf(at, 'ada')).pid !== first.pid)
    expect((await connected(at, 'ada')).surface.kind).toBe('command')
    expect(processAlive(first.pid)).toBe(false)
  })

  test('up uses a daemon that was restarted by hand and keeps it running', async () => {
    const at = home('ada')
    const all = await up(at)
    await connected(at, 'ada')
    await turnbell(['shutdown', '--home', at, '--persona', 'ada'])
    await eventually('up says so', () => /ada: stopped/.test(all.output()))
    const byHand = keep(await startDaemon(at, 'ada'))
    await eventually('up sees it', () => /ada: running .*already running/.test(all.output()))
    expect(await end(all, 'SIGINT')).toBe(0)
    expect(all.output()).toContain('still running: ada')
    expect(byHand.child.exitCode).toBe(null)
  })

  test('up does not start a wrapped persona', async () => {
    const at = home('ada', 'bob')
    const first = await up(at)
    await connected(at, 'ada')
    await turnbell(['persona', 'wrap', 'ada', '--home', at])
    await end(first, 'SIGINT')
    const second = await up(at)
    expect(second.ready[2]).toBe('1')
    expect((await turnbell(['status', '--home', at, '--persona', 'ada'])).code).toBe(69)
    // Started by hand, the daemon exits with a code that no supervisor restarts.
    expect((await turnbell(['daemon', '--home', at, '--persona', 'ada'])).code).toBe(0)
  })

  test('up --json prints one document and logs to stderr', async () => {
    const at = home('ada')
    const child = spawn(process.execPath, [BIN, 'up', '--home', at, '--json'], {
      env: cleanEnvironment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    await eventually('it says that it runs', () => /ada: connected/.test(stderr))
    child.kill('SIGINT')
    expect(await new Promise((resolve) => child.once('close', resolve))).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      home: at,
      hub: { state: 'running', ours: true },
      personas: [{ name: 'ada', state: 'running' }],
    })
  })

  test('up exits with the reason if the hub cannot be started', async () => {
    const at = home('ada')
    const other = net.createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const { port } = other.address() as net.AddressInfo
    fs.writeFileSync(path.join(at, 'config.yaml'), `hub:\n  port: ${port}\n`)
    const tried = await turnbell(['up', '--home', at, '--json'])
    other.close()
    expect(tried.code).toBe(69)
    expect(tried.json<Problem>()).toMatchObject({ code: 'hub_unreachable' })
    expect(tried.json<Problem>().detail).toContain(String(port))
  })
})

describe('the removal of a project', () => {
  test('persona remove --project stops only the daemons of its personas', async () => {
    const at = home()
    const shop = fs.mkdtempSync(path.join(at, 'shop-'))
    const blog = fs.mkdtempSync(path.join(at, 'blog-'))
    keep(await startHub(at))
    for (const [name, project] of [
      ['ada', shop],
      ['bob', shop],
      ['cleo', blog],
    ] as const) {
      await turnbell(['persona', 'add', name, '--home', at, '--surface', 'mcp', '--project', project])
      keep(await startDaemon(at, name))
    }
    const removed = await turnbell(['persona', 'remove', '--project', shop, '--home', at, '--json'])
    expect(
      removed
        .json<{ removed: { identity: string }[] }>()
        .removed.map((one) => one.identity)
        .sort(),
    ).toEqual(['ada', 'bob'])
    expect((await turnbell(['status', '--home', at, '--persona', 'ada'])).code).toBe(69)
    expect((await turnbell(['status', '--home', at, '--persona', 'bob'])).code).toBe(69)
    expect((await connected(at, 'cleo')).identity).toBe('cleo')
    const { personas } = parse(fs.readFileSync(path.join(at, 'config.yaml'), 'utf8')) as { personas: object }
    expect(Object.keys(personas)).toEqual(['cleo'])
  })
})

describe('a token from the command line', () => {
  test('a token is accepted by the hub of the same home with only its permissions', async () => {
    const at = home('ada')
    const made = await turnbell(['token', 'create', '--home', at, '--identity', 'ada', '--kind', 'agent'])
    const { url } = keep(await startHub(at))
    const call = (action: string, params: object) =>
      fetch(`${url}/call`, {
        method: 'POST',
        headers: { authorization: `Bearer ${made.stdout.trim()}`, 'content-type': 'application/json' },
        body: JSON.stringify({ tool: action.split('.')[0], action: action.split('.')[1], params }),
      })
    expect((await call('signals.inbox', {})).status).toBe(200)
    expect((await call('personas.remove', { identity: 'ada' })).status).toBe(403)
  })
})

describe('the command', () => {
  const run = (bin: string, ...args: string[]) =>
    spawnSync(process.execPath, [bin, ...args], { env: cleanEnvironment(), encoding: 'utf8' })

  test.each([
    ['another command', ['--version']],
    ['a daemon', ['daemon', '--help']],
    ['a daemon without a persona', ['daemon']],
  ])('turnbell.js prints the same for %s as turnbell.cjs', (_, args) => {
    const { status, stdout, stderr } = run(BIN, ...args)
    expect(stdout + stderr).not.toBe('')
    const former = path.join(path.dirname(BIN), 'turnbell.js')
    expect(run(former, ...args)).toMatchObject({ status, stdout, stderr })
  })

  test.each([
    ['needs none', 'status --json', 0, '[]'],
    ['needs none, as a hook,', 'hook post-commit', 0, ''],
    ['needs one', 'connect git --json', 64, 'usage_invalid'],
    ['needs none to say that no hub runs', 'call signals inbox --json', 69, 'hub_unreachable'],
    ['needs none for an absolute path', 'call memory list --scope / --json', 69, 'hub_unreachable'],
    ['needs none for a persona', 'persona add ada --surface mcp --json', 0, '"ada"'],
    ['needs none for one in a project', 'persona add ada --surface mcp --project / --json', 0, '"ada"'],
    [
      'needs one for a relative path',
      'persona add ada --surface mcp --project . --json',
      64,
      'usage_invalid',
    ],
  ])('a command in a removed directory %s', (_, line, code, said) => {
    const gone = path.join(home(), 'gone')
    const script = `mkdir ${gone}; cd ${gone}; rmdir ${gone}; "${process.execPath}" "${BIN}" ${line} --home ${home()}`
    const { status, stdout, stderr } = spawnSync('sh', ['-c', script], {
      env: cleanEnvironment(),
      encoding: 'utf8',
    })
    expect({ status, stderr }).toEqual({ status: code, stderr: '' })
    expect(stdout).toContain(said)
  })

  test.each([
    ['status', 'cli.js'],
    ['hub', 'hub.js'],
    ['daemon', 'daemon.cjs'],
  ])('%s exits 1 with the reason if its bundle cannot be loaded', (command, file) => {
    // The file alone, without its neighbouring bundles.
    const alone = path.join(home(), 'turnbell.cjs')
    fs.copyFileSync(BIN, alone)
    const { status, stdout, stderr } = run(alone, command)
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toContain(path.join(path.dirname(alone), file))
  })
})

describe('exit codes', () => {
  const code = async (...args: string[]) => {
    const ran = await turnbell([...args, '--json'])
    return { code: ran.code, problem: Problem.safeParse(JSON.parse(ran.stdout)).data?.code }
  }

  test('the exit codes 0, 2, 64, 69, 75, 77 and 78 have their documented meaning', async () => {
    const at = home('ada')
    const hub = keep(await startHub(at))
    expect(await code('send', '--home', at, '--to', 'nobody-here', 'x')).toEqual({
      code: 2,
      problem: 'target_unknown',
    })
    expect(await code('call', 'signals', 'explode', '--home', at)).toEqual({
      code: 2,
      problem: 'action_unknown',
    })
    expect((await turnbell(['hub', '--home', at, '--port', '0'])).code).toBe(75)
    expect(await code('send', '--home', at)).toEqual({ code: 64, problem: 'usage_invalid' })
    await end(hub, 'SIGTERM')
    expect(await code('send', '--no-autostart', '--home', at, '--to', 'ada', 'x')).toEqual({
      code: 69,
      problem: 'hub_unreachable',
    })
    fs.chmodSync(at, 0o755)
    expect(await code('token', 'create', '--home', at, '--identity', 'a', '--kind', 'agent')).toEqual({
      code: 77,
      problem: 'home_not_permitted',
    })
    fs.chmodSync(at, 0o700)
    fs.writeFileSync(path.join(at, 'config.yaml'), 'hubb: {}\n')
    expect(await code('status', '--home', at)).toEqual({ code: 78, problem: 'config_invalid' })
  })

  test('75 and 78 are reported as success to a manager that restarts after every failure', async () => {
    const at = home()
    fs.writeFileSync(path.join(at, 'config.yaml'), 'hubb: {}\n')
    const env = { TURNBELL_FINAL_EXITS: '75 78' }
    expect((await turnbell(['hub', '--home', at], { env })).code).toBe(0)
    expect((await turnbell(['status', '--home', at, '--persona', 'ada', '--hepl'], { env })).code).toBe(64)
  })
})
