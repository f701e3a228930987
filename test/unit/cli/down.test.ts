import { spawn, type ChildProcess } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import type { Cli } from '../../../src/cli/cli.ts'
import type { StoppedHome } from '../../../src/cli/down/stop-home.ts'
import type { OpenWindow } from '../../../src/cli/open-windows.ts'
import type { DaemonStatus } from '../../../src/contracts/control.ts'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import type { SurfaceKind } from '../../../src/contracts/ids.ts'
import { personaPaths, resolveHome } from '../../../src/system/config/home.ts'
import { attachedUsers } from '../../../src/system/clients/attached-users.ts'
import { processAlive, processStartTime } from '../../../src/system/process/process-info.ts'
import { daemonStatus, fakeDaemon } from '../../support/fakes/fake-daemon.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { testCli } from '../../support/processes/test-cli.ts'

type Down = StoppedHome & { windows: OpenWindow[] }

/** A process that ends on request. */
function idleProcess(): ChildProcess & { pid: number } {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  onTestFinished(() => void child.kill('SIGKILL'))
  return child as ChildProcess & { pid: number }
}

const isAlive = ({ pid }: ChildProcess) => pid !== undefined && processAlive(pid)

/** A home with these running daemons, each a separate process, and a hub. */
async function world({ names = ['ada', 'bob'], hub = {} }: { names?: string[]; hub?: object | null } = {}) {
  const home = temporaryDirectory()
  const at = resolveHome({}, home)
  const paths = (name: string) => personaPaths(at, 'local', name, {})
  const personas = Object.fromEntries(names.map((name) => [name, { surface: 'codex' }]))
  fs.writeFileSync(at.config, JSON.stringify({ personas }))
  const daemons = new Map<string, ChildProcess>()
  for (const name of names) {
    const child = idleProcess()
    daemons.set(name, child)
    await fakeDaemon(paths(name), (method, daemon) => {
      if (method === 'status') return daemonStatus(name, { pid: child.pid })
      void daemon.close().then(() => child.kill('SIGKILL'))
      return { stopping: true }
    })
  }
  const hub_process = idleProcess()
  fs.mkdirSync(path.dirname(at.hub_pid), { recursive: true })
  if (hub !== null) {
    const { pid } = hub_process
    const rest = { url: 'http://hub.test', started_at: '2026-01-01T00:00:00.000Z', ...hub }
    fs.writeFileSync(at.hub_pid, JSON.stringify({ pid, started: processStartTime(pid), ...rest }))
  }
  return { home, at, paths, daemons, hub_process }
}

/** A terminal with this input. */
function terminal(typed: string): Pick<Cli, 'stdin' | 'stderr'> & { said: () => string } {
  let said = ''
  const stderr = new Writable({
    write(chunk: Buffer, _, done) {
      said += chunk.toString()
      done()
    },
  })
  const stdin = new PassThrough()
  stdin.write(typed)
  return {
    stdin: Object.assign(stdin, { isTTY: true }),
    stderr: Object.assign(stderr, { isTTY: true }),
    said: () => said,
  }
}

test('down stops every daemon and the hub, and finds nothing the second time', async () => {
  const { home, daemons, hub_process } = await world()
  const turnbell = testCli({ home })
  expect(await turnbell.run('down', '--json')).toBe(0)
  const down = turnbell.json<Down>()
  expect(down.daemons.map(({ identity, process_gone }) => [identity, process_gone])).toEqual([
    ['ada', true],
    ['bob', true],
  ])
  expect(down).toMatchObject({ hub: { pid: hub_process.pid }, failed: [], windows: [] })
  expect([...daemons.values(), hub_process].filter(isAlive)).toEqual([])
  expect(await turnbell.run('down', '--json')).toBe(0)
  expect(turnbell.json<Down>()).toEqual({
    daemons: [],
    hub: null,
    stand_in_pid: null,
    failed: [],
    windows: [],
  })
  expect(await turnbell.run('down')).toBe(0)
  expect(turnbell.stdout()).toMatch(/Nothing runs/)
})

test('down --keep-hub leaves the hub running', async () => {
  const { home, daemons, hub_process } = await world()
  expect(await testCli({ home }).run('down', '--keep-hub')).toBe(0)
  expect([...daemons.values()].filter(isAlive)).toEqual([])
  expect(isAlive(hub_process)).toBe(true)
})

test('down does not stop a bridge with an embedded hub', async () => {
  const { home, hub_process } = await world({ hub: { stands_in: true } })
  const turnbell = testCli({ home })
  expect(await turnbell.run('down', '--json')).toBe(0)
  expect(turnbell.json<Down>()).toMatchObject({ hub: null, stand_in_pid: hub_process.pid })
  expect(await turnbell.run('down')).toBe(0)
  expect(turnbell.stdout()).toContain(`(process ${hub_process.pid})`)
  expect(isAlive(hub_process)).toBe(true)
})

test('down --keep-hub does not report that nothing runs', async () => {
  const { home } = await world({ names: [] })
  const turnbell = testCli({ home })
  expect(await turnbell.run('down', '--keep-hub')).toBe(0)
  expect(turnbell.stdout()).toBe('No daemon runs in this home.\n')
})

test('down does not report that nothing runs if the only daemon refuses to stop', async () => {
  const { home, paths } = await world({ names: [], hub: null })
  await fakeDaemon(paths('eve'), (method) => {
    if (method === 'status') return daemonStatus('eve')
    throw new TurnbellError('home_not_permitted', { detail: 'not this one' })
  })
  const turnbell = testCli({ home })
  expect(await turnbell.run('down')).toBe(1)
  expect(turnbell.stdout()).toBe('Still running: eve: not this one\n')
})

test('down stops everything else and exits 1 if a daemon refuses to stop', async () => {
  const { home, paths, daemons, hub_process } = await world({ names: ['ada'] })
  await fakeDaemon(paths('eve'), (method) => {
    if (method === 'status') return daemonStatus('eve')
    throw new TurnbellError('home_not_permitted', { detail: 'not this one' })
  })
  const turnbell = testCli({ home })
  expect(await turnbell.run('down', '--json')).toBe(1)
  expect(turnbell.json<Down>()).toMatchObject({
    daemons: [{ identity: 'ada' }],
    failed: [{ name: 'eve', detail: 'not this one' }],
  })
  expect([...daemons.values(), hub_process].filter(isAlive)).toEqual([])
})

test.each([
  ['y\n', 0, false],
  ['n\n', 1, true],
  ['\n', 1, true],
])('down names the open windows and asks at a terminal: %j exits with %i', async (typed, code, runs) => {
  const { home, paths, daemons, hub_process } = await world()
  attachedUsers(paths('bob').run_dir, 'codex').attach(process.pid)
  const person = terminal(typed)
  expect(await testCli({ home, overrides: person }).run('down')).toBe(code)
  expect(person.said()).toMatch(new RegExp(`bob +Codex \\(process ${process.pid}\\)`))
  expect([...daemons.values(), hub_process].filter(isAlive)).toHaveLength(runs ? 3 : 0)
})

test('down does not ask without a terminal or with --yes, and reports the windows', async () => {
  const first = await world({ names: ['ada'] })
  attachedUsers(first.paths('ada').run_dir, 'opencode').attach(process.pid)
  const turnbell = testCli({ home: first.home })
  expect(await turnbell.run('down', '--json')).toBe(0)
  expect(turnbell.json<Down>().windows).toEqual([
    { identity: 'ada', client: 'opencode', pids: [process.pid], session_id: null },
  ])

  const second = await world({ names: ['ada'] })
  attachedUsers(second.paths('ada').run_dir, 'opencode').attach(process.pid)
  expect(await testCli({ home: second.home, overrides: terminal('') }).run('down', '--yes')).toBe(0)
})

/** A home where only the daemon of eve runs, with this status. */
async function worldOfEve(status: Partial<DaemonStatus>, { headless = false } = {}) {
  const { home, at, paths } = await world({ names: [], hub: null })
  fs.writeFileSync(at.config, JSON.stringify({ personas: { eve: { surface: 'codex', headless } } }))
  const daemon = idleProcess()
  await fakeDaemon(paths('eve'), (method, self) => {
    if (method === 'status') return daemonStatus('eve', { pid: daemon.pid, ...status })
    void self.close().then(() => daemon.kill('SIGKILL'))
    return { stopping: true }
  })
  return { home, daemon }
}

const surfaceOf = (kind: SurfaceKind, session_id: string | null = 's-7') => ({
  ...{ kind, attached: true, session_id, turn: 'idle' as const, last_proof: null, via: null },
  ...{ interrupted_age_s: null, presence: null },
})

test.each([
  ['codex', 'Codex (thread s-7)'],
  ['opencode', 'opencode (session s-7)'],
  ['claude-code', 'Claude Code (session s-7)'],
] as const)('down names and asks about a plain window of %s', async (kind, words) => {
  const { home, daemon } = await worldOfEve({ surface: surfaceOf(kind) })
  const person = terminal('n\n')
  expect(await testCli({ home, overrides: person }).run('down')).toBe(1)
  expect(person.said()).toContain(`eve  ${words}`)
  expect(isAlive(daemon)).toBe(true)
  const turnbell = testCli({ home })
  expect(await turnbell.run('down', '--json')).toBe(0)
  expect(turnbell.json<Down>().windows).toEqual([
    { identity: 'eve', client: kind, pids: [], session_id: 's-7' },
  ])
})

test.each([
  ['whose session no window shows', { surface: surfaceOf('codex'), delivery_reason: 'no_window' }, {}],
  ['of a server without a session', { surface: surfaceOf('opencode', null) }, {}],
  ['of a headless persona', { surface: surfaceOf('codex') }, { headless: true }],
  ['that is not a known client', { surface: surfaceOf('mcp') }, {}],
] as const)('down does not ask about a surface %s', async (_, status, settings) => {
  const { home, daemon } = await worldOfEve(status, settings)
  expect(await testCli({ home, overrides: terminal('') }).run('down')).toBe(0)
  expect(isAlive(daemon)).toBe(false)
})
