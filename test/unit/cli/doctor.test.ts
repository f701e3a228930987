import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { FindingDocument } from '../../../src/cli/doctor/finding.ts'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import type { SurfaceKind } from '../../../src/contracts/ids.ts'
import { personaPaths, resolveHome } from '../../../src/system/config/home.ts'
import { VERSION } from '../../../src/system/version.ts'
import { daemonStatus, fakeDaemon } from '../../support/fakes/fake-daemon.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { testCli, type FakeHub } from '../../support/processes/test-cli.ts'
import { writeTinyModel } from '../../support/fakes/tiny-model.ts'

interface Report {
  ok: boolean
  findings: FindingDocument[]
  fixed?: { check: string; did: string; backups: string[] }[]
}

/** Creates a home with this configuration and returns doctor's findings. */
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

const readyHub = (version = VERSION, status = 'ok'): FakeHub => ({
  '/health': () => ({
    ...{ status, version, uptime_s: 1, tool_count: 3 },
    connected: { agent: 0, daemon: 0, observer: 0 },
  }),
  '/ready': () => ({ ready: true }),
  'personas.list': () => ({ personas: [] }),
})

/** Returns a directory with a program of that name. */
function withProgram(name: string): string {
  const directory = temporaryDirectory()
  fs.writeFileSync(path.join(directory, name), '#!/bin/sh\n', { mode: 0o755 })
  return directory
}

/** Gives the operator token mode 644. */
function openToken(home: string): void {
  fs.mkdirSync(path.join(home, 'secrets'), { mode: 0o700 })
  fs.writeFileSync(path.join(home, 'secrets', 'operator.token'), 'tbop_x\n')
  fs.chmodSync(path.join(home, 'secrets', 'operator.token'), 0o644)
}

describe('turnbell doctor', () => {
  test('doctor finds nothing broken in a new home and prints the first steps', async () => {
    const { code, ok, of, findings } = await examine()
    expect({ code, ok }).toEqual({ code: 0, ok: true })
    expect(of('hub')).toMatchObject({
      state: 'warning',
      mend: expect.stringContaining('turnbell up') as string,
    })
    for (const { state, mend } of findings) if (state !== 'ok') expect(mend).not.toBeNull()
  })

  test('doctor exits 1 for a home that others can read and prints the fix', async () => {
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
  ])('doctor exits 1 for %s that others can read', async (name, mode, check, mend) => {
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

  test('doctor reports a file in the place of a directory or of the home', async () => {
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

  test('doctor reports why a hub refuses changes, with the next step', async () => {
    const { code, of } = await examine({
      hub: {
        ...readyHub(),
        '/ready': () => {
          throw new TurnbellError('hub_not_ready', { detail: 'no writes', hint: 'Remount it.' })
        },
      },
    })
    expect(code).toBe(1)
    expect(of('hub')).toMatchObject({
      state: 'broken',
      detail: expect.stringContaining('no writes') as string,
      mend: expect.stringContaining('Remount it.') as string,
    })
  })

  test.each([
    ['starting', 'hub_not_ready'],
    ['stopping', 'hub_not_ready'],
    ['ok', 'hub_stopping'],
  ] as const)('doctor only warns of a hub that is %s and refuses with %s', async (status, code) => {
    const { of } = await examine({
      hub: {
        ...readyHub(VERSION, status),
        '/ready': () => {
          throw new TurnbellError(code, { detail: 'a reason' })
        },
      },
    })
    expect(of('hub')).toMatchObject({
      state: 'warning',
      detail: expect.stringContaining('a reason') as string,
    })
  })

  test('doctor reports a directory in the place of a log', async () => {
    const { code, of } = await examine({
      prepare: (home) => fs.mkdirSync(path.join(home, 'logs', 'hub.log'), { recursive: true, mode: 0o700 }),
    })
    expect(code).toBe(1)
    expect(of('files')).toMatchObject({ mend: expect.stringContaining('mv ') as string })
  })

  test('doctor reports faults that stop a hub, and quarantined lines', async () => {
    const { findings } = await examine({
      prepare(home) {
        const journal = path.join(home, 'hub', 'journal')
        fs.mkdirSync(journal, { recursive: true, mode: 0o700 })
        fs.writeFileSync(path.join(journal, 'epoch'), 'garbage')
        fs.writeFileSync(path.join(journal, '0000000001.jsonl.torn-5'), 'x')
        const events = path.join(home, 'hub', 'events')
        fs.mkdirSync(events)
        fs.writeFileSync(path.join(events, 'events.jsonl'), 'garbage\ngarbage\n')
      },
    })
    const found = findings.filter(({ check }) => check === 'store')
    expect(found.map(({ state }) => state)).toEqual(['broken', 'warning', 'warning'])
    for (const [at, word] of ['--repair', 'torn-5', 'events.jsonl'].entries())
      expect(`${found[at]?.detail} ${found[at]?.mend}`).toContain(word)
  })

  test('doctor does not advise to start a wrapped persona', async () => {
    const times = { created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-01T00:00:00.000Z' }
    const counts = { pending_count: 0, expired_count: 0, registrations: [] }
    const ada = { identity: 'ada', surface: 'mcp', state: 'wrapped', ...times, ...counts }
    const { of } = await examine({
      config: 'personas: {ada: {surface: mcp}}\n',
      hub: { ...readyHub(), 'personas.list': () => ({ personas: [ada] }) },
    })
    expect(of('daemon ada')).toMatchObject({ state: 'ok' })
    expect(of('daemon ada')?.detail).toContain('wrapped')
  })

  test('doctor runs every check with an invalid configuration', async () => {
    const { code, of, findings } = await examine({ config: 'nosuchkey: 1\n', hub: readyHub() })
    expect(code).toBe(1)
    expect(of('config')).toMatchObject({
      state: 'broken',
      detail: expect.stringContaining('nosuchkey') as string,
    })
    for (const check of ['hub', 'personas', 'clients'])
      expect(of(check)).toMatchObject({
        state: 'warning',
        detail: expect.stringContaining('not checked') as string,
      })
    expect(findings.filter(({ state }) => state === 'broken')).toHaveLength(1)
    expect(of('secrets')).toMatchObject({ state: 'warning', detail: 'no operator token yet' })
  })

  test('doctor runs every check with an operator token that others can read', async () => {
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

  test('doctor prints the next step for a hub of another home', async () => {
    const refuse = () => {
      throw new TurnbellError('token_invalid', { detail: 'signed by another hub' })
    }
    const { of } = await examine({ hub: { ...readyHub(), 'personas.list': refuse } })
    expect(of('hub')).toMatchObject({
      state: 'broken',
      mend: expect.stringContaining('turnbell down') as string,
    })
    expect(of('hub')?.mend).not.toMatch(/ask the operator/i)
  })

  test('doctor reports a port in use and its process', async () => {
    const server = net.createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as net.AddressInfo
    const { code, of } = await examine({ config: `hub: { port: ${port} }` })
    server.close()
    expect(code).toBe(1)
    expect(of('port')).toMatchObject({
      state: 'broken',
      detail: expect.stringMatching(
        `^${port} is used by .+ \\(process ${process.pid}\\), so no hub`,
      ) as string,
    })
    expect((await examine({ config: 'hub: { port: 0 }' })).of('port')).toBeUndefined()
  })

  test('doctor reports unreadable and quarantined lines of the spool', async () => {
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

  test('doctor reports a renamed entry of the spool', async () => {
    const { of, findings } = await examine({
      prepare(home) {
        fs.mkdirSync(path.join(home, 'spool'), { mode: 0o700 })
        fs.symlinkSync(
          '/dev/zero',
          path.join(home, 'spool', 'hooks.jsonl.01KJMHHR00AAAAAAAAAAAAAAAA.not-plain'),
        )
      },
    })
    expect(of('spool')).toMatchObject({ state: 'ok' })
    const found = findings.filter(({ check }) => check === 'spool')
    expect(found[1]).toMatchObject({
      state: 'warning',
      detail: expect.stringContaining('.not-plain') as string,
    })
  })

  test('doctor reports a spool that is not a file', async () => {
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

  test('doctor reports why hub and daemon did not start, unless another was running', async () => {
    const line = (who: string, code: string) =>
      `{"level":30,"msg":"ready"}\n${JSON.stringify({ msg: `the ${who} does not start`, err: { code, detail: 'it is so', hint: 'Fix it.' } })}\n`
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
        ...{ state: 'broken', mend: 'Fix it.' },
        detail: expect.stringContaining('it is so') as string,
      })
    }
    const other = await examine({ config, prepare: logs('already_running') })
    expect(other.of('hub')).toMatchObject({ state: 'warning', detail: 'not running' })
  })

  test('doctor accepts a ready hub of the installed version and reports an older one', async () => {
    expect((await examine({ hub: readyHub() })).of('hub')).toMatchObject({ state: 'ok' })
    const older = await examine({ hub: readyHub('0.0.1') })
    expect(older.of('hub')).toMatchObject({ state: 'warning' })
    expect(older.of('hub')?.detail).toContain('0.0.1')
  })

  test('doctor reports another program at the address of the hub', async () => {
    const { code, of } = await examine({ hub: { '/health': () => ({ hello: 'world' }) } })
    expect(code).toBe(1)
    expect(of('hub')).toMatchObject({ state: 'broken' })
  })

  test('doctor reports a configured persona without a running daemon', async () => {
    const { of } = await examine({ config: 'personas: {ada: {surface: mcp}}\n' })
    expect(of('daemon ada')).toMatchObject({
      state: 'warning',
      mend: expect.stringContaining('turnbell daemon --persona ada') as string,
    })
  })

  test('doctor reports a missing client only if a persona uses it', async () => {
    const { code, of } = await examine({ config: 'personas: {ada: {surface: codex}}\n' })
    expect(code).toBe(1)
    expect(of('client codex')).toMatchObject({ state: 'broken' })
    expect(of('client opencode')).toMatchObject({ state: 'ok' })
  })

  test('doctor prints the version of a client', async () => {
    const { of } = await examine({ PATH: withProgram('claude'), version: '2.1.332 (Claude Code)\n' })
    expect(of('client claude-code')).toMatchObject({
      state: 'ok',
      detail: expect.stringMatching(/^2\.1\.332 at /) as string,
    })
  })

  test('doctor reports what an old client lacks', async () => {
    const { code, of } = await examine({ PATH: withProgram('claude'), version: '2.1.200 (Claude Code)\n' })
    expect(code).toBe(0)
    expect(of('client claude-code')).toMatchObject({
      state: 'warning',
      detail: expect.stringMatching(/^2\.1\.200 at .*older than 2\.1\.224: it has no inbox/) as string,
    })
  })

  test('doctor reports a client that is newer than the measured ones', async () => {
    const { code, of } = await examine({ PATH: withProgram('codex'), version: 'codex-cli 0.172.0\n' })
    expect(code).toBe(0)
    expect(of('client codex')).toMatchObject({
      state: 'warning',
      detail: expect.stringMatching(/^0\.172\.0 at .*of another series than 0\.171\.0/) as string,
      mend: expect.stringContaining('newer turnbell') as string,
    })
  })

  test('doctor reports a used client that cannot be rung as broken with the next step', async () => {
    const place = { PATH: withProgram('opencode'), version: '2.0.0' }
    expect((await examine(place)).of('client opencode')).toMatchObject({ state: 'warning' })
    const { of } = await examine({ ...place, config: 'personas: {ada: {surface: opencode}}\n' })
    expect(of('client opencode')).toMatchObject({
      state: 'broken',
      mend: expect.stringContaining('Install opencode 1.x') as string,
    })
  })

  test('doctor does not require a client for an agent with its own program', async () => {
    const { of } = await examine({
      config: 'personas: {eve: {surface: opencode, project: /, acp: {argv: [opencode-acp]}}}\n',
    })
    expect(of('client opencode')).toMatchObject({ state: 'ok' })
  })

  test('doctor reports a client whose --version does not end', async () => {
    const { of } = await examine({
      config: 'personas: {ada: {surface: opencode}}\n',
      PATH: withProgram('opencode'),
      late: true,
    })
    expect(of('client opencode')).toMatchObject({
      state: 'broken',
      detail: expect.stringContaining('did not end within 10 s') as string,
    })
  })

  test('doctor reports a used client whose --version fails as broken', async () => {
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

describe('doctor and the search model', () => {
  const modelOf = async (model_dir: string) =>
    (await examine({ config: `memory: { model_dir: ${model_dir} }` })).of('model')

  test('doctor prints nothing without a configured model', async () => {
    expect((await examine()).of('model')).toBeUndefined()
  })

  test('doctor reports a missing model and that search compares words', async () => {
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

describe('doctor without a hub', () => {
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

  test('doctor reports the hub as broken and a waiting daemon as a warning', async () => {
    const { code, findings, at } = await withDaemon(false)
    expect(code).toBe(1)
    expect(findings[at('hub')]).toMatchObject({
      state: 'broken',
      detail: 'not running, and ada waits for it',
    })
    expect(findings[at('daemon ada')]).toMatchObject({
      state: 'warning',
      detail: 'running, and waiting for the hub',
    })
    expect(at('hub')).toBeLessThan(at('daemon ada'))
  })

  test('doctor warns of a missing hub if no daemon waits for it', async () => {
    const { findings, at } = await withDaemon(true)
    expect(findings[at('hub')]).toMatchObject({ state: 'warning', detail: 'not running' })
  })
})

describe('doctor and a daemon without its agent', () => {
  /** Returns doctor's finding about the daemon of a persona with these settings and these lines in its log. */
  async function finding(kind: SurfaceKind, settings: string, lines: readonly object[] = []) {
    const home = temporaryDirectory()
    fs.writeFileSync(path.join(home, 'config.yaml'), `personas: {ada: {surface: ${kind}${settings}}}\n`)
    const surface = {
      kind,
      attached: false,
      session_id: null,
      turn: 'unknown',
      last_proof: null,
      via: null,
      ...{ interrupted_age_s: null, presence: null },
    } as const
    const paths = personaPaths(resolveHome({}, home), 'local', 'ada', {})
    await fakeDaemon(paths, () => daemonStatus('ada', { surface }))
    fs.mkdirSync(path.dirname(paths.log), { mode: 0o700, recursive: true })
    fs.writeFileSync(paths.log, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    const turnbell = testCli({ home })
    await turnbell.run('doctor', '--json')
    const found = turnbell.json<Report>().findings.find(({ check }) => check === 'daemon ada')
    expect(found).toMatchObject({ state: 'warning' })
    return { detail: found?.detail, mend: found?.mend?.replaceAll(home, 'HOME') }
  }
  const advice = async (kind: SurfaceKind, settings: string) => (await finding(kind, settings)).mend

  test.each(['claude-code', 'codex', 'opencode'] as const)(
    'doctor advises to start %s in a window',
    async (kind) => {
      expect(await advice(kind, '')).toBe('Start the client: `turnbell run --persona ada`.')
      expect(await advice(kind, ', headless: false')).toContain('turnbell run')
    },
  )

  test.each([
    ['codex', 'headless: true'],
    ['opencode', 'headless: true'],
    ['claude-code', 'acp: {argv: [agent]}'],
    ['command', 'acp: {argv: [agent]}'],
  ] as const)('doctor does not advise to start a %s (%s) that the daemon runs', async (kind, settings) => {
    const mend = await advice(kind, `, ${settings}, project: /work`)
    expect(mend).not.toContain('turnbell run')
    expect(mend).toContain('HOME/logs/ada.log')
  })

  test('doctor names the session log of a headless Claude Code', async () => {
    const mend = await advice('claude-code', ', headless: true, project: /work')
    expect(mend).not.toContain('turnbell run')
    expect(mend).toContain('HOME/logs/ada.log')
    expect(mend).toContain('HOME/logs/ada~claude-code.log')
  })

  describe('an agent that the daemon keeps', () => {
    const ACP = ', acp: {argv: [agent]}, project: /work'
    const started = { msg: 'shim started', shim_pid: 1 }
    const said = (msg: string) => ({ msg: 'shim output', shim: 'stderr', line: JSON.stringify({ msg }) })
    const failed = said('agent session could not be opened: the agent speaks version 2\n\u001b[2J')
    const restarted = said('agent exited (SIGKILL); restarting')
    const without = 'no agent is attached (opencode); 0 waiting'

    test('doctor reports why its session could not be opened', async () => {
      const { detail, mend } = await finding('opencode', ACP, [started, failed, restarted])
      expect(detail).toContain(`${without}; its session could not be opened: the agent speaks version 2`)
      expect(detail).not.toContain('\u001b')
      expect(mend).toContain('HOME/logs/ada.log')
    })

    test.each([
      ['another shim failed', [started, failed, restarted, started]],
      ['a session was opened since', [started, failed, restarted, said('agent session opened')]],
      ['its log has no failure', [started, { msg: 'shim output', line: 'Welcome' }, { line: 7 }]],
      ['its log is empty', []],
    ])('doctor reports no reason if %s', async (_why, lines) => {
      expect((await finding('opencode', ACP, lines)).detail).toBe(without)
    })
  })
})

describe('doctor and connected projects', () => {
  /** Changes a project that a client uses for ada, and returns doctor's findings. */
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

  test('doctor lists intact connections', async () => {
    const { found, project } = await afterwards(() => {})
    expect(found).toMatchObject({ state: 'ok', detail: `${project} acts for ada` })
  })
  test('doctor names a changed file and the command that rewrites it', async () => {
    const { found, project } = await afterwards((project) =>
      fs.rmSync(path.join(project, '.codex/hooks.json')),
    )
    expect(found).toMatchObject({ state: 'warning' })
    expect(found?.detail).toContain(path.join(project, '.codex/hooks.json'))
    expect(found?.mend).toContain(`turnbell connect codex --persona ada --project ${project}`)
  })
  test('doctor reports a deleted project until it is disconnected', async () => {
    const { found, project, turnbell } = await afterwards((project) =>
      fs.rmSync(project, { recursive: true }),
    )
    expect(found?.mend).toContain(`turnbell disconnect codex --project ${project}`)
    expect(await turnbell.run('disconnect', 'codex', '--project', project)).toBe(0)
    await turnbell.run('doctor', '--json')
    expect(turnbell.stdout()).not.toContain('connection codex')
  })
  test('doctor reports a connection of an unknown persona', async () => {
    const { found } = await afterwards(() => {}, 'personas: {}')
    expect(found?.mend).toContain('turnbell persona add ada --surface codex')
  })
  test('doctor reports an invalid file of a connection with its line', async () => {
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
      detail: expect.stringContaining(file) as string,
    })
  })
  test('doctor reports an unreadable record of a connection', async () => {
    const { found } = await afterwards((_, home) => {
      const folder = path.join(home, 'connections')
      for (const name of fs.readdirSync(folder)) fs.writeFileSync(path.join(folder, name), '{')
    })
    expect(found).toMatchObject({ state: 'broken' })
  })
})

describe('doctor --fix', () => {
  /** A project wired for Codex with a node that an upgrade has removed. */
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
    const ran = { program: () => ({ code: 0, stdout: '0.171.0', stderr: '' }) }
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

  test('doctor --fix rewrites entries and services with a missing program and keeps a copy', async () => {
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

  test('doctor --fix reports a repair that fails and applies the others', async () => {
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

  test('doctor --fix reports a file that cannot be copied and leaves it unchanged', async () => {
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

  test('doctor --fix makes files private, and changes nothing the second time', async () => {
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
