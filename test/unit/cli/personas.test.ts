import { spawn, type ChildProcess } from 'node:child_process'
import { createHmac } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { deliveryWords } from '../../../src/cli/render.ts'
import { parse } from 'yaml'
import type { Problem } from '../../../src/contracts/errors/errors.ts'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { PersonaStatusList } from '../../../src/contracts/persona-status.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { takeOwnerLock } from '../../../src/system/files/owner-lock.ts'
import { personaPaths, resolveHome, type PersonaPaths } from '../../../src/system/config/home.ts'
import { processStartTime } from '../../../src/system/process/process-info.ts'
import { daemonStatus, fakeDaemon } from '../../support/fakes/fake-daemon.ts'
import { testCli, type FakeHub } from '../../support/processes/test-cli.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const persona = (identity: string, state = 'active') => ({
  identity,
  surface: 'mcp',
  state,
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
})
const hub: FakeHub = {
  'personas.add': ({ identity }) => persona(String(identity)),
  'personas.wrap': ({ identity }) => persona(String(identity), 'wrapped'),
  'personas.remove': ({ identity }) => persona(String(identity), 'removed'),
}
const settingsIn = (home: string): Record<string, unknown> =>
  (parse(fs.readFileSync(path.join(home, 'config.yaml'), 'utf8')) as { personas: Record<string, unknown> })
    .personas
const pathsOf = (home: string, identity: string) => personaPaths(resolveHome({}, home), 'local', identity, {})

/** A process that does nothing until it is ended; it represents the daemon. */
function standIn(): ChildProcess {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** Holds the lock of a running daemon, as this process or as another. */
async function holdLock(paths: PersonaPaths, pid = process.pid): Promise<void> {
  const lock = paths.daemon_lock
  const held = await takeOwnerLock({ lock, what: 'the daemon of ada', onLost: () => {} })
  onTestFinished(() => held.release())
  fs.writeFileSync(`${lock}.owner`, JSON.stringify({ pid, started: processStartTime(pid) }))
}

/** Each wait ends at once and counts as a second. */
function hastyClock(): Clock {
  let skipped = 0
  return {
    ...systemClock,
    monotonic: () => skipped,
    after(_, call) {
      skipped += 1_000
      return systemClock.after(0, call)
    },
  }
}

describe('persona add', () => {
  test('persona add writes the entry and adds the persona at the hub', async () => {
    const home = temporaryDirectory()
    const turnbell = testCli({ home, hub })
    expect(await turnbell.run('persona', 'add', 'ada', '--surface', 'mcp', '--project', '.')).toBe(0)
    expect(settingsIn(home)).toEqual({ ada: { surface: 'mcp', project: home } })
    expect(turnbell.hubCalls).toEqual([
      { what: 'personas.add', params: { identity: 'ada', surface: 'mcp', project: home }, token: null },
    ])
  })

  test('persona add reports that a directory with a home is not a project', async () => {
    const home = path.join(temporaryDirectory(), '.turnbell')
    const turnbell = testCli({ home, hub })
    const own = path.dirname(home)
    expect(await turnbell.run('persona', 'add', 'ada', '--surface', 'mcp', '--project', own)).toBe(0)
    expect(settingsIn(home)).toEqual({ ada: { surface: 'mcp', project: own } })
    expect(turnbell.stdout()).toContain(own)
  })

  test('persona add without a hub writes the entry and reports when the hub adds it', async () => {
    const home = temporaryDirectory()
    const turnbell = testCli({ home })
    expect(await turnbell.run('persona', 'add', 'ada', '--surface', 'claude-code')).toBe(0)
    expect(settingsIn(home)).toEqual({ ada: { surface: 'claude-code' } })
    expect(turnbell.stdout()).toContain('No hub runs')
    await turnbell.run('persona', 'add', 'ada', '--surface', 'claude-code', '--json')
    expect(turnbell.json()).toMatchObject({ identity: 'ada', config_changed: false, registered: false })
  })

  test('persona add creates the home and its file for the owner only', async () => {
    const home = path.join(temporaryDirectory(), 'new')
    await testCli({ home }).run('persona', 'add', 'ada', '--surface', 'mcp')
    expect(fs.statSync(home).mode & 0o777).toBe(0o700)
    expect(fs.statSync(path.join(home, 'config.yaml')).mode & 0o777).toBe(0o600)
  })

  test('persona add accepts the program as a line or as words', async () => {
    const home = temporaryDirectory()
    const turnbell = testCli({ home })
    const add = (name: string, ...more: string[]) =>
      turnbell.run('persona', 'add', name, '--surface', 'command', ...more)
    expect(await add('one', '--command', 'agent --say "hello there"')).toBe(0)
    expect(await add('two', '--command', 'my agent', '--command', '--x y', '--status-file', 'state')).toBe(0)
    expect(settingsIn(home)).toEqual({
      one: { surface: 'command', command: { argv: ['agent', '--say', 'hello there'] } },
      two: {
        surface: 'command',
        command: { argv: ['my agent', '--x y'], status_file: path.join(home, 'state') },
      },
    })
  })

  test('persona add --acp uses the working directory by default', async () => {
    const home = temporaryDirectory()
    const turnbell = testCli({ home })
    const add = (...more: string[]) => turnbell.run('persona', 'add', 'eve', '--surface', 'opencode', ...more)
    expect(await add('--acp', 'opencode acp', '--permissions', 'allow')).toBe(0)
    const eve = {
      surface: 'opencode',
      project: home,
      acp: { argv: ['opencode', 'acp'] },
      permissions: 'allow',
    }
    expect(settingsIn(home)).toEqual({ eve })
    expect(await add()).toBe(0)
    expect(settingsIn(home)).toEqual({ eve })
    expect(await add('--acp', '/my tools/opencode', '--acp', 'acp', '--permissions', 'reject')).toBe(0)
    expect(settingsIn(home)).toEqual({
      eve: { ...eve, acp: { argv: ['/my tools/opencode', 'acp'] }, permissions: 'reject' },
    })
  })

  test('persona add sets and removes --headless', async () => {
    const home = temporaryDirectory()
    const turnbell = testCli({ home })
    const add = (...more: string[]) => turnbell.run('persona', 'add', 'fay', ...more)
    expect(await add('--surface', 'codex', '--headless', '--permissions', 'allow')).toBe(0)
    const fay = { surface: 'codex', project: home, headless: true, permissions: 'allow' }
    expect(settingsIn(home)).toEqual({ fay })
    expect(await add('--surface', 'codex', '--no-headless')).toBe(0)
    expect(settingsIn(home)).toEqual({ fay: { ...fay, headless: false } })
  })

  test.each([
    [['--acp', 'opencode acp'], ['--headless'], { headless: true }],
    [['--headless'], ['--acp', 'opencode acp'], { acp: { argv: ['opencode', 'acp'] } }],
  ])('persona add %j and then %j applies the later options', async (...how) => {
    const [first, second, kept] = how
    const home = temporaryDirectory()
    const turnbell = testCli({ home })
    const add = (words: string[]) => turnbell.run('persona', 'add', 'eve', '--surface', 'opencode', ...words)
    expect(await add(first)).toBe(0)
    expect(await add(second)).toBe(0)
    expect(settingsIn(home)).toEqual({ eve: { surface: 'opencode', project: home, ...kept } })
    expect(await testCli({ home }).run('status')).toBe(0)
  })

  test.each([
    [['--headless'], ['--acp', 'other-agent'], undefined],
    [['--acp', 'agent'], ['--acp', 'other-agent'], undefined],
    [['--acp', 'agent'], ['--headless'], undefined],
    [['--acp', 'agent'], ['--acp', 'agent'], 'allow'],
    [['--acp', '~/bin/agent'], ['--acp', '~/bin/agent'], 'allow'],
    [['--acp', 'agent'], ['--acp', 'other-agent', '--permissions', 'allow'], 'allow'],
    [['--headless'], ['--headless'], 'allow'],
  ])('persona add keeps the permissions of %j for %j only for the same agent', async (...how) => {
    const [first, second, permissions] = how
    const home = temporaryDirectory()
    const turnbell = testCli({ home })
    const add = (...more: string[]) => turnbell.run('persona', 'add', 'eve', '--surface', 'codex', ...more)
    expect(await add(...first, '--permissions', 'allow')).toBe(0)
    expect(await add(...second)).toBe(0)
    expect((settingsIn(home) as { eve: { permissions?: string } }).eve.permissions).toBe(permissions)
  })

  test('persona add with another surface reports it and drops the permissions', async () => {
    const home = temporaryDirectory()
    const turnbell = testCli({ home })
    const add = (...more: string[]) => turnbell.run('persona', 'add', 'fay', ...more)
    await add('--surface', 'codex', '--headless', '--permissions', 'allow')
    expect(await add('--surface', 'opencode')).toBe(0)
    expect(turnbell.stdout()).toContain('Its surface is now opencode, and was codex.')
    expect(settingsIn(home)).toEqual({ fay: { surface: 'opencode', project: home } })
  })

  test.each([
    [['--surface', 'tmux', '--pane', '%3', '--headless'], '--headless'],
    [['--surface', 'codex', '--headless', '--acp', 'codex-acp'], '--headless'],
    [['--surface', 'codex', '--permissions', 'allow'], '--permissions'],
  ])('persona add refuses the combination %j', async (words, named) => {
    const turnbell = testCli({ home: temporaryDirectory() })
    expect(await turnbell.run('persona', 'add', 'fay', ...words)).toBe(64)
    expect(turnbell.stderr()).toContain(named)
  })

  test('persona add reports a daemon with the old settings', async () => {
    const home = temporaryDirectory()
    fs.chmodSync(home, 0o700)
    const turnbell = testCli({ home })
    await fakeDaemon(pathsOf(home, 'ada'), () => daemonStatus('ada'))
    expect(await turnbell.run('persona', 'add', 'ada', '--surface', 'mcp')).toBe(0)
    expect(turnbell.stdout()).toContain('still has the old settings')
    expect(turnbell.stdout()).toContain('turnbell shutdown --persona ada')
    const again = testCli({ home })
    expect(await again.run('persona', 'add', 'ada', '--surface', 'mcp')).toBe(0)
    expect(again.stdout()).toContain('Its daemon is running.')
  })

  test('persona add replaces an agent by a command and back', async () => {
    const home = temporaryDirectory()
    const turnbell = testCli({ home })
    const add = (...more: string[]) => turnbell.run('persona', 'add', 'eve', '--surface', 'command', ...more)
    await add('--command', 'nightly')
    expect(await add('--acp', 'gemini --acp')).toBe(0)
    expect(settingsIn(home)).toEqual({
      eve: { surface: 'command', project: home, acp: { argv: ['gemini', '--acp'] } },
    })
    expect(await add('--command', 'nightly')).toBe(0)
    expect(settingsIn(home)).toEqual({
      eve: { surface: 'command', project: home, command: { argv: ['nightly'] } },
    })
  })

  test('persona add stores the pane and the absolute socket of a tmux surface', async () => {
    const home = temporaryDirectory()
    const turnbell = testCli({ home })
    const add = (name: string, ...more: string[]) =>
      turnbell.run('persona', 'add', name, '--surface', 'tmux', ...more)
    expect(await add('one', '--pane', 'work:0.1')).toBe(0)
    expect(await add('two', '--pane', '%3', '--tmux-client', 'codex', '--tmux-socket', 'tmux.sock')).toBe(0)
    // A stored setting need not be repeated.
    expect(await add('one')).toBe(0)
    expect(settingsIn(home)).toEqual({
      one: { surface: 'tmux', tmux: { pane: 'work:0.1' } },
      two: { surface: 'tmux', tmux: { pane: '%3', client: 'codex', socket: path.join(home, 'tmux.sock') } },
    })
  })

  test('persona add drops the pane for another surface', async () => {
    const home = temporaryDirectory()
    const turnbell = testCli({ home })
    await turnbell.run('persona', 'add', 'ada', '--surface', 'tmux', '--pane', '%3')
    expect(await turnbell.run('persona', 'add', 'ada', '--surface', 'codex')).toBe(0)
    expect(settingsIn(home)).toEqual({ ada: { surface: 'codex' } })
  })

  test.each([
    [['--surface', 'tmux'], 'TMUX_PANE'],
    [['--surface', 'tmux', '--pane', ''], 'TMUX_PANE'],
    [['--surface', 'codex', '--pane', '%3'], '--surface tmux'],
  ])('persona add refuses %j with a hint', async (words, hint) => {
    const home = temporaryDirectory()
    const turnbell = testCli({ home })
    expect(await turnbell.run('persona', 'add', 'ada', ...words)).toBe(64)
    expect(turnbell.stderr()).toContain(hint)
    expect(fs.existsSync(path.join(home, 'config.yaml'))).toBe(false)
  })

  test('persona add again keeps the other settings', async () => {
    const home = temporaryDirectory()
    const written = `personas:
  # rings at night
  nightly:
    surface: command   # as ever
    command:
      argv: [agent, --once] # absolute paths please
      timeout_ms: 5000
`
    fs.writeFileSync(path.join(home, 'config.yaml'), written)
    const turnbell = testCli({ home, hub })
    expect(await turnbell.run('persona', 'add', 'nightly', '--surface', 'command')).toBe(0)
    expect(fs.readFileSync(path.join(home, 'config.yaml'), 'utf8')).toBe(written)
    await turnbell.run('persona', 'add', 'nightly', '--surface', 'mcp')
    expect(settingsIn(home)).toEqual({ nightly: { surface: 'mcp' } })
    // The command that `persona wrap` prints to restore it.
    expect(await turnbell.run('persona', 'add', 'nightly')).toBe(0)
    expect(settingsIn(home)).toEqual({ nightly: { surface: 'mcp' } })
    expect(fs.readFileSync(path.join(home, 'config.yaml'), 'utf8')).toContain('# rings at night')
  })

  test.each([
    ['a reserved name', ['operator', '--surface', 'mcp'], /reserved/],
    ['a new persona without a surface', ['ada'], /--surface with one of claude-code, codex/],
    ["the hub's own name", ['hub', '--surface', 'mcp'], /reserved/],
    ['a project without a name', ['ada', '--surface', 'mcp', '--project', ''], /--project is empty/],
    ['a missing project', ['ada', '--surface', 'mcp', '--project', 'nowhere'], /--project .*nowhere/],
    ['an agent for a surface without one', ['ada', '--surface', 'tmux', '--acp', 'x'], /does not belong/],
    [
      'an agent and a command',
      ['ada', '--surface', 'command', '--acp', 'x', '--command', 'y'],
      /--acp and --command/,
    ],
    ['an empty agent', ['ada', '--surface', 'codex', '--acp', ' '], /--acp names no program/],
    [
      'an unknown answer',
      ['ada', '--surface', 'codex', '--acp', 'x', '--permissions', 'ask'],
      /reject, allow/,
    ],
    ['a command for another surface', ['ada', '--surface', 'mcp', '--command', 'x'], /belong to the surface/],
    ['a command surface without a program', ['ada', '--surface', 'command'], /--surface command/],
    [
      'a status file alone',
      ['ada', '--surface', 'command', '--status-file', 'x'],
      /--status-file requires --command/,
    ],
    ['an empty command', ['ada', '--surface', 'command', '--command', ' '], /names no program/],
  ])('persona add refuses %s and writes nothing', async (_, args, why) => {
    const home = temporaryDirectory()
    const turnbell = testCli({ home, hub })
    expect(await turnbell.run('persona', 'add', ...args)).toBe(64)
    expect(turnbell.stderr()).toMatch(why)
    expect(fs.existsSync(path.join(home, 'config.yaml'))).toBe(false)
    expect(turnbell.hubCalls).toEqual([])
  })

  test('persona add does not change an invalid configuration', async () => {
    const home = temporaryDirectory()
    fs.writeFileSync(path.join(home, 'config.yaml'), 'personas: [oops\n')
    const turnbell = testCli({ home, hub })
    expect(await turnbell.run('persona', 'add', 'ada', '--surface', 'mcp')).toBe(78)
    expect(fs.readFileSync(path.join(home, 'config.yaml'), 'utf8')).toBe('personas: [oops\n')
  })
})

describe('wrap and remove', () => {
  test.each(['wrap', 'remove'])(
    'persona %s calls the hub, then stops the daemon and waits for its end',
    async (how) => {
      const home = temporaryDirectory()
      fs.writeFileSync(path.join(home, 'config.yaml'), 'personas:\n  ada:\n    surface: mcp\n')
      const child = standIn()
      const order: string[] = []
      await fakeDaemon(pathsOf(home, 'ada'), (method, daemon) => {
        order.push(method)
        if (method === 'status') return daemonStatus('ada', { pid: child.pid as number })
        void daemon.close().then(() => child.kill('SIGTERM'))
        return { stopping: true }
      })
      const telling: FakeHub = {
        [`personas.${how}`]: ({ identity }) => {
          order.push('hub')
          return persona(String(identity), how === 'wrap' ? 'wrapped' : 'removed')
        },
      }
      const turnbell = testCli({ home, hub: telling })
      expect(await turnbell.run('persona', how, 'ada', '--json')).toBe(0)
      expect(order).toEqual(['status', 'hub', 'shutdown'])
      expect(turnbell.json()).toMatchObject({
        daemon: { pid: child.pid, socket_gone: true, process_gone: true },
        config_changed: how === 'remove',
      })
      expect(fs.readFileSync(path.join(home, 'config.yaml'), 'utf8')).toBe(
        how === 'wrap' ? 'personas:\n  ada:\n    surface: mcp\n' : 'personas: {}\n',
      )
    },
  )

  test('persona wrap also waits for a daemon that the hub has stopped', async () => {
    const home = temporaryDirectory()
    const child = standIn()
    const daemon = await fakeDaemon(pathsOf(home, 'ada'), () =>
      daemonStatus('ada', { pid: child.pid as number }),
    )
    const turnbell = testCli({
      home,
      hub: {
        'personas.wrap': async () => {
          await daemon.close()
          child.kill('SIGTERM')
          return persona('ada', 'wrapped')
        },
      },
    })
    expect(await turnbell.run('persona', 'wrap', 'ada', '--json')).toBe(0)
    expect(turnbell.json()).toMatchObject({ daemon: { socket_gone: true, process_gone: true } })
  })

  test('persona wrap with a hanging daemon is recorded at the hub and reports the daemon', async () => {
    const home = temporaryDirectory()
    const paths = pathsOf(home, 'ada')
    await fakeDaemon(paths, () => {
      throw new TurnbellError('timed_out', { detail: 'no answer' })
    })
    fs.writeFileSync(paths.daemon_pid, JSON.stringify({ pid: process.pid }))
    await holdLock(paths)
    const turnbell = testCli({ home, hub, overrides: { clock: hastyClock() } })
    expect(await turnbell.run('persona', 'wrap', 'ada', '--json')).toBe(69)
    expect(turnbell.hubCalls.map(({ what }) => what)).toEqual(['personas.wrap'])
    expect(turnbell.json<Problem>().detail).toContain(`process ${process.pid}`)
  })

  test('persona wrap does not wait for another program with the pid of a killed daemon', async () => {
    const home = temporaryDirectory()
    const paths = pathsOf(home, 'ada')
    fs.mkdirSync(paths.run_dir, { recursive: true })
    fs.writeFileSync(paths.daemon_pid, JSON.stringify({ pid: process.pid }))
    const turnbell = testCli({ home, hub })
    expect(await turnbell.run('persona', 'remove', 'ada', '--json')).toBe(0)
    expect(turnbell.json()).toMatchObject({ daemon: null })
  })

  test('persona remove deletes the settings before it waits for the daemon', async () => {
    const home = temporaryDirectory()
    fs.writeFileSync(path.join(home, 'config.yaml'), 'personas: {ada: {surface: mcp}, bob: {surface: mcp}}\n')
    await fakeDaemon(pathsOf(home, 'ada'), (method) => {
      if (method === 'status') return daemonStatus('ada')
      expect(settingsIn(home)).toEqual({})
      return { stopping: true }
    })
    const removing: FakeHub = { 'projects.remove': () => ({ removed: ['ada', 'bob'] }) }
    const turnbell = testCli({ home, hub: removing, overrides: { clock: hastyClock() } })
    expect(await turnbell.run('persona', 'remove', '--project', 'shop', '--json')).toBe(69)
    expect(turnbell.json<Problem>().detail).toContain(`process ${process.pid}`)
    expect(settingsIn(home)).toEqual({})
  })

  test('persona wrap stops a daemon of another version', async () => {
    const home = temporaryDirectory()
    const paths = pathsOf(home, 'ada')
    const child = standIn()
    await fakeDaemon(paths, (method, daemon) => {
      if (method === 'status') return { pid: child.pid as number }
      void daemon.close().then(() => child.kill('SIGTERM'))
      return { stopping: 'soon' }
    })
    fs.writeFileSync(paths.daemon_pid, JSON.stringify({ pid: child.pid }))
    await holdLock(paths, child.pid)
    const turnbell = testCli({ home, hub })
    expect(await turnbell.run('status')).toBe(0)
    expect(turnbell.stdout()).toMatch(/ada +request_failed/)
    expect(await turnbell.run('shutdown', '--persona', 'ada', '--json')).toBe(0)
    expect(turnbell.json()).toMatchObject({ pid: child.pid, process_gone: true })
  })

  test('persona wrap without a daemon returns at once', async () => {
    const turnbell = testCli({ home: temporaryDirectory(), hub })
    expect(await turnbell.run('persona', 'wrap', 'ada', '--json')).toBe(0)
    expect(turnbell.json()).toMatchObject({ daemon: null, persona: { state: 'wrapped' } })
  })

  test('persona wrap without a hub does not stop the daemon', async () => {
    const home = temporaryDirectory()
    const daemon = await fakeDaemon(pathsOf(home, 'ada'), () => daemonStatus('ada'))
    expect(await testCli({ home }).run('persona', 'wrap', 'ada')).toBe(69)
    expect(daemon.asked.map(({ method }) => method)).toEqual(['status'])
  })

  test('persona remove deletes the settings of a persona that the hub does not know', async () => {
    const home = temporaryDirectory()
    fs.writeFileSync(path.join(home, 'config.yaml'), 'personas:\n  ada:\n    surface: mcp\n')
    const unknown = () => {
      throw new TurnbellError('target_unknown', { detail: 'no ada' })
    }
    const turnbell = testCli({ home, hub: { 'personas.remove': unknown } })
    expect(await turnbell.run('persona', 'remove', 'ada')).toBe(0)
    expect(settingsIn(home)).toEqual({})
    expect(await turnbell.run('persona', 'remove', 'ada')).toBe(2)
  })

  test('persona remove --project stops only the daemons of its personas', async () => {
    const home = temporaryDirectory()
    const written = 'personas:\n  ada: {surface: mcp}\n  cleo: {surface: mcp}\n'
    fs.writeFileSync(path.join(home, 'config.yaml'), written)
    const child = standIn()
    const ada = await fakeDaemon(pathsOf(home, 'ada'), (method, daemon) => {
      if (method === 'status') return daemonStatus('ada', { pid: child.pid as number })
      void daemon.close().then(() => child.kill('SIGTERM'))
      return { stopping: true }
    })
    const cleo = await fakeDaemon(pathsOf(home, 'cleo'), () => daemonStatus('cleo'))
    const turnbell = testCli({ home, hub: { 'projects.remove': () => ({ removed: ['ada'] }) } })
    expect(await turnbell.run('persona', 'remove', '--project', 'shop', '--json')).toBe(0)
    expect(turnbell.hubCalls[0]?.params).toEqual({ project: path.join(home, 'shop') })
    expect(ada.asked.map(({ method }) => method)).toEqual(['status', 'shutdown'])
    expect(cleo.asked.map(({ method }) => method)).toEqual(['status'])
  })
})

describe('status', () => {
  test('status lists configured personas and those with traces, also without an answer', async () => {
    const home = temporaryDirectory()
    fs.writeFileSync(path.join(home, 'config.yaml'), 'personas:\n  bob: {surface: mcp}\n')
    await fakeDaemon(pathsOf(home, 'ada'), () => daemonStatus('ada', { pending_count: 4 }))
    fs.mkdirSync(pathsOf(home, 'old').run_dir, { recursive: true })
    fs.writeFileSync(pathsOf(home, 'old').daemon_pid, '1')
    fs.mkdirSync(pathsOf(home, 'removed').run_dir, { recursive: true })
    const turnbell = testCli({ home })
    expect(await turnbell.run('status')).toBe(0)
    expect(turnbell.stdout()).toMatch(
      /^hub not running.*\nPERSONA.*\nada .*CONNECTED.*4.*\nbob +not running\nold +not running\n$/,
    )
    expect(await turnbell.run('status', '--json')).toBe(0)
    expect(turnbell.json()).toMatchObject([
      { identity: 'ada', running: true, expired_count: null, status: { pending_count: 4 } },
      { identity: 'bob', running: false, problem: { code: 'daemon_unreachable' } },
      { identity: 'old', running: false, problem: { code: 'daemon_unreachable' } },
    ])
  })

  test('status shows the delivery reason with its age, the last message and the project', async () => {
    const home = temporaryDirectory()
    fs.writeFileSync(path.join(home, 'config.yaml'), 'personas:\n  ada: {surface: mcp, project: /work/app}\n')
    const status = daemonStatus('ada', {
      delivery: 'degraded',
      delivery_reason: 'not_drained',
      delivery_reason_age_s: 250,
      doorbells_undrained: 4,
      in_progress_count: 2,
      last_received: { from: 'bob', intent: 'review', age_s: 7_300 },
    })
    await fakeDaemon(pathsOf(home, 'ada'), () => status)
    const turnbell = testCli({ home })
    expect(await turnbell.run('status')).toBe(0)
    expect(turnbell.stdout()).toMatch(
      /ada .*not drained \(4 doorbells, never seen\), 4 min .* 2 .*review from bob, 2 h ago +\/work\/app\n/,
    )
    expect(await turnbell.run('status', '--json')).toBe(0)
    expect(turnbell.json()).toMatchObject([{ identity: 'ada', project: '/work/app' }])
  })

  test.each([
    ['ok', null],
    ['no client, 3 s', 'no_client'],
    ['no window, 3 s', 'no_window'],
    ['hub unreachable, 3 s', 'hub_unreachable'],
    ['surface failed, 3 s', 'surface_failed'],
  ] as const)('status shows the delivery as %s', (words, delivery_reason) => {
    expect(deliveryWords(daemonStatus('ada', { delivery_reason }), 0)).toBe(words)
  })

  test('status shows the time of the last seen doorbell', () => {
    const now_ms = new Date(2026, 0, 1, 12, 5).getTime()
    const status = daemonStatus('ada', {
      ...{ delivery_reason: 'not_drained', delivery_reason_age_s: 0, doorbells_undrained: 1 },
      last_seen_age_s: 120,
    })
    expect(deliveryWords(status, now_ms)).toBe('not drained (1 doorbell, last seen 12:03), 0 s')
  })

  test('status shows the number of expired signals from the hub', async () => {
    const home = temporaryDirectory()
    fs.writeFileSync(
      path.join(home, 'config.yaml'),
      'personas:\n  ada: {surface: mcp}\n  bob: {surface: mcp}\n',
    )
    const listed = [
      { identity: 'ada', pending_count: 0, expired_count: 2 },
      { identity: 'bob', pending_count: 0, expired_count: 0 },
    ]
    const turnbell = testCli({ home, hub: { 'personas.list': () => ({ personas: listed }) } })
    await fakeDaemon(pathsOf(home, 'ada'), () => daemonStatus('ada'))
    expect(await turnbell.run('status', '--json')).toBe(0)
    expect(turnbell.json()).toMatchObject(listed)
    for (const more of [[], ['--persona', 'ada']]) {
      expect(await turnbell.run('status', ...more)).toBe(0)
      expect(turnbell.stdout()).toMatch(/^hub http:\/\/hub\.test[^]*2 signals to ada expired/)
      expect(turnbell.stdout()).not.toContain('to bob expired')
    }
  })

  test('status shows pending signals of the hub with and without a daemon', async () => {
    const home = temporaryDirectory()
    fs.writeFileSync(
      path.join(home, 'config.yaml'),
      'personas:\n  ada: {surface: mcp}\n  bob: {surface: mcp}\n',
    )
    const counts = (pending_count: number) => ({ pending_count, expired_count: 0 })
    const listed = ['ada', 'bob', 'cleo'].map((identity, at) => ({ ...persona(identity), ...counts(7 + at) }))
    const turnbell = testCli({ home, hub: { 'personas.list': () => ({ personas: listed }) } })
    await fakeDaemon(pathsOf(home, 'ada'), () => daemonStatus('ada', { pending_count: 4 }))
    const row = (identity: string) => {
      const [, head = '', ...rows] = turnbell.stdout().split('\n')
      const at = head.indexOf('PENDING')
      const line = rows.find((one) => one.startsWith(`${identity} `)) ?? ''
      return [line.slice(head.indexOf('STATE'), head.indexOf('DELIVERY')), line.slice(at, at + 7)].map(
        (cell) => cell.trim(),
      )
    }
    expect(await turnbell.run('status')).toBe(0)
    expect([row('ada'), row('bob')]).toEqual([
      ['CONNECTED', '7'],
      ['not running', '8'],
    ])
    expect(await turnbell.run('status', '--json')).toBe(0)
    expect(PersonaStatusList.parse(turnbell.json())).toMatchObject([
      { identity: 'ada', running: true, pending_count: 7 },
      { identity: 'bob', running: false, pending_count: 8, problem: { code: 'daemon_unreachable' } },
    ])
    for (const [identity, pending_count] of [
      ['bob', 8],
      ['cleo', 9],
    ] as const) {
      expect(await turnbell.run('status', '--persona', identity, '--json')).toBe(69)
      expect(turnbell.json<Problem>().detail).toContain(`${pending_count} signals wait at the hub.`)
    }
    expect(await turnbell.run('status', '--persona', 'ada')).toBe(0)
    expect(turnbell.stdout()).toContain('7 pending')
  })

  test('status --persona --json is the answer of the daemon', async () => {
    const home = temporaryDirectory()
    await fakeDaemon(pathsOf(home, 'ada'), () => daemonStatus('ada'))
    const turnbell = testCli({ home })
    expect(await turnbell.run('status', '--persona', 'ada', '--json')).toBe(0)
    expect(turnbell.json()).toEqual(daemonStatus('ada'))
    expect(await turnbell.run('status', '--persona', 'ada')).toBe(0)
    expect(turnbell.stdout()).toMatch(/ada {2}CONNECTED[^]*last drain never[^]*session s1, turn idle/)
  })

  test('status of an unknown persona reports it and does not advise to start it', async () => {
    const turnbell = testCli({ home: temporaryDirectory() })
    expect(await turnbell.run('status', '--persona', 'nope')).toBe(69)
    expect(turnbell.stderr()).toContain('no persona nope')
    expect(turnbell.stderr()).not.toContain('turnbell daemon')
  })

  test('status refuses another program on the socket', async () => {
    const home = temporaryDirectory()
    await fakeDaemon(pathsOf(home, 'ada'), () => ({ hello: 'world' }))
    const turnbell = testCli({ home })
    expect(await turnbell.run('status', '--persona', 'ada', '--json')).toBe(2)
    expect(turnbell.json<Problem>().hint).toContain('turnbell shutdown --persona ada')
  })
})

describe('notify and resume', () => {
  const asking = async (answer: object) => {
    const home = temporaryDirectory()
    await fakeDaemon(pathsOf(home, 'ada'), () => answer as never)
    return testCli({ home })
  }
  test.each([
    [{ accepted: true }, 0, /is being rung/],
    [{ accepted: true, reason: 'mid_turn' }, 0, /at its end/],
    [{ accepted: false, reason: 'nothing_pending' }, 2, /Nothing waits/],
    [{ accepted: false, reason: 'already_rung' }, 2, /already rung/],
    [{ accepted: false, reason: 'surface_absent' }, 2, /not attached/],
    [{ accepted: false, reason: 'not_connected' }, 2, /not connected/],
  ])('notify with the answer %j exits %d', async (answer, code, said) => {
    const turnbell = await asking(answer)
    expect(await turnbell.run('notify', '--persona', 'ada')).toBe(code)
    expect(turnbell.stdout()).toMatch(said)
    expect(await turnbell.run('notify', '--persona', 'ada', '--json')).toBe(code)
    expect(turnbell.json()).toEqual(answer)
  })
  test.each([
    [{ accepted: true }, 0],
    [{ accepted: false }, 2],
  ])('resume with the answer %j exits %d', async (answer, code) => {
    expect(await (await asking(answer)).run('resume', '--persona', 'ada')).toBe(code)
  })
})

describe('shutdown', () => {
  test('shutdown of a daemon that does not end names what remains', async () => {
    const home = temporaryDirectory()
    await fakeDaemon(pathsOf(home, 'ada'), (method) =>
      method === 'status' ? daemonStatus('ada') : { stopping: true },
    )
    const turnbell = testCli({ home, overrides: { clock: hastyClock() } })
    expect(await turnbell.run('shutdown', '--persona', 'ada', '--json')).toBe(69)
    expect(turnbell.json<Problem>()).toMatchObject({ code: 'timed_out' })
    expect(turnbell.json<Problem>().detail).toContain(`process ${process.pid} and the control socket`)
  })
})

test('paths prints every path, also for a home with a long path', async () => {
  const home = path.join(temporaryDirectory(), 'a'.repeat(90))
  const turnbell = testCli({ home })
  await turnbell.run('paths', '--persona', 'ada', '--json')
  const paths = turnbell.json<Record<string, string>>()
  expect(Object.keys(paths)).toEqual([
    ...['home', 'config', 'log', 'control_socket', 'surface_socket', 'metrics_file'],
  ])
  expect(paths['control_socket']).not.toContain(home)
  expect(paths['metrics_file']).toContain(home)
})

test('a token is signed with the key of the home and the given validity', async () => {
  const home = temporaryDirectory()
  const clock: Clock = { ...systemClock, now: () => Date.UTC(2026, 0, 1) }
  const turnbell = testCli({ home, overrides: { clock } })
  expect(await turnbell.run('token', 'create', '--identity', 'ada', '--kind', 'agent', '--ttl', '2h')).toBe(0)
  const [body = '', signature] = turnbell.stdout().trim().split('.')
  const key = fs.readFileSync(path.join(home, 'secrets/signing.key'), 'utf8').trim()
  expect(createHmac('sha256', key).update(body).digest('hex')).toBe(signature)
  expect(JSON.parse(Buffer.from(body, 'base64url').toString())).toEqual({
    tenant_id: 'local',
    identity: 'ada',
    kind: 'agent',
    exp: Date.UTC(2026, 0, 1) / 1000 + 7200,
  })
  expect(await turnbell.run('token', 'create', '--identity', 'a', '--kind', 'agent', '--ttl', '90d')).toBe(64)
})

test('a token for an unknown facet is created with a note', async () => {
  const home = temporaryDirectory()
  fs.writeFileSync(path.join(home, 'config.yaml'), 'personas: {ada: {surface: mcp}}')
  const turnbell = testCli({ home, env: { TURNBELL_TOOLS: 'core,jira' } })
  const create = (...facets: string[]) =>
    turnbell.run('token', 'create', '--identity', 'ada', '--kind', 'agent', '--facet', ...facets)
  expect(await create('core', 'jira')).toBe(0)
  expect(turnbell.stderr()).toBe('')
  expect(await create('core', 'nope')).toBe(0)
  expect(turnbell.stderr()).toMatch(/facets: nope/)
  expect(turnbell.stdout().trim().split('.')).toHaveLength(2)
})

test.each([
  ['the operator', ['--identity', 'operator'], /reserved/],
  ['the hub', ['--identity', 'hub'], /reserved/],
  ['a session with a name that is none', ['--identity', 'ada', '--session', 'x'.repeat(129)], /--session/],
])('a token for %s is refused', async (_, args, why) => {
  const turnbell = testCli({ home: temporaryDirectory() })
  expect(await turnbell.run('token', 'create', '--kind', 'agent', ...args)).toBe(64)
  expect(turnbell.stdout()).toBe('')
  expect(turnbell.stderr()).toMatch(why)
})
