/** Tests `turnbell run` with a fake client that records its start, and `turnbell hook`. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import { resolveHome } from '../../src/system/config/home.ts'
import { runningHub } from '../../src/system/config/hub-discovery.ts'
import { processAlive, readPidFile } from '../../src/system/process/process-info.ts'
import { eventually } from '../support/eventually.ts'
import { hubHttp } from '../support/worlds/hub-http.ts'
import {
  BIN,
  cleanEnvironment,
  end,
  start,
  startHub,
  temporaryHome,
  turnbell,
} from '../support/processes/processes.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

interface Started {
  args: string[]
  env: Record<string, string>
  cwd: string
}

/** A home whose Claude Code is a script that records its start and then runs `then`. */
function homeWithClient(then = 'process.exit(0)') {
  const home = temporaryHome()
  const note = path.join(home, 'started.json')
  const client = path.join(home, 'claude')
  fs.writeFileSync(
    client,
    `#!${process.execPath}
const { argv, env } = process
require('node:fs').writeFileSync(${JSON.stringify(note)}, JSON.stringify({ args: argv.slice(2), env, cwd: process.cwd() }))
${then}
`,
    { mode: 0o755 },
  )
  fs.writeFileSync(
    path.join(home, 'config.yaml'),
    JSON.stringify({
      hub: { port: 0 },
      clients: { claude_code: client },
      personas: { ada: { surface: 'claude-code' } },
    }),
  )
  closers.push(() => stopEverything(home))
  return { home, started: () => JSON.parse(fs.readFileSync(note, 'utf8')) as Started, note }
}

/** Stops the background processes of `run`, by the pid files of its home. */
async function stopEverything(home: string): Promise<void> {
  const daemon = readPidFile(path.join(home, 'run/local/ada/daemon.pid'))
  for (const pid of [daemon, runningHub(resolveHome({}, home))?.pid ?? null]) {
    if (pid === null || !processAlive(pid)) continue
    process.kill(pid, 'SIGTERM')
    await eventually(`${pid} has ended`, () => !processAlive(pid))
  }
}

const run = (home: string, args: string[] = [], env: Record<string, string> = {}) =>
  turnbell(['run', '--home', home, '--persona', 'ada', ...args], { env })

describe('turnbell run', () => {
  test('run starts the missing processes and wires the client by arguments and environment', async () => {
    const { home, started } = homeWithClient('process.exit(7)')
    const first = await run(home, ['--', '--continue-somehow', 'a prompt'])
    expect(first.code, first.stderr).toBe(7)
    expect(first.stderr).toMatch(/No hub runs/)
    expect(first.stderr).toMatch(/No daemon runs for ada/)
    const { args, env } = started()
    const plugin = path.join(path.dirname(BIN), 'adapters', 'claude-code')
    expect(args).toEqual([
      '--plugin-dir',
      plugin,
      '--session-id',
      expect.stringMatching(/^[0-9a-f-]{36}$/),
      '--name',
      'ada',
      '--continue-somehow',
      'a prompt',
    ])
    expect(env).toMatchObject({
      TURNBELL_PERSONA: 'ada',
      TURNBELL_HOME: home,
      TURNBELL_NODE: process.execPath,
    })

    const second = await run(home)
    expect(second.stderr).toBe('')
    expect(started().args[3]).not.toBe(args[3])
  })

  test('run prints a note if the session works outside of the project of its persona', async () => {
    const { home } = homeWithClient()
    const project = path.join(home, 'shop')
    fs.mkdirSync(project)
    const file = path.join(home, 'config.yaml')
    const config = JSON.parse(fs.readFileSync(file, 'utf8')) as object
    const personas = { ada: { surface: 'claude-code', project } }
    fs.writeFileSync(file, JSON.stringify({ ...config, personas }))
    const outside = await turnbell(['run', '--home', home, '--persona', 'ada'], { cwd: home })
    expect(outside).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(project) as string,
    })
    const inside = await turnbell(['run', '--home', home, '--persona', 'ada'], { cwd: project })
    expect(inside).toMatchObject({ code: 0, stderr: '' })
  })

  test.each([[['--resume', 'some-id']], [['-c']], [['--session-id=11111111-1111-4111-8111-111111111111']]])(
    'run leaves the choice of the session to the arguments %j',
    async (own) => {
      const { home, started } = homeWithClient()
      expect((await run(home, ['--', ...own, '--name', 'mine'])).code).toBe(0)
      expect(started().args.slice(2)).toEqual([...own, '--name', 'mine'])
    },
  )

  test('a session inside a session does not count as its child', async () => {
    const { home, started } = homeWithClient()
    const outer = {
      CLAUDECODE: '1',
      CLAUDE_CODE_SESSION_ID: 'outer',
      CLAUDE_CODE_MESSAGING_SOCKET: '/x',
      CLAUDE_PID: '1',
    }
    await run(home, [], { ...outer, ANTHROPIC_BASE_URL: 'http://127.0.0.1:1' })
    const { env } = started()
    expect(Object.keys(env).filter((name) => name.startsWith('CLAUDE'))).toEqual([])
    expect(env['ANTHROPIC_BASE_URL']).toBe('http://127.0.0.1:1')
  })

  test("run keeps the user's own settings of the client", async () => {
    const { home, started } = homeWithClient()
    await run(home, [], { CLAUDE_CODE_MAX_OUTPUT_TOKENS: '9' })
    expect(started().env['CLAUDE_CODE_MAX_OUTPUT_TOKENS']).toBe('9')
  })

  test('run forwards os signals and exits like the client', async () => {
    const { home, note } = homeWithClient('setInterval(() => {}, 1e6)')
    const running = start(['run', '--home', home, '--persona', 'ada'])
    await eventually('the client runs', () => fs.existsSync(note))
    running.child.kill('SIGTERM')
    expect(await running.exited).toBe(128 + 15)
  })

  test('run with a missing client exits 1 with the setting for its path', async () => {
    const { home } = homeWithClient()
    fs.writeFileSync(
      path.join(home, 'config.yaml'),
      JSON.stringify({ clients: { claude_code: '/no/such/claude' } }),
    )
    const { code, stderr } = await run(home)
    expect(code).toBe(1)
    expect(stderr).toContain('clients.claude_code')
    expect(runningHub(resolveHome({}, home))).toBeNull()
  })

  test('run of a persona with another surface is a usage error', async () => {
    const { home } = homeWithClient()
    fs.writeFileSync(
      path.join(home, 'config.yaml'),
      JSON.stringify({ personas: { ada: { surface: 'mcp' } } }),
    )
    expect((await run(home)).code).toBe(64)
  })

  test('run refuses a wrapped persona and does not start the client', async () => {
    const { home, note } = homeWithClient()
    const hub = await startHub(home)
    closers.push(() => end(hub, 'SIGTERM'))
    await hubHttp(home).post('/api/personas/add', { identity: 'ada', surface: 'claude-code' })
    await hubHttp(home).post('/api/personas/wrap', { identity: 'ada' })
    expect((await run(home)).code).toBe(2)
    expect(fs.existsSync(note)).toBe(false)
  })
})

describe('turnbell hook', () => {
  const hook = (home: string, input: string, persona: string | null = 'ada', event = 'PostToolUse') =>
    turnbell(['hook', event, '--home', home], {
      input,
      ...(persona === null ? {} : { env: { TURNBELL_PERSONA: persona } }),
    })
  const spool = (home: string) => path.join(home, 'spool', 'hooks.jsonl')

  test('a hook reports its event to the hub', async () => {
    const home = temporaryHome()
    const hub = await startHub(home)
    closers.push(() => end(hub, 'SIGTERM'))
    const { code, stdout } = await hook(home, JSON.stringify({ session_id: 's1', tool_name: 'Bash' }))
    expect({ code, answer: JSON.parse(stdout) as unknown }).toEqual({ code: 0, answer: {} })
    // Through the spool if the hub is slow.
    const told = await eventually('the hub is told', async () => {
      const { events } = await hubHttp(home).get<{ events: { type: string; data: object }[] }>('/events')
      const hooks = events.filter(({ type }) => type === 'hook')
      return hooks.length > 0 && hooks
    })
    expect(told).toMatchObject([
      { data: { hook_event_name: 'PostToolUse', session_id: 's1', tool_name: 'Bash' } },
    ])
  })

  test.each(['PostToolUse', 'PreCompact'])('a hook spools %s for a suspended hub', async (event) => {
    const home = temporaryHome()
    const hub = await startHub(home)
    closers.push(() => end(hub))
    hub.child.kill('SIGSTOP')
    expect(await hook(home, JSON.stringify({ session_id: 's1' }), 'ada', event)).toMatchObject({ code: 0 })
    const line = JSON.parse(fs.readFileSync(spool(home), 'utf8')) as { body: object }
    expect(line.body).toEqual({ session_id: 's1', hook_event_name: event })
    hub.child.kill('SIGCONT')
  })

  test('a hook spools one line without a hub', async () => {
    const home = temporaryHome()
    for (const tool_name of ['Bash', 'Read']) {
      expect(await hook(home, JSON.stringify({ tool_name }))).toMatchObject({ code: 0, stdout: '{}\n' })
    }
    const lines = fs.readFileSync(spool(home), 'utf8').trimEnd().split('\n')
    const entries = lines.map(
      (line) => JSON.parse(line) as { id: string; identity: string; body: { tool_name: string } },
    )
    expect(entries.map(({ body }) => body.tool_name)).toEqual(['Bash', 'Read'])
    expect(entries[0]).toMatchObject({
      client: 'claude-code',
      identity: 'ada',
      body: { hook_event_name: 'PostToolUse' },
    })
    expect(new Set(entries.map(({ id }) => id)).size).toBe(2)
    expect(fs.statSync(spool(home)).mode & 0o077).toBe(0)
  })

  test.each([
    ['no JSON', 'this is no JSON', 'ada'],
    ['nothing', '', 'ada'],
    ['a list', '[1]', 'ada'],
    ['no persona', '{}', null],
    ['a persona that cannot be', '{}', 'No Such Name'],
  ])('a hook exits 0 for %s', async (_, input, persona) => {
    expect(await hook(temporaryHome(), input, persona)).toMatchObject({ code: 0, stdout: '{}\n' })
  })

  test('a hook exits 0 with an invalid configuration', async () => {
    const home = temporaryHome()
    fs.writeFileSync(path.join(home, 'config.yaml'), 'nonsense: [')
    expect(await hook(home, '{}')).toMatchObject({ code: 0, stdout: '{}\n' })
  })

  test('the status line is empty without a daemon and with an invalid configuration', async () => {
    const home = temporaryHome()
    const nothing = { code: 0, stdout: '', stderr: '' }
    expect(await hook(home, '{}', 'ada', 'statusline')).toMatchObject(nothing)
    fs.writeFileSync(path.join(home, 'config.yaml'), 'nonsense: [')
    expect(await hook(home, '{}', 'ada', 'statusline')).toMatchObject(nothing)
  })

  /** Starts the hook in a shell, which redirects its streams. */
  const hookIn = (home: string, redirection: string, env: Record<string, string> = {}) =>
    spawnSync('/bin/sh', ['-c', `"$NODE" "$BIN" hook Stop --home "$HERE" ${redirection}`], {
      env: cleanEnvironment({ TURNBELL_PERSONA: 'ada', NODE: process.execPath, BIN, HERE: home, ...env }),
      encoding: 'utf8',
    })

  test.each([
    ['is closed', '<&-'],
    ['is nothing', '</dev/null'],
    ['is a file', '<"$PAYLOAD"'],
    ['is a named pipe that stays open', '<>"$FIFO"'],
  ])('a hook exits 0 if stdin %s', (_, redirection) => {
    const home = temporaryHome()
    const files = { PAYLOAD: path.join(home, 'payload.json'), FIFO: path.join(home, 'fifo') }
    fs.writeFileSync(files.PAYLOAD, '{"session_id":"s"}')
    expect(spawnSync('mkfifo', [files.FIFO]).status).toBe(0)
    expect(hookIn(home, redirection, files)).toMatchObject({ status: 0, stdout: '{}\n', stderr: '' })
  })

  test.each([
    ['is closed', '>&-'],
    ['has no reader', '| true'],
    ['is full', '>/dev/full'],
  ])('a hook exits 0 if stdout %s and its event is reported', (_, redirection) => {
    const home = temporaryHome()
    expect(hookIn(home, `</dev/null ${redirection}`)).toMatchObject({ status: 0, stdout: '', stderr: '' })
    expect(fs.existsSync(spool(home))).toBe(true)
  })

  test('a hook drops a payload over the limit and exits 0', async () => {
    const home = temporaryHome()
    const input = JSON.stringify({ text: 'x'.repeat(LIMITS.body_bytes_max) })
    expect(await hook(home, input)).toMatchObject({ code: 0, stdout: '{}\n' })
    expect(fs.existsSync(spool(home))).toBe(false)
    const shorter = JSON.stringify({ text: 'x'.repeat(LIMITS.body_bytes_max / 2) })
    expect(await hook(home, shorter)).toMatchObject({ code: 0, stdout: '{}\n' })
    expect(fs.statSync(spool(home)).size).toBeGreaterThan(shorter.length)
  })

  test('a hook works under the former name of the command', () => {
    const home = temporaryHome()
    const bin = path.join(path.dirname(BIN), 'turnbell.js')
    expect(hookIn(home, '</dev/null', { BIN: bin })).toMatchObject({ status: 0, stdout: '{}\n' })
  })

  test('a hook exits 0 although its stdin never ends', async () => {
    const running = start(['hook', 'Stop', '--home', temporaryHome()], { TURNBELL_PERSONA: 'ada' })
    expect(await running.exited).toBe(0)
    expect(running.output()).toBe('{}\n')
  })
})
