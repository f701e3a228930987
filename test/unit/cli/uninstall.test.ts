import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { UninstalledHome } from '../../../src/cli/uninstall/uninstall-home.ts'
import { attachedUsers } from '../../../src/system/clients/attached-users.ts'
import { writePidFile } from '../../../src/system/process/pid-file.ts'
import { processAlive } from '../../../src/system/process/process-info.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { testCli, type TestCli } from '../../support/processes/test-cli.ts'

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

/** Lists files, without folders. */
const filesIn = (folder: string) =>
  fs.existsSync(folder)
    ? fs
        .readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => fs.lstatSync(path.join(folder, name)).isFile())
    : []

describe('uninstall', () => {
  test('uninstall removes connections, services and sockets, keeps the home, and is idempotent', async () => {
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

  test('uninstall --purge deletes the home and is idempotent', async () => {
    expect(await uninstall('--purge', '--yes')).toMatchObject({ exit: 0, ok: true, purged: true, left: [] })
    expect(fs.existsSync(home)).toBe(false)
    expect(await uninstall('--purge', '--yes')).toMatchObject({ exit: 0, ok: true })
  })

  test('uninstall --purge is refused without a terminal', async () => {
    expect(await turnbell.run('uninstall', '--purge')).toBe(64)
    expect(turnbell.stderr()).toContain('--yes')
    expect(fs.readdirSync(project)).not.toEqual([])
  })

  test('uninstall --purge keeps and reports files that are not turnbell\u2019s', async () => {
    fs.writeFileSync(path.join(home, 'letters.txt'), 'mine')
    expect(await uninstall('--purge', '--yes')).toMatchObject({
      exit: 1,
      purged: false,
      left: ['letters.txt'],
    })
    expect(fs.readdirSync(home)).toEqual(['letters.txt'])
  })

  test('uninstall continues after a failure and keeps the home', async () => {
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
    writePidFile(path.join(run_dir, 'opencode.pid'), child.pid!)
    attachedUsers(run_dir, 'opencode').attach(process.pid)
    return child.pid!
  }

  test('uninstall --purge stops the server of an open window and names it', async () => {
    const pid = await server()
    expect(await uninstall('--purge', '--yes')).toMatchObject({
      ...{ exit: 0, ok: true, purged: true },
      servers: [{ identity: 'ada', client: 'opencode', pid }],
    })
    expect(processAlive(pid)).toBe(false)
  })

  test('uninstall without --purge names the server of an open window and keeps it running', async () => {
    const pid = await server()
    expect(await turnbell.run('uninstall')).toBe(0)
    expect(turnbell.stderr()).toContain(
      `run until their last window closes:\n  ada  opencode server (process ${pid})`,
    )
    expect(processAlive(pid)).toBe(true)
  })
})
