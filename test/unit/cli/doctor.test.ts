import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Finding } from '../../../src/cli/doctor/finding.ts'
import { TurnbellError } from '../../../src/contracts/errors.ts'
import type { SurfaceKind } from '../../../src/contracts/ids.ts'
import { personaPaths, resolveHome } from '../../../src/system/home.ts'
import { VERSION } from '../../../src/system/version.ts'
import { daemonStatus, fakeDaemon } from '../../support/fake-daemon.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { testCli, type FakeHub } from '../../support/test-cli.ts'
import { writeTinyModel } from '../../support/tiny-model.ts'

interface Report {
  ok: boolean
  findings: (Omit<Finding, 'fix'> & { fixable: boolean })[]
  fixed?: { check: string; did: string; backups: string[] }[]
}

/** A home with this configuration, and what doctor says of it. */
async function examine(
  options: {
    config?: string
    hub?: FakeHub
    mode?: number
    PATH?: string
    version?: string
    late?: true
    prepare?: (home: string) => void
  } = {},
) {
  const home = temporaryDirectory()
  fs.chmodSync(home, options.mode ?? 0o700)
  if (options.config !== undefined) fs.writeFileSync(path.join(home, 'config.yaml'), options.config)
  options.prepare?.(home)
  const turnbell = testCli({
    home,
    ...(options.hub === undefined ? {} : { hub: options.hub }),
    env: { PATH: options.PATH ?? '' },
    program: () => ({
      code: options.version === undefined ? 1 : 0,
      stdout: options.version ?? '',
      stderr: 'no',
      ...(options.late && { late: true }),
    }),
  })
  const code = await turnbell.run('doctor', '--json')
  const { ok, findings } = turnbell.json<Report>()
  return { code, ok, of: (check: string) => findings.find((finding) => finding.check === check), findings }
}

const readyHub = (version = VERSION): FakeHub => ({
  '/health': () => ({
    ...{ status: 'ok', version, uptime_s: 1, tool_count: 3 },
    connected: { agent: 0, daemon: 0, observer: 0 },
  }),
  '/ready': () => ({ ready: true }),
  'personas.list': () => ({ personas: [] }),
})

/** A directory with a program of that name in it. */
function withProgram(name: string): string {
  const directory = temporaryDirectory()
  fs.writeFileSync(path.join(directory, name), '#!/bin/sh\n', { mode: 0o755 })
  return directory
}

/** Its operator token has mode 644. */
function openToken(home: string): void {
  fs.mkdirSync(path.join(home, 'secrets'), { mode: 0o700 })
  fs.writeFileSync(path.join(home, 'secrets', 'operator.token'), 'tbop_x\n')
  fs.chmodSync(path.join(home, 'secrets', 'operator.token'), 0o644)
}

describe('turnbell doctor', () => {
  test('finds nothing broken where nothing was started yet, and says how to begin', async () => {
    const { code, ok, of, findings } = await examine()
    expect({ code, ok }).toEqual({ code: 0, ok: true })
    expect(of('hub')).toMatchObject({
      state: 'warning',
      mend: expect.stringContaining('turnbell up') as string,
    })
    for (const { state, mend } of findings) if (state !== 'ok') expect(mend).not.toBeNull()
  })

  test('exits 1 for a home that others can read, and says which command mends it', async () => {
    const { code, of } = await examine({ mode: 0o755 })
    expect(code).toBe(1)
    expect(of('home')).toMatchObject({
      state: 'broken',
      mend: expect.stringContaining('chmod 700') as string,
    })
  })

  test.each([
    ['logs', 0o755, 'home', 'chmod 700'],
    ['secrets/signing.key', 0o644, 'secrets', 'chmod 600'],
  ])('exits 1 for %s that others can read, which no hub starts with', async (name, mode, check, mend) => {
    const { code, of } = await examine({
      prepare(home) {
        const file = path.join(home, name)
        fs.mkdirSync(path.extname(file) === '' ? file : path.dirname(file), { mode: 0o700 })
        if (path.extname(file) !== '') fs.writeFileSync(file, 'x')
        fs.chmodSync(file, mode)
      },
    })
    expect(code).toBe(1)
    expect(of(check)).toMatchObject({ state: 'broken', mend: expect.stringContaining(mend) as string })
  })

  test('finds a home broken in which a file stands for a directory, or that is a file', async () => {
    const { code, of } = await examine({
      prepare: (home) => fs.writeFileSync(path.join(home, 'secrets'), ''),
    })
    expect(code).toBe(1)
    expect(of('secrets')).toMatchObject({
      state: 'broken',
      detail: expect.stringContaining('ENOTDIR') as string,
    })
    const home = path.join(temporaryDirectory(), 'file')
    fs.writeFileSync(home, '')
    const turnbell = testCli({ home })
    expect(await turnbell.run('doctor', '--json')).toBe(1)
    expect(turnbell.json<Report>().findings).toContainEqual(
      expect.objectContaining({ check: 'secrets', state: 'broken' }),
    )
  })

  test('does not tell to start a persona that rests', async () => {
    const times = { created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-01T00:00:00.000Z' }
    const ada = { identity: 'ada', surface: 'mcp', state: 'wrapped', ...times }
    const { of } = await examine({
      config: 'personas: {ada: {surface: mcp}}\n',
      hub: { ...readyHub(), 'personas.list': () => ({ personas: [ada] }) },
    })
    expect(of('daemon ada')).toMatchObject({ state: 'ok' })
    expect(of('daemon ada')?.detail).toContain('rests')
  })

  test('makes every check whatever fails: a configuration that cannot be read', async () => {
    const { code, of, findings } = await examine({ config: 'nosuchkey: 1\n', hub: readyHub() })
    expect(code).toBe(1)
    expect(of('config')).toMatchObject({
      state: 'broken',
      detail: expect.stringContaining('nosuchkey') as string,
    })
    for (const check of ['hub', 'personas', 'clients'])
      expect(of(check)).toMatchObject({
        state: 'warning',
        detail: expect.stringContaining('not looked at') as string,
      })
    expect(findings.filter(({ state }) => state === 'broken')).toHaveLength(1)
    expect(of('secrets')).toMatchObject({ state: 'warning', detail: 'no operator token yet' })
  })

  test('makes every check whatever fails: an operator token that others can read', async () => {
    const { code, of } = await examine({
      config: 'personas: {ada: {surface: mcp}}\n',
      hub: readyHub(),
      prepare: openToken,
    })
    expect(code).toBe(1)
    expect(of('secrets')).toMatchObject({
      ...{ state: 'broken', fixable: true },
      mend: expect.stringMatching(/^chmod 600 .*operator\.token$/) as string,
    })
    expect(of('hub')).toMatchObject({
      state: 'warning',
      detail: expect.stringContaining('is ready') as string,
    })
    expect(of('daemon ada')).toMatchObject({ state: 'warning' })
    expect(of('client codex')).toMatchObject({ state: 'ok', detail: 'not installed, and no persona uses it' })
  })

  test('says of a hub that is not this home’s what its user can do', async () => {
    const refuse = () => {
      throw new TurnbellError('token_invalid', { detail: 'signed by somebody else' })
    }
    const { of } = await examine({ hub: { ...readyHub(), 'personas.list': refuse } })
    expect(of('hub')).toMatchObject({
      state: 'broken',
      mend: expect.stringContaining('turnbell down') as string,
    })
    expect(of('hub')?.mend).not.toMatch(/ask the operator/i)
  })

  test('names the port that the next hub would not get, and who holds it', async () => {
    const server = net.createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as net.AddressInfo
    const { code, of } = await examine({ config: `hub: { port: ${port} }` })
    server.close()
    expect(code).toBe(1)
    expect(of('port')).toMatchObject({
      state: 'broken',
      detail: expect.stringMatching(
        `^${port} is taken by .+ \\(process ${process.pid}\\), so no hub`,
      ) as string,
    })
    expect((await examine({ config: 'hub: { port: 0 }' })).of('port')).toBeUndefined()
  })

  test('sees lines in the spool that no hub can read, and what was quarantined', async () => {
    const { of, findings } = await examine({
      prepare(home) {
        fs.mkdirSync(path.join(home, 'spool'), { mode: 0o700 })
        fs.writeFileSync(path.join(home, 'spool', 'hooks.jsonl'), 'junk\n{"type":"hook"}\n')
        fs.writeFileSync(path.join(home, 'spool', 'rejected.jsonl'), '{}\n')
      },
    })
    expect(of('spool')).toMatchObject({
      state: 'warning',
      detail: expect.stringMatching(/^2 of 2 lines/) as string,
    })
    expect(findings.filter(({ check }) => check === 'spool')[1]?.detail).toMatch(/^1 line quarantined/)
  })

  test('finds a spool broken that is no file', async () => {
    const { code, of } = await examine({
      prepare: (home) =>
        fs.mkdirSync(path.join(home, 'spool', 'hooks.jsonl'), { recursive: true, mode: 0o700 }),
    })
    expect(code).toBe(1)
    expect(of('spool')).toMatchObject({
      state: 'broken',
      detail: expect.stringContaining('not a plain file') as string,
    })
  })

  test('tells why neither hub nor daemon started, and not that another was there', async () => {
    const line = (who: string, code: string) =>
      `{"level":30,"msg":"ready"}\n${JSON.stringify({ msg: `the ${who} does not start`, err: { code, detail: 'it is so', hint: 'Mend it.' } })}\n`
    const logs = (code: string) => (home: string) => {
      fs.mkdirSync(path.join(home, 'logs'), { mode: 0o700 })
      fs.writeFileSync(path.join(home, 'logs', 'hub.log'), line('hub', code))
      fs.writeFileSync(path.join(home, 'logs', 'ada.log'), line('daemon', code))
    }
    const config = 'personas: {ada: {surface: mcp}}\n'
    const { code, of } = await examine({ config, prepare: logs('store_damaged') })
    expect(code).toBe(1)
    for (const check of ['hub', 'daemon ada']) {
      expect(of(check)).toMatchObject({
        ...{ state: 'broken', mend: 'Mend it.' },
        detail: expect.stringContaining('it is so') as string,
      })
    }
    const other = await examine({ config, prepare: logs('already_running') })
    expect(other.of('hub')).toMatchObject({ state: 'warning', detail: 'none runs' })
  })

  test('is content with a hub that is ready and installed, and not with an older one', async () => {
    expect((await examine({ hub: readyHub() })).of('hub')).toMatchObject({ state: 'ok' })
    const older = await examine({ hub: readyHub('0.0.1') })
    expect(older.of('hub')).toMatchObject({ state: 'warning' })
    expect(older.of('hub')?.detail).toContain('0.0.1')
  })

  test('finds a hub broken that is none', async () => {
    const { code, of } = await examine({ hub: { '/health': () => ({ hello: 'world' }) } })
    expect(code).toBe(1)
    expect(of('hub')).toMatchObject({ state: 'broken' })
  })

  test('names a configured persona whose daemon does not run', async () => {
    const { of } = await examine({ config: 'personas: {ada: {surface: mcp}}\n' })
    expect(of('daemon ada')).toMatchObject({
      state: 'warning',
      mend: expect.stringContaining('turnbell daemon --persona ada') as string,
    })
  })

  test('misses a client only where a persona needs it', async () => {
    const { code, of } = await examine({ config: 'personas: {ada: {surface: codex}}\n' })
    expect(code).toBe(1)
    expect(of('client codex')).toMatchObject({ state: 'broken' })
    expect(of('client opencode')).toMatchObject({ state: 'ok' })
  })

  test('says which version of a client is there', async () => {
    const { of } = await examine({ PATH: withProgram('claude'), version: '2.1.329 (Claude Code)\n' })
    expect(of('client claude-code')).toMatchObject({
      state: 'ok',
      detail: expect.stringMatching(/^2\.1\.329 at /) as string,
    })
  })

  test('says what a client lacks that is too old', async () => {
    const { code, of } = await examine({ PATH: withProgram('claude'), version: '2.1.200 (Claude Code)\n' })
    expect(code).toBe(0)
    expect(of('client claude-code')).toMatchObject({
      state: 'warning',
      detail: expect.stringMatching(/^2\.1\.200 at .*older than 2\.1\.224: it has no inbox/) as string,
    })
  })

  test('finds a client broken that is needed and cannot be rung, and says what would help', async () => {
    const place = { PATH: withProgram('opencode'), version: '2.0.0' }
    expect((await examine(place)).of('client opencode')).toMatchObject({ state: 'warning' })
    const { of } = await examine({ ...place, config: 'personas: {ada: {surface: opencode}}\n' })
    expect(of('client opencode')).toMatchObject({
      state: 'broken',
      mend: expect.stringContaining('Install opencode 1.x') as string,
    })
  })

  test('does not miss a client where the agent is a program of its own', async () => {
    const { of } = await examine({
      config: 'personas: {eve: {surface: opencode, project: /, acp: {argv: [opencode-acp]}}}\n',
    })
    expect(of('client opencode')).toMatchObject({ state: 'ok' })
  })

  test('does not wait for a client that never says its version', async () => {
    const { of } = await examine({
      config: 'personas: {ada: {surface: opencode}}\n',
      PATH: withProgram('opencode'),
      late: true,
    })
    expect(of('client opencode')).toMatchObject({
      state: 'broken',
      detail: expect.stringContaining('has not ended within 10 s') as string,
    })
  })

  test('finds a client broken that cannot say its version and is needed', async () => {
    const { code, of } = await examine({
      config: 'personas: {ada: {surface: opencode}}\n',
      PATH: withProgram('opencode'),
    })
    expect(code).toBe(1)
    expect(of('client opencode')).toMatchObject({
      state: 'broken',
      detail: expect.stringContaining('no') as string,
    })
  })
})

describe('doctor, of the model that memory is searched with,', () => {
  const modelOf = async (model_dir: string) =>
    (await examine({ config: `memory: { model_dir: ${model_dir} }` })).of('model')

  test('says nothing where none is configured', async () => {
    expect((await examine()).of('model')).toBeUndefined()
  })

  test('says what is missing, and that words stand in for it', async () => {
    const directory = temporaryDirectory()
    expect(await modelOf(path.join(directory, 'gone'))).toMatchObject({
      ...{ state: 'warning', detail: expect.stringContaining('searched by words') as string },
    })
    writeTinyModel(directory)
    expect(await modelOf(directory)).toMatchObject({
      ...{ state: 'warning', mend: expect.stringContaining('npm install') as string },
    })
    const runtime = path.join(directory, 'node_modules', 'onnxruntime-node')
    fs.mkdirSync(runtime, { recursive: true })
    fs.writeFileSync(path.join(runtime, 'package.json'), '{"name":"onnxruntime-node","main":"index.cjs"}')
    fs.writeFileSync(path.join(runtime, 'index.cjs'), '')
    expect(await modelOf(directory)).toMatchObject({ state: 'ok', detail: directory })
  })
})

describe('doctor, of a hub that is away,', () => {
  async function withDaemon(connected: boolean) {
    const home = temporaryDirectory()
    fs.writeFileSync(path.join(home, 'config.yaml'), 'personas: {ada: {surface: mcp}}\n')
    const paths = personaPaths(resolveHome({}, home), 'local', 'ada', {})
    await fakeDaemon(paths, () => daemonStatus('ada', { connected, last_error_class: 'ws_connect_failed' }))
    const turnbell = testCli({ home })
    const code = await turnbell.run('doctor', '--json')
    const { findings } = turnbell.json<Report>()
    return { code, findings, at: (check: string) => findings.findIndex((one) => one.check === check) }
  }

  test('finds the hub broken, and only notes that a daemon waits for it', async () => {
    const { code, findings, at } = await withDaemon(false)
    expect(code).toBe(1)
    expect(findings[at('hub')]).toMatchObject({ state: 'broken', detail: 'none runs, and ada wait for it' })
    expect(findings[at('daemon ada')]).toMatchObject({
      state: 'warning',
      detail: 'runs, and waits for the hub',
    })
    expect(at('hub')).toBeLessThan(at('daemon ada'))
  })

  test('notes it where no daemon waits', async () => {
    const { findings, at } = await withDaemon(true)
    expect(findings[at('hub')]).toMatchObject({ state: 'warning', detail: 'none runs' })
  })
})

describe('doctor, of a daemon whose agent is not there,', () => {
  /** What it advises for a persona with these settings. */
  async function advice(kind: SurfaceKind, settings: string) {
    const home = temporaryDirectory()
    fs.writeFileSync(path.join(home, 'config.yaml'), `personas: {ada: {surface: ${kind}${settings}}}\n`)
    const surface = { kind, attached: false, session_id: null, turn: 'unknown', last_proof: null } as const
    const paths = personaPaths(resolveHome({}, home), 'local', 'ada', {})
    await fakeDaemon(paths, () => daemonStatus('ada', { surface }))
    const turnbell = testCli({ home })
    await turnbell.run('doctor', '--json')
    const found = turnbell.json<Report>().findings.find(({ check }) => check === 'daemon ada')
    expect(found).toMatchObject({ state: 'warning' })
    return found?.mend?.replaceAll(home, 'HOME')
  }

  test.each(['claude-code', 'codex', 'opencode'] as const)('has %s started in a window', async (kind) => {
    expect(await advice(kind, '')).toBe('Start the client: `turnbell run --persona ada`.')
    expect(await advice(kind, ', headless: false')).toContain('turnbell run')
  })

  test.each([
    ['codex', 'headless: true'],
    ['opencode', 'headless: true'],
    ['claude-code', 'acp: {argv: [agent]}'],
    ['command', 'acp: {argv: [agent]}'],
  ] as const)('sends nobody to start a %s (%s) that the daemon keeps', async (kind, settings) => {
    const mend = await advice(kind, `, ${settings}, project: /work`)
    expect(mend).not.toContain('turnbell run')
    expect(mend).toContain('HOME/logs/ada.log')
  })

  test('names the log of the session that a headless Claude Code is', async () => {
    const mend = await advice('claude-code', ', headless: true, project: /work')
    expect(mend).not.toContain('turnbell run')
    expect(mend).toContain('HOME/logs/ada.log')
    expect(mend).toContain('HOME/logs/ada~claude-code.log')
  })
})

describe('doctor, of the projects that are connected,', () => {
  /** A project that a client works in for ada, changed, and what doctor says of it then. */
  async function afterwards(
    change: (project: string, home: string) => void,
    config = 'personas: {ada: {surface: codex}}',
    client = 'codex',
  ) {
    const home = fs.realpathSync(temporaryDirectory())
    const project = path.join(home, 'project')
    fs.mkdirSync(project)
    fs.writeFileSync(path.join(home, 'config.yaml'), config)
    const program = path.join(home, 'dist', 'turnbell.cjs')
    fs.mkdirSync(path.dirname(program))
    fs.writeFileSync(program, '')
    const turnbell = testCli({ home, overrides: { cwd: project, program, node: process.execPath } })
    await turnbell.run('connect', client, '--persona', 'ada')
    change(project, home)
    const code = await turnbell.run('doctor', '--json')
    const { findings } = turnbell.json<Report>()
    const of = (check: string) => findings.find((finding) => finding.check === check)
    const found = of(`connection ${client}`) ?? of('connections')
    return { code, home, project, turnbell, found, settings: of(`settings ${client}`) }
  }
  const CLAUDE_CODE = ['personas: {ada: {surface: claude-code}}', 'claude-code'] as const

  test('says which are in order', async () => {
    const { found, project } = await afterwards(() => {})
    expect(found).toMatchObject({ state: 'ok', detail: `${project} acts for ada` })
  })
  test('says which file somebody changed, and how to write it again', async () => {
    const { found, project } = await afterwards((project) =>
      fs.rmSync(path.join(project, '.codex/hooks.json')),
    )
    expect(found).toMatchObject({ state: 'warning' })
    expect(found?.detail).toContain(path.join(project, '.codex/hooks.json'))
    expect(found?.mend).toContain(`turnbell connect codex --persona ada --project ${project}`)
  })
  test('says which project is gone, and forgets it when it is disconnected', async () => {
    const { found, project, turnbell } = await afterwards((project) =>
      fs.rmSync(project, { recursive: true }),
    )
    expect(found?.mend).toContain(`turnbell disconnect codex --project ${project}`)
    expect(await turnbell.run('disconnect', 'codex', '--project', project)).toBe(0)
    await turnbell.run('doctor', '--json')
    expect(turnbell.stdout()).not.toContain('connection codex')
  })
  test('says whom nobody knows here', async () => {
    const { found } = await afterwards(() => {}, 'personas: {}')
    expect(found?.mend).toContain('turnbell persona add ada --surface codex')
  })
  test('says which file was broken since, with its line', async () => {
    const { found } = await afterwards((project) =>
      fs.writeFileSync(path.join(project, '.codex/config.toml'), 'a = 1\n[b\n'),
    )
    expect(found).toMatchObject({ state: 'broken' })
    expect(found?.detail).toContain('line 2, column 3')
  })
  test('doctor exits 1 and names the settings of the user that disable all hooks', async () => {
    const inUser = (home: string) => path.join(home, 'user', '.claude', 'settings.json')
    const { code, home, settings } = await afterwards(
      (_, home) => {
        fs.mkdirSync(path.dirname(inUser(home)), { recursive: true })
        fs.writeFileSync(inUser(home), '{"disableAllHooks": true}')
      },
      ...CLAUDE_CODE,
    )
    expect(code).toBe(1)
    expect(settings).toMatchObject({
      state: 'broken',
      detail: expect.stringContaining(`disableAllHooks in ${inUser(home)}`) as string,
    })
  })
  test('doctor reports a settings file with a comment, which Claude Code skips, as broken', async () => {
    const name = '.claude/settings.local.json'
    const { code, project, found, settings } = await afterwards(
      (project) => {
        const file = path.join(project, name)
        fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('{', '{ // mine'))
      },
      ...CLAUDE_CODE,
    )
    const file = path.join(project, name)
    expect(code).toBe(1)
    expect(found).toMatchObject({
      state: 'broken',
      detail: expect.stringContaining(`${file}, line 1, column 3: a comment`) as string,
    })
    expect(settings).toMatchObject({
      detail: expect.stringContaining(`skips the whole of ${file}`) as string,
    })
  })
  test('says which record cannot be read', async () => {
    const { found } = await afterwards((_, home) => {
      const folder = path.join(home, 'connections')
      for (const name of fs.readdirSync(folder)) fs.writeFileSync(path.join(folder, name), '{')
    })
    expect(found).toMatchObject({ state: 'broken' })
  })
})

describe('doctor --fix', () => {
  /** A project that Codex works in, wired with a node that an upgrade has removed since. */
  async function upgraded() {
    const home = fs.realpathSync(temporaryDirectory())
    const project = path.join(home, 'project')
    const dist = path.join(home, 'dist')
    for (const folder of [project, dist]) fs.mkdirSync(folder)
    const program = path.join(dist, 'turnbell.cjs')
    fs.writeFileSync(program, '')
    fs.writeFileSync(path.join(home, 'config.yaml'), 'hub: {port: 0}\npersonas: {ada: {surface: codex}}')
    fs.chmodSync(home, 0o700)
    const node = path.join(home, 'Cellar', 'node')
    fs.mkdirSync(path.dirname(node))
    fs.writeFileSync(node, '')
    const options = {
      home,
      platform: 'linux' as const,
      env: { PATH: withProgram('codex'), XDG_CONFIG_HOME: path.join(home, 'xdg') },
    }
    const ran = { program: () => ({ code: 0, stdout: '0.169.0', stderr: '' }) }
    const before = testCli({ ...options, ...ran, overrides: { cwd: project, program, node } })
    await before.run('connect', 'codex', '--persona', 'ada')
    await before.run('service', 'install', '--hub')
    fs.rmSync(node)
    const turnbell = testCli({
      ...options,
      ...ran,
      overrides: { cwd: project, program, node: process.execPath },
    })
    const doctor = async (...words: string[]) => {
      const code = await turnbell.run('doctor', ...words, '--json')
      const { findings, fixed } = turnbell.json<Report>()
      return { code, fixed, of: (check: string) => findings.find((one) => one.check === check) }
    }
    const unit = path.join(home, 'xdg', 'systemd', 'user', 'turnbell-hub.service')
    return { turnbell, doctor, node, unit, hooks: path.join(project, '.codex', 'hooks.json') }
  }

  test('writes wiring and services again whose program is gone, and keeps a copy', async () => {
    const { turnbell, doctor, node, unit, hooks } = await upgraded()
    const found = await doctor()
    expect(found.code).toBe(1)
    for (const check of ['connection codex', 'service hub'])
      expect(found.of(check)).toMatchObject({
        ...{ state: 'broken', fixable: true },
        detail: expect.stringContaining(node) as string,
        mend: expect.stringContaining('doctor --fix') as string,
      })

    const was = fs.readFileSync(hooks, 'utf8')
    const fixed = await doctor('--fix')
    expect(turnbell.stderr()).toMatch(/connect codex in .* again: .*hooks\.json/)
    expect(fixed.fixed?.map(({ check }) => check)).toEqual(['service hub', 'connection codex'])
    for (const check of ['connection codex', 'service hub'])
      expect(fixed.of(check)).toMatchObject({ state: 'ok' })
    for (const file of [hooks, unit]) {
      expect(fs.readFileSync(file, 'utf8')).toContain(process.execPath)
      expect(fs.readFileSync(file, 'utf8')).not.toContain(node)
    }
    const copies = fixed.fixed?.flatMap(({ backups }) => backups) ?? []
    expect(copies.map((copy) => path.basename(copy).slice(2)).sort()).toEqual([
      ...['config.toml', 'hooks.json', 'turnbell-hub.service'],
    ])
    expect(fs.readFileSync(copies.find((copy) => copy.endsWith('hooks.json')) ?? '', 'utf8')).toBe(was)

    expect((await doctor('--fix')).fixed).toEqual([])
    expect(turnbell.stderr()).toBe('')
  })

  test('reports a fix that fails with an error of the system, and applies the others', async () => {
    const home = temporaryDirectory()
    fs.chmodSync(home, 0o755)
    openToken(home)
    const denied = Object.assign(new Error('EPERM: operation not permitted'), { code: 'EPERM' })
    const closing = vi.spyOn(fs, 'chmodSync').mockImplementationOnce(() => {
      throw denied
    })
    onTestFinished(() => closing.mockRestore())
    const turnbell = testCli({ home })
    expect(await turnbell.run('doctor', '--fix', '--json')).toBe(1)
    const { findings, fixed } = turnbell.json<Report>()
    expect(findings).toContainEqual(
      expect.objectContaining({ check: 'home --fix', state: 'broken', detail: denied.message }),
    )
    expect(fixed?.map(({ check }) => check)).toEqual(['secrets'])
  })

  test('reports a file that cannot be copied before it is changed, and leaves it', async () => {
    const { turnbell, doctor, node, hooks } = await upgraded()
    const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
    const copying = vi.spyOn(fs, 'copyFileSync').mockImplementation(() => {
      throw full
    })
    onTestFinished(() => copying.mockRestore())
    const { code, fixed, of } = await doctor('--fix')
    expect({ code, fixed }).toEqual({ code: 1, fixed: [] })
    expect(of('connection codex --fix')).toMatchObject({ state: 'broken', detail: full.message })
    expect(of('service hub --fix')).toMatchObject({ state: 'broken', detail: full.message })
    expect(fs.readFileSync(hooks, 'utf8')).toContain(node)
    expect(await turnbell.run('doctor', '--fix')).toBe(1)
    expect(turnbell.stdout()).toContain('0 things fixed. 2 fixes failed.')
  })

  test('closes what others can read, and nothing the second time', async () => {
    const home = temporaryDirectory()
    fs.chmodSync(home, 0o755)
    openToken(home)
    const turnbell = testCli({ home })
    await turnbell.run('doctor', '--fix', '--json')
    expect(turnbell.json<Report>().fixed?.map(({ check }) => check)).toEqual(['home', 'secrets'])
    expect(fs.statSync(path.join(home, 'secrets', 'operator.token')).mode & 0o777).toBe(0o600)
    await turnbell.run('doctor', '--fix', '--json')
    expect(turnbell.json<Report>().fixed).toEqual([])
  })
})
