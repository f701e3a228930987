/** Checks the service templates with the tools that read them, and by running their commands. */
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { personaPaths, resolveHome } from '../../src/system/config/home.ts'
import { processAlive } from '../../src/system/process/process-info.ts'
import { pathOf } from '../support/command/debian.mjs'
import { eventually } from '../support/eventually.ts'
import {
  cleanEnvironment,
  startDaemon,
  startHub,
  temporaryHome,
  turnbell,
} from '../support/processes/processes.ts'

const homes: string[] = []
const pids = new Set<number>()
afterEach(() => {
  for (const pid of pids) if (processAlive(pid)) process.kill(pid, 'SIGKILL')
  pids.clear()
  for (const home of homes.splice(0)) fs.rmSync(home, { recursive: true, force: true })
})

/** A home with a space and a percent sign in its name, which have a meaning in unit files. */
function awkwardHome(): string {
  return plainHome('my 5%')
}

function plainHome(name = 'home'): string {
  const outer = temporaryHome()
  homes.push(outer)
  const home = path.join(outer, name)
  fs.mkdirSync(home, { mode: 0o700 })
  fs.writeFileSync(path.join(home, 'config.yaml'), 'hub:\n  port: 0\npersonas:\n  ada:\n    surface: mcp\n')
  return home
}

async function unitText(home: string, ...which: string[]): Promise<string> {
  const printed = await turnbell(['service', 'install', '--home', home, '--print', ...which])
  expect(printed.code).toBe(0)
  expect(printed.stderr).toBe('')
  return printed.stdout
}

describe('systemd units', () => {
  test.skipIf(pathOf('systemd-analyze') === null)(
    'the systemd units pass systemd-analyze verify',
    async () => {
      const home = awkwardHome()
      const directory = path.join(home, 'units')
      fs.mkdirSync(directory)
      fs.writeFileSync(path.join(directory, 'turnbell-hub.service'), await unitText(home, '--hub'))
      fs.writeFileSync(
        path.join(directory, 'turnbell-daemon@.service'),
        await unitText(home, '--persona', 'ada'),
      )
      for (const name of [
        'turnbell-hub.service',
        'turnbell-daemon@ada.service',
        'turnbell-daemon@a-b.c.service',
      ]) {
        const verified = spawnSync('systemd-analyze', ['verify', `./${name}`], {
          cwd: directory,
          encoding: 'utf8',
        })
        expect(verified.stderr, name).toBe('')
        expect(verified.status, name).toBe(0)
      }
    },
  )

  test('the ExecStart lines start a working hub and a working daemon', async () => {
    const home = awkwardHome()
    const hub = run(execStart(await unitText(home, '--hub'), ''))
    await eventually('the hub is ready', () => /^turnbell hub ready (\S+)$/m.exec(hub.output()))
    const daemon = run(execStart(await unitText(home, '--persona', 'ada'), 'ada'))
    await eventually('the daemon is ready', () => /^turnbell daemon ready ada /m.exec(daemon.output()))
    await eventually('it is connected', async () => {
      const status = await turnbell(['status', '--home', home, '--persona', 'ada', '--json'])
      return status.code === 0 && status.json<{ connected: boolean }>().connected
    })
    expect((await turnbell(['shutdown', '--home', home, '--persona', 'ada'])).code).toBe(0)
    expect(await daemon.exited).toBe(0)
    hub.child.kill('SIGTERM')
    expect(await hub.exited).toBe(0)
  })
})

describe('LaunchAgents', () => {
  test.skipIf(pathOf('plistutil') === null)('the LaunchAgents are valid for plistutil', async () => {
    const home = awkwardHome()
    for (const which of [['--hub'], ['--persona', 'ada']]) {
      const text = await onMac(home, ...which)
      const read = spawnSync('plistutil', ['-i', '-', '-f', 'xml'], { input: text, encoding: 'utf8' })
      expect(read.stderr).toBe('')
      expect(read.stdout).toContain('<key>ProgramArguments</key>')
      expect(read.stdout).toContain(home)
    }
  })
})

describe('uninstall', () => {
  test('service uninstall of a running persona leaves no unit, socket or pid file', async () => {
    const home = plainHome()
    const bin = path.join(home, 'bin')
    fs.mkdirSync(bin)
    const calls = path.join(home, 'calls')
    fs.writeFileSync(path.join(bin, 'systemctl'), `#!/bin/sh\necho "$@" >> "${calls}"\n`, { mode: 0o755 })
    const user = path.join(home, 'user')
    const env = { PATH: `${bin}:${process.env['PATH'] ?? ''}`, HOME: user, XDG_CONFIG_HOME: '' }
    delete (env as { XDG_CONFIG_HOME?: string }).XDG_CONFIG_HOME

    const hub = await startHub(home, ['--port', '0'])
    pids.add(hub.child.pid ?? 0)
    const installed = await turnbell(['service', 'install', '--home', home, '--persona', 'ada'], { env })
    expect(installed.code).toBe(0)
    const units = path.join(user, '.config/systemd/user')
    expect(fs.existsSync(path.join(units, 'turnbell-daemon@.service'))).toBe(true)

    const daemon = await startDaemon(home, 'ada')
    pids.add(daemon.child.pid ?? 0)
    const gone = await turnbell(['service', 'uninstall', '--home', home, '--persona', 'ada', '--json'], {
      env,
    })
    expect(gone.json()).toMatchObject({ was_installed: true, stopped_pid: daemon.child.pid })
    expect(await daemon.exited).toBe(0)
    expect(fs.existsSync(path.join(units, 'turnbell-daemon@.service'))).toBe(false)
    expect(fs.readdirSync(path.join(units, 'default.target.wants'))).toEqual([])
    const paths = personaPaths(resolveHome({}, home), 'local', 'ada', {})
    for (const file of [paths.control_socket, paths.surface_socket, paths.daemon_pid]) {
      expect(fs.existsSync(file), file).toBe(false)
    }
    expect(fs.readFileSync(calls, 'utf8')).toContain('--user disable --now turnbell-daemon@ada.service')

    // A manually started hub belongs to its user: only an installed one is stopped.
    const ofNone = await turnbell(['service', 'uninstall', '--home', home, '--hub', '--json'], { env })
    expect(ofNone.json()).toMatchObject({
      was_installed: false,
      stopped_pid: null,
      left_running_pid: hub.child.pid,
    })
    expect(processAlive(hub.child.pid ?? 0)).toBe(true)

    expect((await turnbell(['service', 'install', '--home', home, '--hub'], { env })).code).toBe(0)
    const ofHub = await turnbell(['service', 'uninstall', '--home', home, '--hub', '--json'], { env })
    expect(ofHub.json()).toMatchObject({ was_installed: true, stopped_pid: hub.child.pid })
    expect(await hub.exited).toBe(0)
    expect(fs.existsSync(path.join(home, 'hub/hub.pid'))).toBe(false)
  })

  // The state after `systemctl --user disable` without --now.
  test('service uninstall stops a disabled hub that the manager runs', async () => {
    const home = plainHome()
    const bin = path.join(home, 'bin')
    fs.mkdirSync(bin)
    const hub = await startHub(home, ['--port', '0'])
    const pid = hub.child.pid ?? 0
    pids.add(pid)
    const systemctl = `#!/bin/sh
case "$2" in
show) echo MainPID=${pid} ;;
disable) kill ${pid} 2>/dev/null ;;
esac
`
    fs.writeFileSync(path.join(bin, 'systemctl'), systemctl, { mode: 0o755 })
    const env = { PATH: `${bin}:${process.env['PATH'] ?? ''}`, HOME: path.join(home, 'user') }
    const gone = await turnbell(['service', 'uninstall', '--home', home, '--hub', '--json'], { env })
    expect(gone.json()).toMatchObject({ was_installed: false, stopped_pid: pid, left_running_pid: null })
    expect(await hub.exited).toBe(0)
    expect(fs.existsSync(path.join(home, 'hub/hub.pid'))).toBe(false)
  })
})

function run(words: string[]) {
  const child = spawn(words[0] as string, words.slice(1), {
    env: cleanEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  pids.add(child.pid ?? 0)
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  return { child, exited, output: () => output }
}

/** Returns the words of the unit's ExecStart line, parsed like systemd.service(5) for one instance. */
function execStart(unit: string, instance: string): string[] {
  const line = /^ExecStart=(.*)$/m.exec(unit)?.[1] ?? ''
  const words = line.match(/"(?:\\.|[^"])*"|\S+/g) ?? []
  return words.map((word) =>
    word
      .replace(/^"|"$/g, '')
      .replace(/\\(["\\])/g, '$1')
      .replace(/%(.)/g, (_, specifier) => (specifier === 'i' ? instance : '%'))
      .replaceAll('$$', () => '$'),
  )
}

/** Returns the output on macOS, by replacing Node's platform. */
async function onMac(home: string, ...which: string[]): Promise<string> {
  const preload = path.join(home, 'mac.cjs')
  fs.writeFileSync(preload, "Object.defineProperty(process, 'platform', { value: 'darwin' })\n")
  const printed = await turnbell(['service', 'install', '--home', home, '--print', ...which], {
    env: { NODE_OPTIONS: `--require "${preload}"` },
  })
  expect(printed.stderr).toBe('')
  return printed.stdout
}
