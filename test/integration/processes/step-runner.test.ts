/** Real programs, as run by steps of routines. Time is simulated; the tests do not wait for a clock. */
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProgramResult } from '../../../src/ports/step-runner.ts'
import { createStepRunner, type SystemStepRunner } from '../../../src/system/process/step-runner.ts'
import { processAlive } from '../../../src/system/process/process-info.ts'
import { refusedWith } from '../../support/worlds/small-hub.ts'
import { eventually } from '../../support/eventually.ts'
import { fakeClock, type FakeClock } from '../../support/fakes/fake-clock.ts'
import { temporaryHome } from '../../support/processes/processes.ts'

let root: string
let clock: FakeClock
let programs: SystemStepRunner

const environment = (more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  HOME: '/home/ada',
  ...more,
})

beforeEach(() => {
  root = fs.realpathSync(temporaryHome())
  clock = fakeClock()
  programs = createStepRunner({ env: environment(), clock })
})
afterEach(() => programs.close())

const run = (
  argv: readonly string[],
  more: { cwd?: string; output_bytes_max?: number; timeout_ms?: number; input?: string } = {},
): Promise<ProgramResult> =>
  programs.run({ argv, root, cwd: '.', timeout_ms: 1_000, output_bytes_max: 1_000, ...more })
const node = (script: string, ...more: string[]) => [process.execPath, '-e', script, ...more]

describe('a program', () => {
  test('both outputs of a program are returned', async () => {
    const end = await run(node('console.log("out"); console.error("err"); process.exitCode = 3'))
    expect(end).toEqual({
      exit_code: 3,
      timed_out: false,
      stdout: 'out\n',
      stderr: 'err\n',
      truncated: false,
    })
    expect(clock.armed()).toBe(0)
  })

  test('a program gets its arguments unchanged, without a shell', async () => {
    const hostile = ['; echo x', '$(id)', '`id`', '*', '&& rm -rf .', '| cat', '> out', '%PATH%', '']
    const { stdout } = await run(node('console.log(JSON.stringify(process.argv.slice(1)))', '--', ...hostile))
    expect(JSON.parse(stdout)).toEqual(hostile)
    expect(fs.readdirSync(root)).toEqual([])
  })

  test('the stdin of a program is empty', async () => {
    const { stdout } = await run(node('process.stdin.on("end", () => console.log("end")).resume()'))
    expect(stdout).toBe('end\n')
  })

  test('a program reads its input on stdin, and one that does not read it ends as usual', async () => {
    const input = '{"n":1}\n'
    expect(await run(node('process.stdin.pipe(process.stdout)'), { input })).toMatchObject({ stdout: input })
    const large = 'x'.repeat(1_000_000)
    expect(await run(node('process.exit(0)'), { input: large })).toMatchObject({ exit_code: 0 })
  })

  test('the end of a long output is kept, without splitting a character', async () => {
    const { stdout, stderr, truncated } = await run(
      node('process.stdout.write("€".repeat(1e6) + "!"); process.stderr.write("x")'),
      {
        output_bytes_max: 100,
      },
    )
    expect(stdout).toBe(`${'€'.repeat(33)}!`)
    expect([stderr, truncated]).toEqual(['x', true])
  })

  test('an output of exactly the maximum size is not truncated', async () => {
    expect(await run(node('process.stdout.write("x".repeat(100))'), { output_bytes_max: 100 })).toMatchObject(
      {
        stdout: 'x'.repeat(100),
        truncated: false,
      },
    )
  })

  test('a missing or invalid program is rejected', async () => {
    fs.writeFileSync(path.join(root, 'text'), 'no program', { mode: 0o644 })
    for (const argv of [['no-such-program-here'], ['./missing'], ['./text'], [root]])
      expect(await refusedWith(() => run(argv)), argv[0]).toBe('program_failed')
    expect(clock.armed()).toBe(0)
  })

  test('more arguments than the system accepts are rejected', async () => {
    expect(
      await refusedWith(() => run(['true', ...Array.from({ length: 64 }, () => 'x'.repeat(100_000))])),
    ).toBe('program_failed')
  })

  test('a killed program has no exit code', async () => {
    expect(await run(node('process.kill(process.pid, "SIGKILL")'))).toMatchObject({
      exit_code: null,
      timed_out: false,
    })
  })
})

describe('the environment of a program', () => {
  const seen = async (env: NodeJS.ProcessEnv) => {
    programs = createStepRunner({ env: environment(env), clock })
    return JSON.parse(
      (await run(node('console.log(JSON.stringify(process.env))'))).stdout,
    ) as NodeJS.ProcessEnv
  }

  test('the environment of a program contains what programs need, and no secret', async () => {
    const env = await seen({
      LANG: 'C.UTF-8',
      TURNBELL_TOKEN: 'tb-secret',
      TURNBELL_HOME: '/home/ada/.turnbell',
      GITHUB_TOKEN: 'gh-secret',
      AWS_SECRET_ACCESS_KEY: 'aws-secret',
      DATABASE_URL: 'postgres://u:secret@h/',
      SSH_AUTH_SOCK: '/tmp/agent',
      NODE_OPTIONS: '--inspect',
      LD_PRELOAD: '/tmp/evil.so',
      HTTPS_PROXY: 'http://u:secret@proxy/',
    })
    expect(env).toMatchObject({ HOME: '/home/ada', LANG: 'C.UTF-8', NO_COLOR: '1', TERM: 'dumb' })
    expect(JSON.stringify(env)).not.toMatch(/secret|TURNBELL|SSH_|NODE_OPTIONS|LD_PRELOAD|PROXY/)
  })

  test('programs are searched in absolute directories only', async () => {
    fs.writeFileSync(path.join(root, 'planted'), '#!/bin/sh\necho planted\n', { mode: 0o755 })
    for (const PATH of ['.:/usr/bin', ':/usr/bin', 'bin:../x', '', undefined]) {
      programs = createStepRunner({ env: { PATH }, clock })
      expect(await refusedWith(() => run(['planted'])), String(PATH)).toBe('program_failed')
    }
  })
})

describe('the directory of a program', () => {
  const where = async (cwd: string) => (await run(node('console.log(process.cwd())'), { cwd })).stdout.trim()

  test('the directory of a program is the project, or one inside it', async () => {
    fs.mkdirSync(path.join(root, 'sub', 'deep'), { recursive: true })
    fs.mkdirSync(path.join(root, '..dots'))
    expect(await where('.')).toBe(root)
    expect(await where('sub/deep')).toBe(path.join(root, 'sub/deep'))
    expect(await where('sub/../sub')).toBe(path.join(root, 'sub'))
    expect(await where(path.join(root, 'sub'))).toBe(path.join(root, 'sub'))
    expect(await where('..dots')).toBe(path.join(root, '..dots'))
  })

  test.each([
    '..',
    '../',
    'sub/../..',
    '/',
    '/tmp',
    '../../etc',
    'missing',
    'file',
    'out',
    'out/deeper',
    'sub/up',
  ])('the directory of a program is never outside the project: %s', async (cwd) => {
    fs.mkdirSync(path.join(root, 'sub'))
    fs.writeFileSync(path.join(root, 'file'), '')
    const outside = fs.realpathSync(temporaryHome())
    fs.mkdirSync(path.join(outside, 'deeper'))
    fs.symlinkSync(outside, path.join(root, 'out'))
    fs.symlinkSync('../..', path.join(root, 'sub', 'up'))
    expect(await refusedWith(() => run(['true'], { cwd }))).toBe('params_invalid')
    expect(await refusedWith(() => programs.directory(root, cwd))).toBe('params_invalid')
  })

  test("a directory next to the project whose name starts with the project's is rejected", async () => {
    fs.mkdirSync(`${root}-other`)
    try {
      expect(await refusedWith(() => programs.directory(root, `../${path.basename(root)}-other`))).toBe(
        'params_invalid',
      )
    } finally {
      fs.rmSync(`${root}-other`, { recursive: true })
    }
  })

  test('the directory may be reached by a link inside the project, and the project by a link', async () => {
    fs.mkdirSync(path.join(root, 'sub'))
    fs.symlinkSync('sub', path.join(root, 'link'))
    expect(await where('link')).toBe(path.join(root, 'sub'))
    const link = path.join(temporaryHome(), 'project')
    fs.symlinkSync(root, link)
    expect(programs.directory(link, 'sub')).toBe(path.join(root, 'sub'))
  })

  test('the directory does not change which program a path means', async () => {
    fs.mkdirSync(path.join(root, 'sub'))
    const script = (text: string) => `#!/bin/sh\necho ${text}\n`
    fs.writeFileSync(path.join(root, 'check.sh'), script('the right one'), { mode: 0o755 })
    fs.writeFileSync(path.join(root, 'sub', 'check.sh'), script('another'), { mode: 0o755 })
    expect((await run(['./check.sh'], { cwd: 'sub' })).stdout).toBe('the right one\n')
  })
})

describe('a program that does not end', () => {
  const family = (file: string) =>
    node(
      `const child = require('child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'inherit' })
       process.stdout.write('begun\\n', () => require('fs').writeFileSync(${JSON.stringify(file)}, String(child.pid)))
       setInterval(() => {}, 1e6)`,
    )
  const pidIn = async (file: string) =>
    Number(
      await eventually('its child', () => (fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '') || null),
    )

  test('a program is killed at its timeout, with its children, and its output is kept', async () => {
    const file = path.join(root, 'pid')
    const ending = run(family(file))
    const child = await pidIn(file)
    expect(processAlive(child)).toBe(true)
    await clock.advance(1_000)
    expect(await ending).toMatchObject({ exit_code: null, timed_out: true, stdout: 'begun\n' })
    await eventually('the child is gone', () => !processAlive(child))
    expect(clock.armed()).toBe(0)
  })

  test('a program is killed with the hub', async () => {
    const file = path.join(root, 'pid')
    const ending = run(family(file))
    const child = await pidIn(file)
    programs.close()
    expect(await ending).toMatchObject({ exit_code: null, timed_out: false })
    await eventually('the child is gone', () => !processAlive(child))
  })

  test('the child that keeps the pipes of an ended program open is killed', async () => {
    const file = path.join(root, 'pid')
    const ending = run(
      node(
        `const child = require('child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'inherit' })
         require('fs').writeFileSync(${JSON.stringify(file)}, String(child.pid))
         child.unref()
         console.log('done')
         process.exit(0)`,
      ),
      // Not for its timeout, only for the children that remain.
      { timeout_ms: 1e9 },
    )
    const child = await pidIn(file)
    let ended = false
    void ending.then(() => (ended = true))
    await eventually('it was given up', async () => {
      await clock.advance(100)
      return ended
    })
    expect(await ending).toMatchObject({ exit_code: 0, stdout: 'done\n' })
    await eventually('what it left is gone', () => !processAlive(child))
  })
})
