/** Tests running git on a repository of unknown origin. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { createGitProgram } from '../../../src/system/git/git.ts'
import { gitIsNewEnough } from '../../../src/system/git/git-settings.ts'
import type { GitOutput } from '../../../src/ports/git.ts'
import { eventually } from '../../support/eventually.ts'
import { atRest, fakeClock } from '../../support/fakes/fake-clock.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { GIT_ENV, testRepository, type TestRepository } from '../../support/disk/test-repository.ts'

const runner = createGitProgram({ env: GIT_ENV, clock: systemClock })
const text = ({ stdout }: GitOutput) => Buffer.from(stdout).toString()

/** Returns a fake git. It answers `--version`; the test defines the rest. */
function program(script: string): string {
  const file = path.join(temporaryDirectory(), 'git')
  fs.writeFileSync(
    file,
    `#!/bin/sh\ncase "$*" in *version) echo git version 2.39.5; exit;; esac\n${script}\n`,
  )
  fs.chmodSync(file, 0o755)
  return file
}

describe('a git call', () => {
  test('a git call returns the output and the exit status', async () => {
    const repository = testRepository()
    const sha = repository.commit('first')
    const found = await runner.run(repository.root, ['rev-parse', 'HEAD'])
    expect(text(found)).toBe(`${sha}\n`)
    expect(found).toMatchObject({ exit_code: 0, stopped: null })
    const refused = await runner.run(repository.root, ['rev-parse', '--verify', 'nothing'])
    expect(refused).toMatchObject({ exit_code: 128, stderr: expect.stringContaining('fatal') as string })
  })

  test('a git call passes stdin to git', async () => {
    const repository = testRepository()
    const found = await runner.run(repository.root, ['hash-object', '--stdin'], { input: 'hello\n' })
    expect(text(found)).toBe('ce013625030ba8dba906f756967f9e9ca394464a\n')
  })

  test('a git call in a missing directory is rejected by git', async () => {
    const output = await runner.run('/no/such/directory', ['status'])
    expect(output).toMatchObject({ exit_code: 128 })
    expect(output.stderr).toContain('/no/such/directory')
  })

  test("a git call ignores the git variables of the hub's environment", async () => {
    const [here, elsewhere] = [testRepository(), testRepository()]
    here.commit('here')
    const sha = here.git('rev-parse', 'HEAD')
    elsewhere.commit('elsewhere')
    const led = createGitProgram({
      clock: systemClock,
      env: { ...GIT_ENV, GIT_DIR: path.join(elsewhere.root, '.git'), GIT_CONFIG_PARAMETERS: "'a.b=c'" },
    })
    expect(text(await led.run(here.root, ['rev-parse', 'HEAD']))).toBe(`${sha}\n`)
  })

  test('a git call treats paths literally', async () => {
    const repository = testRepository()
    repository.write('*.txt', 'star')
    repository.write('a.txt', 'a')
    repository.commit('both')
    const found = await runner.run(repository.root, ['ls-files', '--', '*.txt'])
    expect(text(found)).toBe('*.txt\n')
  })

  test('a git call accepts no option in place of a command', async () => {
    await expect(runner.run('/', ['-c', 'alias.x=!true', 'x'])).rejects.toThrow('is not a git command')
    await expect(runner.run('/', [])).rejects.toThrow('is not a git command')
  })
})

describe('a repository that names programs', () => {
  /** Returns a program that leaves a mark and otherwise acts like a filter, hook or monitor. */
  function trap(): { command: string; sprung: () => boolean } {
    const directory = temporaryDirectory()
    const mark = path.join(directory, 'sprung')
    const command = path.join(directory, 'trap')
    fs.writeFileSync(command, `#!/bin/sh\ntouch ${mark}\ncat\n`)
    fs.chmodSync(command, 0o755)
    return { command, sprung: () => fs.existsSync(mark) }
  }

  /** Makes a file differ from HEAD, so that git has to read it. */
  function touched(repository: TestRepository, file: string): void {
    const place = path.join(repository.root, file)
    fs.utimesSync(place, 1, 1)
  }

  const LOOKS: readonly (readonly string[])[] = [
    ['status', '--porcelain=v2'],
    ['diff', 'HEAD', '--raw', '--numstat', '--no-ext-diff', '--no-textconv'],
    ['diff', '--no-ext-diff', '--no-textconv'],
    ['log', '-p', '--no-ext-diff', '--no-textconv'],
    ['blame', '--no-textconv', '--', 'file.txt'],
    ['ls-files', '--others', '--exclude-standard'],
  ]

  const ONE_FILTER = '*.txt filter=t diff=t\n'

  test.each([
    ['a clean filter', ONE_FILTER, (command: string) => [['filter.t.clean', command]]],
    [
      'a required filter process',
      ONE_FILTER,
      (command: string) => [
        ['filter.t.process', command],
        ['filter.t.required', 'true'],
      ],
    ],
    [
      'a filter with a strange name',
      '*.txt filter=A=b.c=\n',
      (command: string) => [['filter.A=b.c=.clean', command]],
    ],
    ['a file monitor', ONE_FILTER, (command: string) => [['core.fsmonitor', command]]],
    ['an external diff', ONE_FILTER, (command: string) => [['diff.external', command]]],
    ['a diff driver', ONE_FILTER, (command: string) => [['diff.t.command', command]]],
    ['a text conversion', ONE_FILTER, (command: string) => [['diff.t.textconv', command]]],
    ['a pager', ONE_FILTER, (command: string) => [['core.pager', command]]],
  ])('a repository with %s runs no program', async (_, attributes, settings) => {
    const repository = testRepository()
    const { command, sprung } = trap()
    repository.write('.gitattributes', attributes)
    repository.write('file.txt', 'one\n')
    repository.commit('one')
    repository.write('file.txt', 'two\n')
    repository.commit('two')
    for (const [name, value] of settings(command)) repository.git('config', name as string, value as string)
    touched(repository, 'file.txt')
    for (const args of LOOKS) {
      const output = await runner.run(repository.root, args)
      expect(output, args.join(' ')).toMatchObject({ exit_code: 0 })
      expect(sprung(), args.join(' ')).toBe(false)
    }
    expect(text(await runner.run(repository.root, ['status', '--porcelain']))).toBe('')
  })

  test.each(['filter.A=b.c=.clean', 'core.fsmonitor'])(
    'a repository with %s runs the program under a plain git',
    (name) => {
      const repository = testRepository()
      const { command, sprung } = trap()
      repository.write('.gitattributes', '*.txt filter=A=b.c=\n')
      repository.write('file.txt', 'one\n')
      repository.commit('one')
      repository.git('config', name, command)
      touched(repository, 'file.txt')
      repository.git('status')
      expect(sprung()).toBe(true)
    },
  )

  test('a hook on the index is not run, and the index is unchanged', async () => {
    const repository = testRepository()
    const { command, sprung } = trap()
    repository.write('file.txt', 'one\n')
    repository.commit('one')
    const hook = path.join(repository.root, '.git/hooks/post-index-change')
    fs.mkdirSync(path.dirname(hook), { recursive: true })
    fs.copyFileSync(command, hook)
    const index = path.join(repository.root, '.git/index')
    const before = fs.readFileSync(index)
    touched(repository, 'file.txt')
    expect(text(await runner.run(repository.root, ['status', '--porcelain']))).toBe('')
    expect(fs.readFileSync(index).equals(before)).toBe(true)
    expect(sprung()).toBe(false)
    repository.git('status')
    expect(fs.readFileSync(index).equals(before)).toBe(false)
    expect(sprung()).toBe(true)
  })

  test('files with a filter whose name is not text are not read', async () => {
    const repository = testRepository()
    repository.commit('one')
    fs.appendFileSync(
      path.join(repository.root, '.git/config'),
      Buffer.from('[filter "\xe9"]\n\tclean = cat\n', 'latin1'),
    )
    await expect(runner.run(repository.root, ['status'])).rejects.toMatchObject({ code: 'git_failed' })
    expect(await runner.run(repository.root, ['log'])).toMatchObject({ exit_code: 0 })
  })

  test('a partial clone fetches nothing', async () => {
    const origin = testRepository()
    origin.write('file.txt', 'one\n')
    origin.commit('one')
    origin.write('file.txt', 'two\n')
    origin.commit('two')
    origin.git('config', 'uploadpack.allowFilter', 'true')
    const root = temporaryDirectory()
    origin.git('clone', '--quiet', '--filter=blob:none', `file://${origin.root}`, root)
    const { command, sprung } = trap()
    origin.git('-C', root, 'config', 'remote.origin.uploadpack', command)
    const output = await runner.run(root, ['log', '-p', '--no-ext-diff', '--no-textconv'])
    expect(output).toMatchObject({ exit_code: 128 })
    expect(sprung()).toBe(false)
  })
})

describe('the limits of a git call', () => {
  test('output beyond the limit is dropped', async () => {
    const repository = testRepository()
    repository.write('file', 'x'.repeat(100_000))
    const blob = repository.git('hash-object', '-w', 'file')
    const output = await runner.run(repository.root, ['cat-file', 'blob', blob], { output_bytes_max: 10 })
    expect(output).toMatchObject({ exit_code: null, stopped: 'output_full' })
    expect(text(output)).toBe('xxxxxxxxxx')
    const whole = await runner.run(repository.root, ['cat-file', 'blob', blob], { output_bytes_max: 100_000 })
    expect(whole).toMatchObject({ exit_code: 0, stopped: null })
    expect(whole.stdout).toHaveLength(100_000)
  })

  test('a git that does not end is killed, together with its children', async () => {
    const clock = fakeClock()
    const begun = path.join(temporaryDirectory(), 'begun')
    const slow = createGitProgram({
      ...{ env: GIT_ENV, clock },
      program: program(`printf begun; touch ${begun}; sleep 600`),
    })
    const running = slow.run('/', ['log'])
    await eventually('it says something', () => fs.existsSync(begun))
    await atRest()
    await clock.advance(LIMITS.git_answer_ms)
    const output = await running
    expect(output).toMatchObject({ exit_code: null, stopped: 'time_over' })
    expect(text(output)).toBe('begun')
  })

  test('a limited number of git calls run at a time, others wait, and too many are rejected', async () => {
    const directory = temporaryDirectory()
    const held = createGitProgram({
      ...{ env: GIT_ENV, clock: systemClock },
      program: program(
        `touch ${directory}/$$; while [ ! -e ${directory}/go ]; do sleep 0.02; done; echo done`,
      ),
    })
    const count = LIMITS.git_processes_max + LIMITS.git_waiting_max
    const calls = Array.from({ length: count }, () => held.run('/', ['log']))
    await eventually(
      'all that may run do',
      () => fs.readdirSync(directory).length === LIMITS.git_processes_max,
    )
    await expect(held.run('/', ['log'])).rejects.toMatchObject({ code: 'limit_reached' })
    fs.writeFileSync(path.join(directory, 'go'), '')
    const outputs = await Promise.all(calls)
    expect(outputs.every((output) => text(output) === 'done\n')).toBe(true)
    // The slot is free again.
    expect(await held.run('/', ['log'])).toMatchObject({ exit_code: 0 })
  })
})

describe('the git program', () => {
  test('a missing git is reported', async () => {
    const none = createGitProgram({ env: GIT_ENV, clock: systemClock, program: '/no/such/git' })
    await expect(none.run('/', ['log'])).rejects.toMatchObject({
      code: 'git_unavailable',
      detail: expect.stringContaining('/no/such/git') as string,
    })
  })

  test('an outdated git is rejected until it is updated', async () => {
    const file = program('echo fine')
    const script = fs.readFileSync(file, 'utf8')
    fs.writeFileSync(file, script.replace('2.39.5', '2.30.9'))
    const old = createGitProgram({ env: GIT_ENV, clock: systemClock, program: file })
    await expect(old.run('/', ['log'])).rejects.toMatchObject({
      code: 'git_unavailable',
      detail: expect.stringContaining('2.30.9') as string,
    })
    fs.writeFileSync(file, script)
    expect(text(await old.run('/', ['log']))).toBe('fine\n')
  })

  test.each([
    ['git version 2.39.5', true],
    ['git version 2.31.0', true],
    ['git version 2.39.3 (Apple Git-146)', true],
    ['git version 2.45.1.windows.1', true],
    ['git version 3.0.0', true],
    ['git version 2.30.9', false],
    ['git version 1.99.0', false],
    ['', false],
  ])('git %j is new enough: %s', (version, enough) => expect(gitIsNewEnough(version)).toBe(enough))
})
