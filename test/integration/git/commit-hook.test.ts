/** git's own hook: written, run by real commits, and taken back. */
import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { leaveArchive } from '../../../src/cli/hooks/post-commit.ts'
import type { Problem } from '../../../src/contracts/errors.ts'
import { Spooled } from '../../../src/contracts/spool.ts'
import { resolveHome } from '../../../src/system/home.ts'
import { testCli } from '../../support/test-cli.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { GIT_ENV, testRepository, type TestRepository } from '../../support/test-repository.ts'

interface Told {
  changed: boolean
  project: string
  files: { file: string; change: string }[]
  diff?: string
}

let outer: string
let home: string
let repository: TestRepository
beforeEach(() => {
  outer = fs.realpathSync(temporaryDirectory())
  home = path.join(outer, "ada's home")
  fs.mkdirSync(home, { mode: 0o700 })
  fs.mkdirSync(path.join(outer, 'shop'))
  repository = testRepository(path.join(outer, 'shop'))
})

/** A program in the place of turnbell that notes how it was called. */
function played() {
  const note = path.join(outer, 'called')
  const program = path.join(outer, 'turnbell.sh')
  const lines = [
    '#!/bin/sh',
    `{ printf '%s ' "$@"; echo; pwd; cat; } >>'${note}'`,
    'echo noise; echo noise >&2',
    'exit 3',
  ]
  fs.writeFileSync(program, lines.join('\n'), { mode: 0o755 })
  return { program, called: () => (fs.existsSync(note) ? fs.readFileSync(note, 'utf8') : '') }
}

function cliIn(cwd = repository.root, overrides: { program?: string; env?: Record<string, string> } = {}) {
  const env = { ...(GIT_ENV as Record<string, string>), ...overrides.env }
  const { program = '/opt/turnbell/dist/turnbell.js' } = overrides
  const cli = testCli({ home, env, overrides: { cwd, node: '/bin/sh', program } })
  const turnbell = async (...words: string[]) => ({
    exit: await cli.run(...words, '--json'),
    ...cli.json<Told & Problem>(),
  })
  return { cli, turnbell }
}

const hookFile = () => path.join(repository.root, '.git', 'hooks', 'post-commit')
const left = () => {
  const file = path.join(home, 'spool', 'hooks.jsonl')
  if (!fs.existsSync(file)) return []
  return fs
    .readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => Spooled.parse(JSON.parse(line)))
}

describe('connect git', () => {
  test.each<[string, string | null]>([
    ['where there was none', null],
    ['beside what a person has there', '#!/bin/sh\necho mine\nexit 0'],
  ])('writes a hook that git runs, %s, and takes back exactly that', async (_, before) => {
    if (before !== null) fs.writeFileSync(hookFile(), before, { mode: 0o755 })
    const { program, called } = played()
    const { turnbell } = cliIn(repository.root, { program })
    expect(await turnbell('connect', 'git')).toMatchObject({
      exit: 0,
      changed: true,
      project: repository.root,
    })
    const once = fs.readFileSync(hookFile(), 'utf8')
    expect(await turnbell('connect', 'git')).toMatchObject({ exit: 0, changed: false })
    expect(fs.readFileSync(hookFile(), 'utf8')).toBe(once)
    repository.commit('one')
    expect(called()).toBe(`hook post-commit --home ${home} \n${repository.root}\n`)
    expect(await turnbell('disconnect', 'git')).toMatchObject({ exit: 0, changed: true })
    expect(fs.existsSync(hookFile()) ? fs.readFileSync(hookFile(), 'utf8') : null).toBe(before)
    expect(fs.readdirSync(path.join(home, 'connections'))).toEqual([])
    repository.commit('two')
    expect(called().split('\n')).toHaveLength(3)
  })

  test('with --print shows what it would write, and writes nothing', async () => {
    const { turnbell } = cliIn()
    const { diff } = await turnbell('connect', 'git', '--print')
    expect(diff).toContain('+#!/bin/sh')
    expect(fs.existsSync(hookFile())).toBe(false)
    expect(fs.existsSync(path.join(home, 'connections'))).toBe(false)
  })

  test('means the whole work tree, from any directory in it', async () => {
    fs.mkdirSync(path.join(repository.root, 'src'))
    expect(await cliIn(path.join(repository.root, 'src')).turnbell('connect', 'git')).toMatchObject({
      project: repository.root,
    })
    expect(await cliIn().turnbell('disconnect', 'git')).toMatchObject({ changed: true })
  })

  test('is refused where what is remembered is not at the root of the work tree', async () => {
    const pkg = path.join(repository.root, 'pkg')
    fs.mkdirSync(path.join(pkg, '.turnbell'), { recursive: true })
    fs.mkdirSync(path.join(pkg, 'src'))
    const refusal = (hint: RegExp) => ({
      exit: 64,
      detail: expect.stringContaining(`is remembered in ${pkg},`) as string,
      hint: expect.stringMatching(hint) as string,
    })
    const inside = cliIn(path.join(pkg, 'src'))
    expect(await inside.turnbell('connect', 'git')).toMatchObject(refusal(/^`blackboard archive`/))
    expect(await cliIn().turnbell('connect', 'git', '--project', 'pkg')).toMatchObject(refusal(/^`blackb/))
    fs.mkdirSync(path.join(repository.root, '.turnbell'))
    expect(await inside.turnbell('connect', 'git')).toMatchObject(refusal(/^With --project .*shop a commit/))
    expect(fs.existsSync(hookFile())).toBe(false)
    expect(await inside.turnbell('connect', 'git', '--project', repository.root)).toMatchObject({
      ...{ exit: 0, project: repository.root },
    })
    // What was connected before there was another memory is still taken back.
    expect(await inside.turnbell('disconnect', 'git')).toMatchObject({ exit: 0, changed: true })
  })

  test('is refused where what is remembered is that of a project around the work tree', async () => {
    fs.mkdirSync(path.join(outer, '.turnbell'))
    expect(await cliIn().turnbell('connect', 'git')).toMatchObject({
      ...{ exit: 64, detail: expect.stringContaining(`is remembered in ${outer},`) as string },
    })
    fs.mkdirSync(path.join(repository.root, '.turnbell'))
    expect(await cliIn().turnbell('connect', 'git')).toMatchObject({ exit: 0 })
  })

  test('respects where the repository keeps its hooks', async () => {
    repository.git('config', 'core.hooksPath', '.githooks')
    const { turnbell } = cliIn()
    await turnbell('connect', 'git')
    const file = path.join(repository.root, '.githooks', 'post-commit')
    expect(fs.statSync(file).mode & 0o111).not.toBe(0)
    await turnbell('disconnect', 'git')
    expect(fs.existsSync(path.dirname(file))).toBe(false)
  })

  test('is not led elsewhere by what a hook that runs around it says', async () => {
    const other = testRepository()
    const env = { GIT_DIR: path.join(other.root, '.git'), GIT_WORK_TREE: other.root, GIT_PREFIX: 'x/' }
    expect(await cliIn(repository.root, { env }).turnbell('connect', 'git')).toMatchObject({
      project: repository.root,
      files: [{ file: hookFile(), change: 'created' }],
    })
  })

  test('leaves the one hook of two work trees until the second goes, too', async () => {
    repository.commit('one')
    const linked = path.join(outer, 'linked')
    repository.git('worktree', 'add', '--quiet', linked)
    await cliIn().turnbell('connect', 'git')
    expect(await cliIn(linked).turnbell('connect', 'git')).toMatchObject({
      ...{ project: linked, changed: false },
      files: [{ file: hookFile(), change: 'unchanged' }],
    })
    await cliIn().turnbell('disconnect', 'git')
    expect(fs.existsSync(hookFile())).toBe(true)
    await cliIn(linked).turnbell('disconnect', 'git')
    expect(fs.existsSync(hookFile())).toBe(false)
  })

  test('follows turnbell to where it has moved', async () => {
    await cliIn().turnbell('connect', 'git')
    await cliIn(repository.root, { program: '/new/turnbell.js' }).turnbell('connect', 'git')
    const text = fs.readFileSync(hookFile(), 'utf8')
    expect(text).toContain('/new/turnbell.js')
    expect(text).not.toContain('/opt/turnbell')
  })

  test.each<[string, () => void, number, RegExp, RegExp]>([
    [
      'a hook in another language',
      () => fs.writeFileSync(hookFile(), '#!/usr/bin/env python3\n', { mode: 0o755 }),
      ...([78, /python3/, /#!\/bin\/sh/] as const),
    ],
    [
      'a hook that is switched off',
      () => fs.writeFileSync(hookFile(), '#!/bin/sh\n', { mode: 0o644 }),
      ...([78, /not executable/, /chmod \+x/] as const),
    ],
    [
      'no work tree',
      () => fs.rmSync(path.join(repository.root, '.git'), { recursive: true }),
      ...([2, /no work tree/, /git init/] as const),
    ],
    [
      'hooks that go nowhere',
      () => void repository.git('config', 'core.hooksPath', '/dev/null'),
      ...([78, /dev\/null/, /Nothing was changed/] as const),
    ],
  ])('is refused for %s, with a hint', async (_, prepare, exit, detail, hint) => {
    prepare()
    const { turnbell } = cliIn()
    expect(await turnbell('connect', 'git')).toMatchObject({
      exit,
      detail: expect.stringMatching(detail) as string,
      hint: expect.stringMatching(hint) as string,
    })
  })

  test('needs nobody to act for, and the clients do', async () => {
    const { turnbell } = cliIn()
    expect(await turnbell('connect', 'git', '--persona', 'ada')).toMatchObject({ exit: 64 })
    expect(await turnbell('connect', 'git', '--trust-hooks')).toMatchObject({ exit: 64 })
    expect(await turnbell('disconnect', 'git', '--persona', 'ada')).toMatchObject({ exit: 64 })
    expect(await turnbell('connect', 'codex')).toMatchObject({
      ...{ exit: 64, detail: expect.stringContaining('--persona') as string },
    })
  })

  test('is looked at by doctor', async () => {
    const { turnbell, cli } = cliIn(repository.root, { program: played().program })
    await turnbell('connect', 'git')
    const findings = async () => {
      await cli.run('doctor', '--json')
      const { findings: all } = cli.json<{ findings: { check: string; status: string; detail: string }[] }>()
      return all.find(({ check }) => check === 'connection git')
    }
    expect(await findings()).toMatchObject({ detail: `git tells of commits in ${repository.root}` })
    fs.rmSync(hookFile())
    expect((await findings())?.detail).toContain(hookFile())
    fs.rmSync(repository.root, { recursive: true })
    expect((await findings())?.detail).toContain('is gone')
    expect(await turnbell('disconnect', 'git', '--project', repository.root)).toMatchObject({ exit: 0 })
  })
})

describe('hook post-commit', () => {
  const run = (cwd = repository.root, env: Record<string, string> = {}) =>
    leaveArchive({ cli: cliIn(cwd, { env }).cli.cli, home: resolveHome({}, home) })
  const remember = (root = repository.root) => fs.mkdirSync(path.join(root, '.turnbell'))

  test('leaves when the commit before was made', () => {
    remember()
    repository.commit('one', { at: '2026-01-05T10:00:00Z' })
    repository.commit('two', { at: '2026-01-06T10:00:00Z' })
    run()
    expect(left()).toMatchObject([
      { type: 'archive', root: repository.root, trigger: 'commit', before: '2026-01-05T10:00:00.000Z' },
    ])
  })

  test('leaves nothing for a first commit, without a memory, or outside of any repository', () => {
    repository.commit('one')
    remember()
    run()
    fs.rmSync(path.join(repository.root, '.turnbell'), { recursive: true })
    repository.commit('two')
    run()
    run(outer)
    expect(left()).toEqual([])
  })

  test('leaves nothing where the commit before is of a time to come', () => {
    remember()
    repository.commit('one', { at: '2099-01-05T10:00:00Z' })
    repository.commit('two')
    run()
    expect(left()).toEqual([])
  })

  test('means the work tree in which the commit was made, by whatever git says of it', () => {
    repository.commit('one', { at: '2026-01-05T10:00:00Z' })
    const linked = path.join(outer, 'linked')
    repository.git('worktree', 'add', '--quiet', linked)
    remember()
    remember(linked)
    repository.commit('two', { at: '2026-01-06T10:00:00Z' })
    run(linked, { GIT_DIR: path.join(repository.root, '.git/worktrees/linked'), GIT_INDEX_FILE: 'gone' })
    // There is one commit there.
    expect(left()).toEqual([])
    run(repository.root, { GIT_DIR: '.git', GIT_INDEX_FILE: '.git/index', GIT_PREFIX: '' })
    expect(left()).toMatchObject([{ root: repository.root, before: '2026-01-05T10:00:00.000Z' }])
    testRepository(linked, []).git('commit', '--quiet', '--allow-empty', '--message', 'three')
    run(linked, { GIT_DIR: path.join(repository.root, '.git/worktrees/linked') })
    expect(left()[1]).toMatchObject({ root: linked, before: '2026-01-05T10:00:00.000Z' })
  })

  test('prints nothing and ends well whatever happens', async () => {
    remember()
    repository.commit('one')
    repository.commit('two')
    fs.chmodSync(home, 0o755)
    const { cli } = cliIn()
    expect(await cli.run('hook', 'post-commit')).toBe(0)
    expect(cli.stdout() + cli.stderr()).toBe('')
  })
})
