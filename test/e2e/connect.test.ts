/**
 * Tests the files that `turnbell connect` writes like the client uses them: the MCP server is started, the hooks are
 * run.
 */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { parse as parseToml } from 'smol-toml'
import { afterEach, expect, test } from 'vitest'
import {
  BIN,
  cleanEnvironment,
  end,
  startDaemon,
  startHub,
  temporaryHome,
  turnbell,
} from '../support/processes/processes.ts'

const closers: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** A home and a project whose names contain special characters of shells and URLs. */
function awkwardPlace() {
  return placeWith("ada's 5% #1", 'the project')
}

function placeWith(home_name: string, project_name: string) {
  const outer = temporaryHome()
  closers.push(() => fs.rmSync(outer, { recursive: true, force: true }))
  const home = path.join(outer, home_name)
  const project = path.join(fs.realpathSync(outer), project_name)
  fs.mkdirSync(home, { mode: 0o700 })
  fs.mkdirSync(project)
  const config = { hub: { port: 0 }, personas: { ada: { surface: 'mcp' } } }
  fs.writeFileSync(path.join(home, 'config.yaml'), JSON.stringify(config))
  const at = (name: string) => path.join(project, name)
  const run = (...words: string[]) => turnbell([...words, '--project', project, '--home', home, '--json'])
  return {
    home,
    project,
    at,
    run,
    read: (name: string) => JSON.parse(fs.readFileSync(at(name), 'utf8')) as unknown,
  }
}

interface Server {
  command: string
  args: string[]
}

async function toolsOf({ command, args }: Server): Promise<string[]> {
  const client = new Client({ name: 'scene', version: '1' })
  const env = cleanEnvironment() as Record<string, string>
  await client.connect(new StdioClientTransport({ command, args, env, stderr: 'ignore' }))
  const { tools } = await client.listTools()
  await client.close()
  return tools.map(({ name }) => name)
}

test('the written MCP servers start and offer the tools', async () => {
  const { home, run, at, read } = awkwardPlace()
  const hub = await startHub(home)
  closers.push(() => end(hub, 'SIGTERM'))
  for (const client of ['codex', 'opencode'])
    expect(await run('connect', client, '--persona', 'ada')).toMatchObject({ code: 0 })
  const codex = parseToml(fs.readFileSync(at('.codex/config.toml'), 'utf8')) as unknown as {
    mcp_servers: { turnbell: Server }
  }
  expect(await toolsOf(codex.mcp_servers.turnbell)).toContain('signals_pending')
  const opencode = read('opencode.json') as { mcp: { turnbell: { command: [string, ...string[]] } } }
  const [command, ...args] = opencode.mcp.turnbell.command
  expect(await toolsOf({ command, args })).toContain('signals_pending')
})

test('the written hooks exit 0 in a shell for any names of folders', async () => {
  const { run, read, home } = awkwardPlace()
  await run('connect', 'codex', '--persona', 'ada')
  const { hooks } = read('.codex/hooks.json') as { hooks: Record<string, { hooks: { command: string }[] }[]> }
  const commands = Object.values(hooks).flatMap((entries) => entries.flatMap((entry) => entry.hooks))
  expect(commands).toHaveLength(5)
  for (const { command } of commands) {
    const ran = spawnSync('/bin/sh', ['-c', command], {
      input: '{"session_id":"t1"}',
      encoding: 'utf8',
      env: cleanEnvironment(),
    })
    expect(ran).toMatchObject({ status: 0, stdout: '{}\n' })
  }
  const spooled = fs.readFileSync(path.join(home, 'spool', 'hooks.jsonl'), 'utf8')
  expect(spooled.match(/"identity":"ada"/g)).toHaveLength(5)
})

test('connect writes the stable path of node', () => {
  const { home, project } = placeWith('home', 'project')
  const outer = path.dirname(project)
  const [bin, version] = [path.join(outer, 'bin'), path.join(outer, 'Cellar/node/20.1.0/bin')]
  for (const folder of [bin, version]) fs.mkdirSync(folder, { recursive: true })
  fs.copyFileSync(process.execPath, path.join(version, 'node'))
  const node = path.join(bin, 'node')
  fs.symlinkSync(path.join(version, 'node'), node)
  const env = cleanEnvironment({ PATH: `${bin}:/usr/bin:/bin`, HOME: outer })
  for (const client of ['claude-code', 'codex', 'opencode']) {
    const words = ['connect', client, '--persona', 'ada', '--project', project, '--home', home]
    const ran = spawnSync(node, [BIN, ...words], { env, encoding: 'utf8' })
    expect(ran.status, ran.stderr).toBe(0)
  }
  for (const name of [
    '.claude/settings.local.json',
    '.codex/config.toml',
    '.codex/hooks.json',
    'opencode.json',
  ]) {
    const text = fs.readFileSync(path.join(project, name), 'utf8')
    expect.soft(text, name).toContain(node)
    expect.soft(text, name).not.toContain('Cellar')
  }
})

test('the written plugin folder is a marketplace with a plugin', async () => {
  const { run, read } = awkwardPlace()
  await run('connect', 'claude-code', '--persona', 'ada')
  const settings = read('.claude/settings.local.json') as {
    extraKnownMarketplaces: { turnbell: { source: { path: string } } }
    enabledPlugins: Record<string, boolean>
  }
  const folder = settings.extraKnownMarketplaces.turnbell.source.path
  const json = (name: string) =>
    JSON.parse(fs.readFileSync(path.join(folder, '.claude-plugin', name), 'utf8')) as { name: string }
  const marketplace = json('marketplace.json') as {
    name: string
    plugins: { name: string; source: string }[]
  }
  expect(settings.enabledPlugins).toEqual({ [`${json('plugin.json').name}@${marketplace.name}`]: true })
  expect(marketplace.plugins.map(({ name, source }) => [name, source])).toEqual([['turnbell', './']])
  expect(fs.existsSync(path.join(folder, 'shim.js'))).toBe(true)
})

test('connect, a second connect and disconnect leave no changes', async () => {
  const { home, project, run } = placeWith('home', 'project')
  const hub = await startHub(home)
  closers.push(() => end(hub, 'SIGTERM'))
  const daemon = await startDaemon(home, 'ada')
  closers.push(() => end(daemon, 'SIGTERM'))
  for (const client of ['claude-code', 'codex', 'opencode']) {
    const connected = await run('connect', client, '--persona', 'ada')
    expect(connected.json()).toMatchObject({ changed: true, daemon_running: true })
    expect((await run('connect', client, '--persona', 'ada')).json()).toMatchObject({ changed: false })
  }
  for (const client of ['claude-code', 'codex', 'opencode'])
    expect((await run('disconnect', client)).json()).toMatchObject({ changed: true })
  expect(fs.readdirSync(project)).toEqual([])
  expect(fs.readdirSync(path.join(home, 'connections'))).toEqual([])
})
