/** Real programs, as steps of routines run them. Time is played: none of them is waited for by a clock. */
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ProgramEnd } from '../../../src/ports/programs.ts'
import { createPrograms, type SystemPrograms } from '../../../src/system/programs.ts'
import { processAlive } from '../../../src/system/processes.ts'
import { refusedWith } from '../../support/small-hub.ts'
import { eventually } from '../../support/eventually.ts'
import { fakeClock, type FakeClock } from '../../support/fake-clock.ts'
import { temporaryHome } from '../../support/processes.ts'

let root: string
let clock: FakeClock
let programs: SystemPrograms

const environment = (more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  HOME: '/home/ada',
  ...more,
})

beforeEach(() => {
  root = fs.realpathSync(temporaryHome())
  clock = fakeClock()
  programs = createPrograms({ env: environment(), clock })
})
afterEach(() => programs.close())

const run = (
  argv: readonly string[],
  more: { cwd?: string; output_bytes_max?: number; timeout_ms?: number; input?: string } = {},
): Promise<ProgramEnd> =>
  programs.run({ ...{ argv, root, cwd: '.', timeout_ms: 1_000, output_bytes_max: 1_000 }, ...more })
const node = (script: string, ...more: string[]) => [process.execPath, '-e', script, ...more]

describe('a program', () => {
  test('is heard out, on both of its outputs', async () => {
    const end = await run(node('console.log("out"); console.error("err"); process.exitCode = 3'))
    expect(end).toEqual({ exit_code: 3, timed_out: false, stdout: 'out\n', stderr: 'err\n', cut: false })
    expect(clock.armed()).toBe(0)
  })

  test('gets its arguments as they are: there is no shell', async () => {
    const hostile = ['; echo x', '$(id)', '`id`', '*', '&& rm -rf .', '| cat', '> out', '%PATH%', '']
    const { stdout } = await run(node('console.log(JSON.stringify(process.argv.slice(1)))', '--', ...hostile))
    expect(JSON.parse(stdout)).toEqual(hostile)
    expect(fs.readdirSync(root)).toEqual([])
  })

  test('hears nothing on its stdin', async () => {
    const { stdout } = await run(node('process.stdin.on("end", () => console.log("end")).resume()'))
    expect(stdout).toBe('end\n')
  })

  test('reads its input on stdin, and one that does not read it ends as usual', async () => {
    const input = '{"n":1}\n'
    expect(await run(node('process.stdin.pipe(process.stdout)'), { input })).toMatchObject({ stdout: input })
    const large = 'x'.repeat(1_000_000)
    expect(await run(node('process.exit(0)'), { input: large })).toMatchObject({ exit_code: 0 })
  })

  test('that talks too much is heard at its end, whole characters of it', async () => {
    const { stdout, stderr, cut } = await run(
      node('process.stdout.write("€".repeat(1e6) + "!"); process.stderr.write("x")'),
      { output_bytes_max: 100 },
    )
    expect(stdout).toBe(`${'€'.repeat(33)}!`)
    expect([stderr, cut]).toEqual(['x', true])
  })

  test('that writes exactly as much as is kept is not cut', async () => {
    expect(await run(node('process.stdout.write("x".repeat(100))'), { output_bytes_max: 100 })).toMatchObject(
      {
        stdout: 'x'.repeat(100),
        cut: false,
      },
    )
  })

  test('that is not there, or is none, is refused', async () => {
    fs.writeFileSync(path.join(root, 'text'), 'no program', { mode: 0o644 })
    for (const argv of [['no-such-program-here'], ['./missing'], ['./text'], [root]])
      expect(await refusedWith(() => run(argv)), argv[0]).toBe('program_failed')
    expect(clock.armed()).toBe(0)
  })

  test('with more arguments than a system takes is refused', async () => {
    expect(
      await refusedWith(() => run(['true', ...Array.from({ length: 64 }, () => 'x'.repeat(100_000))])),
    ).toBe('program_failed')
  })

  test('that was ended from outside has no exit code', async () => {
    expect(await run(node('process.kill(process.pid, "SIGKILL")'))).toMatchObject({
      exit_code: null,
      timed_out: false,
    })
  })
})

describe('the environment of a program', () => {
  const seen = async (env: NodeJS.ProcessEnv) => {
    programs = createPrograms({ env: environment(env), clock })
    return JSON.parse(
      (await run(node('console.log(JSON.stringify(process.env))'))).stdout,
    ) as NodeJS.ProcessEnv
  }

  test('has what programs need, and no secret', async () => {
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

  test('looks for programs in absolute directories only', async () => {
    fs.writeFileSync(path.join(root, 'planted'), '#!/bin/sh\necho planted\n', { mode: 0o755 })
    for (const PATH of ['.:/usr/bin', ':/usr/bin', 'bin:../x', '', undefined]) {
      programs = createPrograms({ env: { PATH }, clock })
      expect(await refusedWith(() => run(['planted'])), String(PATH)).toBe('program_failed')
    }
  })
})

describe('the directory of a program', () => {
  const where = async (cwd: string) => (await run(node('console.log(process.cwd())'), { cwd })).stdout.trim()

  test('is the project, or one inside of it', async () => {
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
  ])('is never outside of it: %s', async (cwd) => {
    fs.mkdirSync(path.join(root, 'sub'))
    fs.writeFileSync(path.join(root, 'file'), '')
    const outside = fs.realpathSync(temporaryHome())
    fs.mkdirSync(path.join(outside, 'deeper'))
    fs.symlinkSync(outside, path.join(root, 'out'))
    fs.symlinkSync('../..', path.join(root, 'sub', 'up'))
    expect(await refusedWith(() => run(['true'], { cwd }))).toBe('params_invalid')
    expect(await refusedWith(() => programs.directory(root, cwd))).toBe('params_invalid')
  })

  test('is not one beside the project that begins with its name', async () => {
    fs.mkdirSync(`${root}-other`)
    try {
      expect(await refusedWith(() => programs.directory(root, `../${path.basename(root)}-other`))).toBe(
        'params_invalid',
      )
    } finally {
      fs.rmSync(`${root}-other`, { recursive: true })
    }
  })

  test('may be reached by a link inside of it, and the project by a link to it', async () => {
    fs.mkdirSync(path.join(root, 'sub'))
    fs.symlinkSync('sub', path.join(root, 'link'))
    expect(await where('link')).toBe(path.join(root, 'sub'))
    const link = path.join(temporaryHome(), 'project')
    fs.symlinkSync(root, link)
    expect(programs.directory(link, 'sub')).toBe(path.join(root, 'sub'))
  })

  test('does not decide which program a path means', async () => {
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

  test('is ended at its time, with all that it started, and what it said is kept', async () => {
    const file = path.join(root, 'pid')
    const ending = run(family(file))
    const child = await pidIn(file)
    expect(processAlive(child)).toBe(true)
    await clock.advance(1_000)
    expect(await ending).toMatchObject({ exit_code: null, timed_out: true, stdout: 'begun\n' })
    await eventually('the child is gone', () => !processAlive(child))
    expect(clock.armed()).toBe(0)
  })

  test('is ended with the hub', async () => {
    const file = path.join(root, 'pid')
    const ending = run(family(file))
    const child = await pidIn(file)
    programs.close()
    expect(await ending).toMatchObject({ exit_code: null, timed_out: false })
    await eventually('the child is gone', () => !processAlive(child))
  })

  test('but leaves something behind that holds its pipes is not waited for, and that is ended', async () => {
    const file = path.join(root, 'pid')
    const ending = run(
      node(
        `const child = require('child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'inherit' })
         require('fs').writeFileSync(${JSON.stringify(file)}, String(child.pid))
         child.unref()
         console.log('done')
         process.exit(0)`,
      ),
      // Not for the time that it has: only for what its end leaves behind.
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
