import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../../../src/system/config/config.ts'
import { temporaryHome } from '../../../support/processes/processes.ts'

function load(text: string, env: Record<string, string> = {}) {
  const file = path.join(temporaryHome(), 'config.yaml')
  fs.writeFileSync(file, text)
  return { file, run: () => loadConfig(file, env) }
}

describe('the configuration', () => {
  test('the file overrides the defaults, the environment the file, and a flag both', () => {
    const { file } = load('hub:\n  port: 5000\n  host: localhost\n')
    const config = loadConfig(file, { TURNBELL_HUB_PORT: '6000' }, { hub: { host: '::1' } })
    expect(config.hub).toMatchObject({ port: 6000, host: '::1' })
    expect(config.tenant_id).toBe('local')
  })
  test('a file with a byte order mark is read', () => {
    expect(load('\uFEFFlog:\n  level: warn\n').run().log.level).toBe('warn')
  })

  test.each([
    ['/work/shop', () => '/work/shop'],
    ['shop', (home: string) => path.join(home, 'shop')],
    ['../shop', (home: string) => path.join(path.dirname(home), 'shop')],
    ['~/code/shop', () => path.join(os.homedir(), 'code/shop')],
    ['~', () => os.homedir()],
    ['~shop', (home: string) => path.join(home, '~shop')],
  ])('the project %s is resolved against the home', (project, whole) => {
    const { file, run } = load(JSON.stringify({ personas: { ada: { surface: 'mcp', project } } }))
    expect(run().personas['ada']?.project).toBe(whole(path.dirname(file)))
  })

  test.each([
    ['hub', 'store', 'file:queue', (home: string) => `file:${path.join(home, 'queue')}`],
    ['hub', 'store', 'file://queue', (home: string) => `file:${path.join(home, 'queue')}`],
    ['hub', 'store', 'file:/var/queue', () => 'file:/var/queue'],
    ['hub', 'store', 'file:', () => 'file:'],
    ['hub', 'store', 'memory:', () => 'memory:'],
    ['hub', 'tls_cert', 'hub.pem', (home: string) => path.join(home, 'hub.pem')],
    ['hub', 'tls_key', 'hub.key', (home: string) => path.join(home, 'hub.key')],
    ['memory', 'model_dir', '~/model', () => path.join(os.homedir(), 'model')],
  ] as const)('the %s.%s %s of the file is resolved against the home', (group, key, text, whole) => {
    const { file, run } = load(JSON.stringify({ [group]: { [key]: text } }))
    const at: Record<string, unknown> = run()[group]
    expect(at[key]).toBe(whole(path.dirname(file)))
  })

  test('every path of the file is resolved, and the name of a package is not', () => {
    const { file, run } = load(
      JSON.stringify({
        clients: { codex: '~/bin/codex', opencode: 'bin/opencode' },
        plugins: ['~/weigher.mjs', './own.mjs', 'turnbell-weigher'],
        personas: {
          ada: { surface: 'command', command: { argv: ['~/agent'], status_file: '~/status' } },
          kim: { surface: 'tmux', tmux: { pane: '%3', socket: '~/tmux' } },
        },
      }),
    )
    const own = (name: string) => path.join(os.homedir(), name)
    const { clients, plugins, personas } = run()
    expect(clients).toEqual({
      codex: own('bin/codex'),
      opencode: path.join(path.dirname(file), 'bin/opencode'),
    })
    expect(plugins).toEqual([own('weigher.mjs'), './own.mjs', 'turnbell-weigher'])
    expect(personas['ada']?.command).toMatchObject({ argv: [own('agent')], status_file: own('status') })
    expect(personas['kim']?.tmux?.socket).toBe(own('tmux'))
  })

  test.each([
    [
      ['~/bin/agent', '~/notes'],
      [path.join(os.homedir(), 'bin/agent'), '~/notes'],
    ],
    [
      ['agent', '~/notes'],
      ['agent', '~/notes'],
    ],
    [['bin/agent'], ['bin/agent']],
    [['~other/agent'], ['~other/agent']],
    [['~'], ['~']],
  ])('in the command %j only a program that starts with ~ is resolved', (argv, resolved) => {
    const { run } = load(
      JSON.stringify({
        personas: {
          ada: { surface: 'command', command: { argv } },
          bob: { surface: 'command', acp: { argv } },
        },
      }),
    )
    const { personas } = run()
    expect(personas['ada']?.command?.argv).toEqual(resolved)
    expect(personas['bob']?.acp?.argv).toEqual(resolved)
  })

  test('a path in a variable stays relative to the working directory', () => {
    expect(load('', { TURNBELL_STORE: 'file:queue' }).run().hub.store).toBe('file:queue')
  })

  test('a list in a variable is separated by commas', () => {
    const { file } = load('mcp:\n  expose: [core, trace]\n')
    expect(loadConfig(file, {}).mcp.expose).toEqual(['core', 'trace'])
    expect(loadConfig(file, { TURNBELL_TOOLS: 'core, work,' }).mcp.expose).toEqual(['core', 'work'])
    expect(() => loadConfig(file, { TURNBELL_TOOLS: 'Core' })).toThrow('TURNBELL_TOOLS: mcp.expose.0')
    expect(loadConfig(file, { TURNBELL_PRO: 'true' }).mcp.pro).toBe(true)
  })
  test.each([
    ['nosuchkey: 1\n', 'there is no key nosuchkey; allowed here: tenant_id, hub, daemon'],
    ['hub:\n  prot: 1\n', 'there is no key hub.prot; allowed here: host, port, store'],
    [
      'personas:\n  ada:\n    surfaces: mcp\n    surface: mcp\n',
      'there is no key personas.ada.surfaces; allowed here: surface, project, command',
    ],
  ])('the error of an unknown key lists the allowed keys: %j', (text, message) => {
    const { file, run } = load(text)
    expect(run).toThrow(`${file}: ${message}`)
  })
  test.each([
    ['hub:\n  port: abc\n', 'hub.port'],
    ['hub:\n  port: 70000\n', 'found 70000'],
    ['tenant_id: Not Good\n', 'a tenant_id matches'],
    ['- a list\n', 'expected keys and values'],
    ['hub: [\n', 'config.yaml'],
    ['hub: [*a]\n', 'config.yaml: Unresolved alias'],
    ['hub: &a [*a]\n', 'found a value that contains itself'],
    [
      'personas:\n  BAD: {surface: mcp}\n',
      'personas.BAD: an identity matches [a-z0-9][a-z0-9._-]{0,62}; found "BAD"',
    ],
    ['personas:\n  hub: {surface: mcp}\n', 'personas.hub: no persona is called operator, turnbell, hub'],
    [
      'personas:\n  ada: {surface: codex, tmux: {pane: "%1"}}\n',
      'personas.ada.tmux: belongs to the surface tmux, not to codex',
    ],
    ['personas:\n  ada: {surface: tmux}\n', 'personas.ada.tmux: is needed by the surface tmux'],
    [
      'personas:\n  ada: {surface: mcp, headless: true}\n',
      'personas.ada.headless: belongs to the surface claude-code or codex or opencode, not to mcp',
    ],
    [
      'personas:\n  ada: {surface: codex, headless: true, acp: {argv: [codex-acp]}}\n',
      'personas.ada.acp: keeps the agent by itself',
    ],
    ['personas:\n  ada: {surface: codex, permissions: maybe}\n', 'personas.ada.permissions'],
    ['sandbox: {exec: [npm  test]}\n', 'sandbox.exec.0: expected a program and its first arguments'],
    ['sandbox: {network: ["*.example.com"]}\n', 'expected a host or host:port'],
    ['sandbox: {env: [TURNBELL_TOKEN]}\n', 'expected the name of a variable'],
    ['leash: {exec: [npm  test]}\n', 'config.yaml: leash.exec.0: expected a program and its first arguments'],
    ['leash: {hosts: [a]}\n', 'there is no key leash.hosts; allowed here: exec, network, env'],
    ['sandbox: {}\nleash: {}\n', 'there is no key leash; allowed here: tenant_id'],
    ['workflow: {ship: [npm publish]}\n', 'workflow.ship.0'],
    ['routines: {Nightly: {steps: [{step: call}]}}\n', 'the name of a routine matches'],
    ['routines: {nightly: {steps: []}}\n', 'routines.nightly.steps'],
    ['routines: {nightly: {steps: [{step: call, needs: [x]}]}}\n', 'ids of steps before it'],
  ])('the error of an invalid value has the key and the reason: %j', (text, message) => {
    expect(load(text).run).toThrow(message)
  })
  test.each([
    ['sandbox', 'SANDBOX'],
    ['leash', 'LEASH'],
  ])('the variables of the sandbox replace the lists of the file, also under the name %s', (key, word) => {
    const { file } = load(`${key}: {exec: [make, git], network: [a.example], env: [API_TOKEN]}\n`)
    const env = {
      [`TURNBELL_${word}_EXEC`]: 'npm test, npm run lint',
      [`TURNBELL_${word}_NETWORK`]: '127.0.0.1:8080,[::1]',
    }
    expect(loadConfig(file, {}).sandbox).toEqual({
      exec: ['make', 'git'],
      network: ['a.example'],
      env: ['API_TOKEN'],
    })
    expect(loadConfig(file, env).sandbox).toEqual({
      exec: ['npm test', 'npm run lint'],
      network: ['127.0.0.1:8080', '[::1]'],
      env: ['API_TOKEN'],
    })
    expect(load('').run().sandbox).toEqual({ exec: [], network: [], env: [] })
    expect(() => loadConfig(file, { [`TURNBELL_${word}_NETWORK`]: 'http://a.example' })).toThrow(
      `TURNBELL_${word}_NETWORK: sandbox.network.0`,
    )
    expect(load('', { [`TURNBELL_${word}_PROGRAMS`]: 'x' }).run).toThrow(
      `there is no variable TURNBELL_${word}_PROGRAMS`,
    )
  })
  test('a variable that is set under its former name too is rejected', () => {
    expect(load('', { TURNBELL_LEASH_EXEC: 'make', TURNBELL_SANDBOX_EXEC: 'git' }).run).toThrow(
      'the environment: TURNBELL_LEASH_EXEC is the former name of TURNBELL_SANDBOX_EXEC, and both are set',
    )
  })
  test('a secret in a routine is rejected without being repeated', () => {
    const routine = (headers: string) =>
      `routines:\n  nightly:\n    steps:\n      - {id: ask, step: http, with: {url: "https://a.example", headers: ${headers}}}\n`
    const { routines } = load(routine('{authorization: {$env: API_TOKEN, prefix: "Bearer "}}')).run()
    expect(routines['nightly']?.steps).toMatchObject([{ id: 'ask', step: 'http' }])
    for (const name of ['authorization', 'Cookie', 'X-Api-Key']) {
      const { run } = load(routine(`{${name}: hunter2}`))
      expect(run).toThrow(
        `routines.nightly.steps.0.with.headers.${name}: a reference such as {"$env": "API_TOKEN"`,
      )
      expect(run).not.toThrow('hunter2')
    }
  })
  test('the error of an invalid variable names the variable', () => {
    expect(load('', { TURNBELL_HUB_PORT: 'many' }).run).toThrow(
      'the environment: TURNBELL_HUB_PORT: hub.port',
    )
    expect(load('', { TURNBELL_BEHIND_PROXY: '1' }).run).toThrow(
      'the environment: TURNBELL_BEHIND_PROXY: hub.behind_proxy',
    )
  })
  test('a variable is parsed as the type of its key', () => {
    const env = {
      TURNBELL_TENANT: '42',
      TURNBELL_CLAUDE_CODE: 'true',
      TURNBELL_BEHIND_PROXY: 'true',
      TURNBELL_HUB_PORT: '0',
      TURNBELL_RECONNECT_RING: 'idle',
    }
    const config = load('', env).run()
    expect(config).toMatchObject({
      tenant_id: '42',
      hub: { port: 0, behind_proxy: true },
      daemon: { reconnect_ring: 'idle' },
      clients: { claude_code: 'true' },
    })
  })
  test.each([
    'HUB_PROT',
    'HUB_STORE',
    'TENANT_ID',
    'DAEMON_REDOORBELL_MAX',
    'RECONNECT_GRACE',
    'RECONNECT_PATIENCE',
    'LOG_LEVLE',
  ])('the unknown variable TURNBELL_%s is rejected with the list of the known ones', (name) => {
    expect(load('', { [`TURNBELL_${name}`]: '5' }).run).toThrow(
      `the environment: there is no variable TURNBELL_${name}; allowed: TURNBELL_TENANT, TURNBELL_HUB_HOST,`,
    )
  })
  test('empty variables and variables of single processes are ignored', () => {
    const others = [
      'HOME',
      'PERSONA',
      'SESSION_ID',
      'HOST_PID',
      'PARENT_PID',
      'RESPAWN',
      'NODE',
      'NO_AUTOSTART',
      'TOKEN',
    ]
    const env = Object.fromEntries(others.map((name) => [`TURNBELL_${name}`, '5']))
    expect(load('', { ...env, TURNBELL_HUB_PROT: '', HUB_PROT: '5' }).run).not.toThrow()
  })
})
