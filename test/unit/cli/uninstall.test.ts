import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { UninstalledHome } from '../../../src/cli/uninstall/uninstall-home.ts'
import { joined } from '../../../src/system/joined.ts'
import { noteProcess } from '../../../src/system/process-note.ts'
import { processAlive } from '../../../src/system/processes.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { testCli, type TestCli } from '../../support/test-cli.ts'

let outer: string
let home: string
let project: string
let turnbell: TestCli
beforeEach(async () => {
  outer = fs.realpathSync(temporaryDirectory())
  home = path.join(outer, 'home')
  project = path.join(outer, 'shop')
  fs.mkdirSync(home, { mode: 0o700 })
  fs.mkdirSync(project)
  fs.mkdirSync(path.join(home, 'secrets'), { mode: 0o700 })
  fs.writeFileSync(path.join(home, 'config.yaml'), 'personas: { ada: { surface: codex } }')
  const env = { XDG_CONFIG_HOME: path.join(outer, 'xdg'), HOME: path.join(outer, 'user') }
  turnbell = testCli({ home, platform: 'linux', env, overrides: { cwd: project } })
  await turnbell.run('connect', 'codex', '--persona', 'ada')
  await turnbell.run('service', 'install', '--hub')
  await turnbell.run('service', 'install', '--persona', 'ada')
  const run = path.join(home, 'run', 'local', 'ada')
  fs.mkdirSync(run, { recursive: true, mode: 0o700 })
  fs.writeFileSync(path.join(run, 'surface.sock'), '')
})

async function uninstall(...words: string[]) {
  const exit = await turnbell.run('uninstall', ...words, '--json')
  return { exit, ...turnbell.json<UninstalledHome>() }
}

/** Files, without folders. */
const filesIn = (folder: string) =>
  fs.existsSync(folder)
    ? fs
        .readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => fs.lstatSync(path.join(folder, name)).isFile())
    : []

describe('uninstall', () => {
  test('takes back wiring, services and sockets, leaves the home, and changes nothing the second time', async () => {
    expect(await uninstall()).toMatchObject({
      ...{ exit: 0, ok: true, purged: false, failed: [] },
      disconnected: [{ client: 'codex', project }],
      services: ['turnbell-daemon@ada.service', 'turnbell-hub.service'],
    })
    expect(fs.readdirSync(project)).toEqual([])
    expect(filesIn(path.join(outer, 'xdg'))).toEqual([])
    expect(filesIn(path.join(home, 'run'))).toEqual([])
    expect(fs.existsSync(path.join(home, 'config.yaml'))).toBe(true)
    expect(await uninstall()).toMatchObject({
      ...{ exit: 0, ok: true, disconnected: [], services: [], daemons: [], sockets: [], hub_pid: null },
    })
  })

  test('with --purge removes the home, and again finds nothing', async () => {
    expect(await uninstall('--purge', '--yes')).toMatchObject({ exit: 0, ok: true, purged: true, left: [] })
    expect(fs.existsSync(home)).toBe(false)
    expect(await uninstall('--purge', '--yes')).toMatchObject({ exit: 0, ok: true })
  })

  test('with --purge is refused where nobody can be asked', async () => {
    expect(await turnbell.run('uninstall', '--purge')).toBe(64)
    expect(turnbell.stderr()).toContain('--yes')
    expect(fs.readdirSync(project)).not.toEqual([])
  })

  test('with --purge leaves what is not turnbell\u2019s, and says so', async () => {
    fs.writeFileSync(path.join(home, 'letters.txt'), 'mine')
    expect(await uninstall('--purge', '--yes')).toMatchObject({
      exit: 1,
      purged: false,
      left: ['letters.txt'],
    })
    expect(fs.readdirSync(home)).toEqual(['letters.txt'])
  })

  test('goes on where something cannot be taken back, and keeps the home then', async () => {
    fs.appendFileSync(path.join(project, '.codex', 'config.toml'), '[broken')
    const { exit, ok, services, failed, purged } = await uninstall('--purge', '--yes')
    expect({ exit, ok, purged }).toEqual({ exit: 1, ok: false, purged: false })
    expect(services).toHaveLength(2)
    expect(failed[0]?.detail).toContain('.codex/config.toml')
  })
})

describe('uninstall while the server of an open window runs', () => {
  async function server() {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child, 'spawn')
    const run_dir = path.join(home, 'run', 'local', 'ada')
    noteProcess(path.join(run_dir, 'opencode.pid'), child.pid!)
    joined(run_dir, 'opencode').join(process.pid)
    return child.pid!
  }

  test('with --purge ends it and names it', async () => {
    const pid = await server()
    expect(await uninstall('--purge', '--yes')).toMatchObject({
      ...{ exit: 0, ok: true, purged: true },
      servers: [{ identity: 'ada', client: 'opencode', pid }],
    })
    expect(processAlive(pid)).toBe(false)
  })

  test('without --purge names it and leaves it running', async () => {
    const pid = await server()
    expect(await turnbell.run('uninstall')).toBe(0)
    expect(turnbell.stderr()).toContain(
      `run until their last window closes:\n  ada  opencode server (process ${pid})`,
    )
    expect(processAlive(pid)).toBe(true)
  })
})
