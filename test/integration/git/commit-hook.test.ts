/** Tests turnbell's git hook: installed, run by real commits, and removed. */
import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { spoolArchive } from '../../../src/cli/hooks/post-commit.ts'
import type { Problem } from '../../../src/contracts/errors/errors.ts'
import { Spooled } from '../../../src/contracts/spool/spool.ts'
import { resolveHome } from '../../../src/system/config/home.ts'
import { testCli } from '../../support/processes/test-cli.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { GIT_ENV, testRepository, type TestRepository } from '../../support/disk/test-repository.ts'

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

/** A fake turnbell that records its arguments. */
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
    ['without an existing hook', null],
    ['next to an existing hook of the user', '#!/bin/sh\necho mine\nexit 0'],
  ])(
    'connect git installs a hook that git runs, %s, and disconnect removes exactly that',
    async (_, before) => {
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
    },
  )

  test('connect git --print prints the hook and writes nothing', async () => {
    const { turnbell } = cliIn()
    const { diff } = await turnbell('connect', 'git', '--print')
    expect(diff).toContain('+#!/bin/sh')
    expect(fs.existsSync(hookFile())).toBe(false)
    expect(fs.existsSync(path.join(home, 'connections'))).toBe(false)
  })

  test('connect git applies to the whole work tree from any directory in it', async () => {
    fs.mkdirSync(path.join(repository.root, 'src'))
    expect(await cliIn(path.join(repository.root, 'src')).turnbell('connect', 'git')).toMatchObject({
      project: repository.root,
    })
    expect(await cliIn().turnbell('disconnect', 'git')).toMatchObject({ changed: true })
  })

  test('connect git is rejected if the memory is not at the root of the work tree', async () => {
    const pkg = path.join(repository.root, 'pkg')
    fs.mkdirSync(path.join(pkg, '.turnbell'), { recursive: true })
    fs.mkdirSync(path.join(pkg, 'src'))
    const refusal = (hint: RegExp) => ({
      exit: 64,
      detail: expect.stringContaining(` is in ${pkg},`) as string,
      hint: expect.stringMatching(hint) as string,
    })
    const inside = cliIn(path.join(pkg, 'src'))
    expect(await inside.turnbell('connect', 'git')).toMatchObject(refusal(/^Archive .*`blackboard archive`/))
    expect(await cliIn().turnbell('connect', 'git', '--project', 'pkg')).toMatchObject(refusal(/^Archive /))
    fs.mkdirSync(path.join(repository.root, '.turnbell'))
    expect(await inside.turnbell('connect', 'git')).toMatchObject(refusal(/--project .*shop/))
    expect(fs.existsSync(hookFile())).toBe(false)
    expect(await inside.turnbell('connect', 'git', '--project', repository.root)).toMatchObject({
      ...{ exit: 0, project: repository.root },
    })
    // A hook from before the second memory existed can still be removed.
    expect(await inside.turnbell('disconnect', 'git')).toMatchObject({ exit: 0, changed: true })
  })

  test('connect git is rejected if the memory belongs to a project around the work tree', async () => {
    fs.mkdirSync(path.join(outer, '.turnbell'))
    expect(await cliIn().turnbell('connect', 'git')).toMatchObject({
      ...{ exit: 64, detail: expect.stringContaining(` is in ${outer},`) as string },
    })
    fs.mkdirSync(path.join(repository.root, '.turnbell'))
    expect(await cliIn().turnbell('connect', 'git')).toMatchObject({ exit: 0 })
  })

  test('connect git uses the hooks directory of the repository', async () => {
    repository.git('config', 'core.hooksPath', '.githooks')
    const { turnbell } = cliIn()
    await turnbell('connect', 'git')
    const file = path.join(repository.root, '.githooks', 'post-commit')
    expect(fs.statSync(file).mode & 0o111).not.toBe(0)
    await turnbell('disconnect', 'git')
    expect(fs.existsSync(path.dirname(file))).toBe(false)
  })

  test('connect git ignores the git variables of a surrounding hook', async () => {
    const other = testRepository()
    const env = { GIT_DIR: path.join(other.root, '.git'), GIT_WORK_TREE: other.root, GIT_PREFIX: 'x/' }
    expect(await cliIn(repository.root, { env }).turnbell('connect', 'git')).toMatchObject({
      project: repository.root,
      files: [{ file: hookFile(), change: 'created' }],
    })
  })

  test('connect git keeps the shared hook of two work trees until both are disconnected', async () => {
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

  test('a connected hook uses the new path after turnbell was moved', async () => {
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
      'a hook that is not executable',
      () => fs.writeFileSync(hookFile(), '#!/bin/sh\n', { mode: 0o644 }),
      ...([78, /not executable/, /chmod \+x/] as const),
    ],
    [
      'no work tree',
      () => fs.rmSync(path.join(repository.root, '.git'), { recursive: true }),
      ...([2, /work tree/, /git init/] as const),
    ],
    [
      'a dangling hooks directory',
      () => void repository.git('config', 'core.hooksPath', '/dev/null'),
      ...([78, /dev\/null/, /Nothing was changed/] as const),
    ],
  ])('connect git is rejected for %s, with a hint', async (_, prepare, exit, detail, hint) => {
    prepare()
    const { turnbell } = cliIn()
    expect(await turnbell('connect', 'git')).toMatchObject({
      exit,
      detail: expect.stringMatching(detail) as string,
      hint: expect.stringMatching(hint) as string,
    })
  })

  test('connect git needs no persona, unlike the clients', async () => {
    const { turnbell } = cliIn()
    expect(await turnbell('connect', 'git', '--persona', 'ada')).toMatchObject({ exit: 64 })
    expect(await turnbell('connect', 'git', '--trust-hooks')).toMatchObject({ exit: 64 })
    expect(await turnbell('disconnect', 'git', '--persona', 'ada')).toMatchObject({ exit: 64 })
    expect(await turnbell('connect', 'codex')).toMatchObject({
      ...{ exit: 64, detail: expect.stringContaining('--persona') as string },
    })
  })

  test('doctor checks the hook of connect git', async () => {
    const { turnbell, cli } = cliIn(repository.root, { program: played().program })
    await turnbell('connect', 'git')
    const findings = async () => {
      await cli.run('doctor', '--json')
      const { findings: all } = cli.json<{ findings: { check: string; status: string; detail: string }[] }>()
      return all.find(({ check }) => check === 'connection git')
    }
    expect(await findings()).toMatchObject({ detail: expect.stringContaining(repository.root) as string })
    fs.rmSync(hookFile())
    expect((await findings())?.detail).toContain(hookFile())
    fs.rmSync(repository.root, { recursive: true })
    expect((await findings())?.detail).toContain('is gone')
    expect(await turnbell('disconnect', 'git', '--project', repository.root)).toMatchObject({ exit: 0 })
  })
})

describe('hook post-commit', () => {
  const run = (cwd = repository.root, env: Record<string, string> = {}) =>
    spoolArchive({ cli: cliIn(cwd, { env }).cli.cli, home: resolveHome({}, home) })
  const remember = (root = repository.root) => fs.mkdirSync(path.join(root, '.turnbell'))

  test('the hook spools the time of the previous commit', () => {
    remember()
    repository.commit('one', { at: '2026-01-05T10:00:00Z' })
    repository.commit('two', { at: '2026-01-06T10:00:00Z' })
    run()
    expect(left()).toMatchObject([
      { type: 'archive', root: repository.root, trigger: 'commit', before: '2026-01-05T10:00:00.000Z' },
    ])
  })

  test('the hook spools nothing for a first commit, without a memory, or outside of a repository', () => {
    repository.commit('one')
    remember()
    run()
    fs.rmSync(path.join(repository.root, '.turnbell'), { recursive: true })
    repository.commit('two')
    run()
    run(outer)
    expect(left()).toEqual([])
  })

  test('the hook spools nothing if the previous commit has a time in the future', () => {
    remember()
    repository.commit('one', { at: '2099-01-05T10:00:00Z' })
    repository.commit('two')
    run()
    expect(left()).toEqual([])
  })

  test("the hook uses the work tree of the commit, whatever git's variables contain", () => {
    repository.commit('one', { at: '2026-01-05T10:00:00Z' })
    const linked = path.join(outer, 'linked')
    repository.git('worktree', 'add', '--quiet', linked)
    remember()
    remember(linked)
    repository.commit('two', { at: '2026-01-06T10:00:00Z' })
    run(linked, { GIT_DIR: path.join(repository.root, '.git/worktrees/linked'), GIT_INDEX_FILE: 'gone' })
    // The repository has one commit.
    expect(left()).toEqual([])
    run(repository.root, { GIT_DIR: '.git', GIT_INDEX_FILE: '.git/index', GIT_PREFIX: '' })
    expect(left()).toMatchObject([{ root: repository.root, before: '2026-01-05T10:00:00.000Z' }])
    testRepository(linked, []).git('commit', '--quiet', '--allow-empty', '--message', 'three')
    run(linked, { GIT_DIR: path.join(repository.root, '.git/worktrees/linked') })
    expect(left()[1]).toMatchObject({ root: linked, before: '2026-01-05T10:00:00.000Z' })
  })

  test('the hook prints nothing and exits with 0 on any failure', async () => {
    remember()
    repository.commit('one')
    repository.commit('two')
    fs.chmodSync(home, 0o755)
    const { cli } = cliIn()
    expect(await cli.run('hook', 'post-commit')).toBe(0)
    expect(cli.stdout() + cli.stderr()).toBe('')
  })
})
