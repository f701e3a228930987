/** The plugin's static files, and the keeper that restarts workers. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { TurnEvent } from '../../../adapters/claude-code/turn-events.ts'
import { processAlive } from '../../../src/system/process/process-info.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryHome } from '../../support/processes/processes.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const PLUGIN = path.join(ROOT, 'adapters/claude-code/plugin')
const read = <T>(...at: string[]) => JSON.parse(fs.readFileSync(path.join(...at), 'utf8')) as T

interface Hooks {
  hooks: Record<
    string,
    {
      matcher?: string
      hooks: {
        type: string
        server: string
        tool: string
        input: Record<string, string>
        command?: string
        asyncRewake?: boolean
        timeout: number
      }[]
    }[]
  >
}

describe('the plugin', () => {
  test('the plugin has the version of the package', () => {
    const { version } = read<{ version: string }>(ROOT, 'package.json')
    expect(read<{ version: string }>(PLUGIN, '.claude-plugin/plugin.json').version).toBe(version)
  })

  const { hooks } = read<Hooks>(PLUGIN, 'hooks/hooks.json')
  test.each(Object.entries(hooks))('the hook %s uses names that the worker knows', (event, entries) => {
    for (const { hooks } of entries) {
      for (const { type, server, tool, input } of hooks.filter(({ command }) => command === undefined)) {
        expect({ type, server, tool }).toEqual({
          type: 'mcp_tool',
          server: 'plugin:turnbell:hub',
          tool: 'turn_event',
        })
        expect(input['event']).toBe(event)
        for (const [name, value] of Object.entries(input)) {
          expect(Object.keys(TurnEvent.shape)).toContain(name)
          if (name !== 'event') expect(value).toBe(`\${${name}}`)
        }
      }
    }
  })

  test('the plugin does not call the worker at the start of a process, when the client has no server to call', () => {
    const calls = hooks['SessionStart']?.filter(({ hooks: of }) => of.some(({ type }) => type === 'mcp_tool'))
    expect(calls?.map(({ matcher }) => matcher)).toEqual(['clear|compact'])
  })

  test('the plugin has hooks before and after every own tool, because a drain has several names', () => {
    const matchers = ['PreToolUse', 'PostToolUse'].map((event) => hooks[event]?.map(({ matcher }) => matcher))
    expect(matchers).toEqual([['mcp__plugin_turnbell_hub__.*'], ['mcp__plugin_turnbell_hub__.*']])
  })

  test('the plugin calls turnbell itself for the memory and for the primer', () => {
    const calls = Object.entries(hooks).flatMap(([event, entries]) =>
      entries.flatMap(({ hooks: of }) =>
        of.flatMap(({ command = '' }) => (/hook\.sh/.test(command) ? [[event, command]] : [])),
      ),
    )
    expect(calls).toEqual(
      ['SubagentStop', 'PreCompact', 'SessionStart'].map((event) => [event, guarded('hook.sh', ` ${event}`)]),
    )
  })

  test('the plugin starts a waiter wherever the session may become idle', () => {
    const waiters = Object.entries(hooks).flatMap(([event, entries]) =>
      entries.flatMap(({ matcher, hooks: of }) =>
        of.filter(({ asyncRewake }) => asyncRewake === true).map((hook) => ({ event, matcher, ...hook })),
      ),
    )
    expect(waiters.map(({ event, matcher }) => [event, matcher])).toEqual([
      ['Stop', undefined],
      ['SessionStart', undefined],
    ])
    for (const { type, command, timeout } of waiters) {
      expect({ type, command }).toEqual({ type: 'command', command: guarded('waiter.sh') })
      // The client's timer holds milliseconds in 31 bits, and a session may sleep for days.
      expect(timeout * 1_000).toBeLessThan(2 ** 31)
      expect(timeout).toBeGreaterThan(7 * 86_400)
    }
  })
})

/**
 * A hook whose script is missing, as after an uninstall, exits with 0: the shell itself would exit with 2, which
 * blocks.
 */
function guarded(name: string, words = ''): string {
  const file = `"\${CLAUDE_PLUGIN_ROOT}/${name}"`
  return `test ! -f ${file} || sh ${file}${words}`
}

interface Run {
  code: number | null
  starts: { respawn: string; host: string; stdin: string }[]
}

/** Runs the keeper with a worker that exits with these codes, one after the other. */
async function keep(codes: number[], input = '', prepare?: (directory: string) => NodeJS.ProcessEnv) {
  const directory = temporaryHome()
  const env = prepare?.(directory)
  const log = path.join(directory, 'starts.jsonl')
  fs.copyFileSync(path.join(PLUGIN, 'keeper.sh'), path.join(directory, 'keeper.sh'))
  fs.writeFileSync(
    path.join(directory, 'shim.js'),
    `const fs = require('node:fs')
const log = ${JSON.stringify(log)}
const starts = fs.existsSync(log) ? fs.readFileSync(log, 'utf8').split('\\n').length - 1 : 0
const { TURNBELL_RESPAWN: respawn, TURNBELL_HOST_PID: host } = process.env
let stdin = ''
const code = ${JSON.stringify(codes)}[starts]
const end = () => { fs.appendFileSync(log, JSON.stringify({ respawn, host, stdin }) + '\\n'); code < 0 ? process.kill(process.pid, -code) : process.exit(code) }
if (code === 0) process.stdin.on('data', (text) => (stdin += text)).on('end', end)
else end()
`,
  )
  const child = spawn('/bin/sh', [path.join(directory, 'keeper.sh')], {
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { ...process.env, TURNBELL_NODE: process.execPath, ...env },
  })
  child.stdin.end(input)
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
  const lines = fs.readFileSync(log, 'utf8').trimEnd().split('\n')
  return { code, starts: lines.map((line) => JSON.parse(line) as Run['starts'][number]), pid: process.pid }
}

function script(directory: string, name: string, text: string): string {
  const file = path.join(directory, name)
  fs.writeFileSync(file, `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  return file
}

/** Durations of the keeper's sleeps; the clock, if given, contains a second for each read. */
async function sleepsOf(codes: number[], clock?: readonly number[]): Promise<string[]> {
  let log = ''
  await keep(codes, '', (directory) => {
    log = path.join(directory, 'sleeps')
    script(directory, 'sleep', `echo "$1" >>${log}`)
    const looks = path.join(directory, 'looks')
    if (clock !== undefined) {
      script(
        directory,
        'date',
        `echo >>${looks}; set -- ${clock.join(' ')}; shift $(($(wc -l <${looks}) - 1)); echo "$1"`,
      )
    }
    return { PATH: `${directory}:${process.env['PATH']}` }
  })
  return fs.readFileSync(log, 'utf8').trimEnd().split('\n')
}

describe('the keeper', () => {
  test('the keeper ends with a worker that was asked to end', async () => {
    const { code, starts, pid } = await keep([0], 'hello')
    expect(code).toBe(0)
    expect(starts).toEqual([{ respawn: '0', host: String(pid), stdin: 'hello' }])
  })

  test('the keeper restarts a failing worker with increasing delays', async () => {
    const slept = await sleepsOf([...Array<number>(9).fill(1), 0])
    expect(slept).toEqual(['0.2', '0.2', '0.2', '1', '1', '5', '5', '30', '30'])
  })

  test('the keeper resets its delay after a worker that ran for a while', async () => {
    // Workers start and end one after the other: the fifth one ran for ten seconds.
    const clock = [0, 1, 2, 3, 4, 5, 6, 7, 8, 18, 19, 20, 21]
    expect(await sleepsOf([1, 1, 1, 1, 1, 1, 0], clock)).toEqual(['0.2', '0.2', '0.2', '1', '0.2', '0.2'])
  })

  test('the keeper ends when its client has ended, also with a worker that cannot start', async () => {
    const directory = temporaryHome()
    fs.copyFileSync(path.join(PLUGIN, 'keeper.sh'), path.join(directory, 'keeper.sh'))
    const starts = path.join(directory, 'starts')
    const gone = 'while kill -0 $TURNBELL_HOST_PID 2>/dev/null; do :; done'
    const node = script(directory, 'node', `echo >>${starts}; ${gone}; exit 127`)
    // The shell that starts it is its client, and exits as soon as a worker runs.
    const leaving = `sh "$0" & echo $!; until [ -e ${starts} ]; do sleep 0.05; done`
    const client = spawn('/bin/sh', ['-c', leaving, path.join(directory, 'keeper.sh')], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, TURNBELL_NODE: node },
    })
    const [printed] = (await once(client.stdout, 'data')) as [Buffer]
    const pid = Number(printed.toString())
    await eventually('the keeper has ended', () => !processAlive(pid))
    expect(fs.readFileSync(starts, 'utf8')).toBe('\n')
  })

  test('the keeper finds node on PATH if the connected one is missing', async () => {
    const { code, starts } = await keep([0], 'hello', (directory) => ({
      TURNBELL_NODE: path.join(directory, 'Cellar', 'node'),
    }))
    expect({ code, said: starts.map(({ stdin }) => stdin) }).toEqual({ code: 0, said: ['hello'] })
  })

  test.each(['SIGINT', 'SIGTERM'] as const)('the keeper ends at once with its worker on %s', async (name) => {
    const directory = temporaryHome()
    fs.copyFileSync(path.join(PLUGIN, 'keeper.sh'), path.join(directory, 'keeper.sh'))
    const asked = path.join(directory, 'asked')
    // Its input ends with the keeper, so only the request ends it.
    const worker = `setInterval(() => {}, 60_000)
process.stdin.on('data', (text) => process.stdout.write(text))
process.on('SIGTERM', () => { require('node:fs').writeFileSync(${JSON.stringify(asked)}, ''); process.exit(1) })
console.log(process.pid)`
    fs.writeFileSync(path.join(directory, 'shim.js'), worker)
    const keeper = spawn('/bin/sh', [path.join(directory, 'keeper.sh')], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, TURNBELL_NODE: process.execPath },
    })
    const [printed] = (await once(keeper.stdout, 'data')) as [Buffer]
    keeper.stdin.write('hello')
    const [echoed] = (await once(keeper.stdout, 'data')) as [Buffer]
    expect(echoed.toString()).toBe('hello')
    const exited = once(keeper, 'exit')
    keeper.kill(name)
    expect(await exited).toEqual([0, null])
    await eventually('the worker has ended', () => !processAlive(Number(printed.toString())))
    expect(fs.existsSync(asked)).toBe(true)
  })

  test('the keeper reports once that node is missing, and ends after turnbell is uninstalled', () => {
    const directory = temporaryHome()
    fs.copyFileSync(path.join(PLUGIN, 'keeper.sh'), path.join(directory, 'keeper.sh'))
    script(directory, 'sleep', ':')
    for (const name of ['date', 'dirname'])
      script(
        directory,
        name,
        `exec ${spawnSync('/bin/sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim()} "$@"`,
      )
    const { status, stderr } = spawnSync('/bin/sh', [path.join(directory, 'keeper.sh')], {
      encoding: 'utf8',
      env: { PATH: directory, TURNBELL_NODE: '/gone/node' },
    })
    expect(status).toBe(0)
    expect(stderr.split('\n')).toEqual([
      'turnbell: node not found, neither as /gone/node nor in PATH',
      `turnbell is no longer installed in ${directory}`,
      '',
    ])
  })

  test('the keeper restarts a failed or killed worker on the same pipes and logs it', async () => {
    const { code, starts } = await keep([1, -9, 0], 'hello')
    expect(code).toBe(0)
    expect(starts.map(({ respawn }) => respawn)).toEqual(['0', '1', '1'])
    expect(starts.at(-1)?.stdin).toBe('hello')
  })
})

describe('a hook that calls turnbell', () => {
  /** Runs it where a build would have put it, next to a turnbell that records its calls. */
  function hook(env: NodeJS.ProcessEnv, code = 0) {
    const dist = path.join(temporaryHome(), "ada's dist")
    const folder = path.join(dist, 'adapters', 'claude-code')
    fs.mkdirSync(folder, { recursive: true })
    fs.copyFileSync(path.join(PLUGIN, 'hook.sh'), path.join(folder, 'hook.sh'))
    const text = `process.stdout.write(JSON.stringify([process.argv.slice(2), require('node:fs').readFileSync(0, 'utf8')])); process.exitCode = ${code}`
    if (code >= 0) fs.writeFileSync(path.join(dist, 'turnbell.cjs'), text)
    return spawnSync('/bin/sh', [path.join(folder, 'hook.sh'), 'SubagentStop'], {
      input: '{"a":1}',
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], TURNBELL_NODE: process.execPath, ...env },
    })
  }
  const WORDS = ['hook', 'SubagentStop', '--client', 'claude-code']

  test.each<[string, NodeJS.ProcessEnv, string[]]>([
    ['nobody', {}, []],
    ['the persona that it was started for', { TURNBELL_PERSONA: 'ada' }, ['--persona', 'ada']],
    [
      'that one rather than the connected one',
      {
        TURNBELL_PERSONA: 'ada',
        TURNBELL_HOME: '/a b',
        TURNBELL_CONNECTED_PERSONA: 'bob',
        TURNBELL_CONNECTED_HOME: '/c',
      },
      ['--persona', 'ada', '--home', '/a b'],
    ],
    [
      'the connected one, in its home',
      { TURNBELL_HOME: '/a', TURNBELL_CONNECTED_PERSONA: 'bob', TURNBELL_CONNECTED_HOME: '/c' },
      ['--persona', 'bob', '--home', '/c'],
    ],
  ])("the hook reports %s with the client's input", (_, env, more) => {
    const { status, stdout } = hook(env)
    expect({ status, said: JSON.parse(stdout) as unknown }).toEqual({
      status: 0,
      said: [[...WORDS, ...more], '{"a":1}'],
    })
  })

  test('the hook exits with 0 also if turnbell fails or is missing', () => {
    expect(hook({}, 3)).toMatchObject({ status: 0 })
    expect(hook({}, -1)).toMatchObject({ status: 0, stdout: '', stderr: '' })
  })
})
