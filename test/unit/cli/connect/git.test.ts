import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Problem } from '../../../../src/contracts/errors/errors.ts'
import { testCli } from '../../../support/processes/test-cli.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'
import { GIT_ENV, testRepository, type TestRepository } from '../../../support/disk/test-repository.ts'

let outer: string
let repository: TestRepository
beforeEach(() => {
  outer = fs.realpathSync(temporaryDirectory())
  fs.mkdirSync(path.join(outer, 'shop'))
  repository = testRepository(path.join(outer, 'shop'))
})

/** `settings` are the user's global git settings. */
async function connectGit(settings = '', cwd = repository.root, ...words: string[]) {
  const gitconfig = path.join(outer, 'gitconfig')
  fs.writeFileSync(gitconfig, settings)
  const env = { ...(GIT_ENV as Record<string, string>), GIT_CONFIG_GLOBAL: gitconfig }
  const cli = testCli({ home: path.join(outer, 'home'), env, overrides: { cwd } })
  const exit = await cli.run(...(words.length === 0 ? ['connect', 'git'] : words), '--json')
  return { exit, ...cli.json<{ files: { file: string }[] } & Problem>() }
}

describe('connect git refuses a hook of several repositories', () => {
  const hooks = () => path.join(outer, 'hooks')
  const refused = () => ({
    exit: 78,
    code: 'config_invalid',
    detail: expect.stringContaining(path.join(hooks(), 'post-commit')) as string,
    hint: expect.stringContaining(
      `git -C ${repository.root} config core.hooksPath ${repository.root}/.git/hooks`,
    ) as string,
  })

  test('connect git is refused if core.hooksPath names a folder for all repositories', async () => {
    fs.mkdirSync(hooks())
    expect(await connectGit(`[core]\n\thooksPath = ${hooks()}\n`)).toMatchObject(refused())
    expect(fs.readdirSync(hooks())).toEqual([])
    repository.git('config', 'core.hooksPath', path.join(repository.root, '.git/hooks'))
    expect(await connectGit(`[core]\n\thooksPath = ${hooks()}\n`)).toMatchObject({ exit: 0 })
    expect(fs.readdirSync(hooks())).toEqual([])
  })

  test('connect git is refused if the folder of core.hooksPath does not exist yet', async () => {
    expect(await connectGit(`[core]\n\thooksPath = ${hooks()}\n`)).toMatchObject(refused())
    expect(fs.existsSync(hooks())).toBe(false)
  })

  test('connect git is refused if the hook is a link to another repository', async () => {
    fs.renameSync(path.join(repository.root, '.git/hooks'), hooks())
    fs.symlinkSync(hooks(), path.join(repository.root, '.git/hooks'))
    expect(await connectGit()).toMatchObject({ exit: 78 })
    expect(fs.existsSync(path.join(hooks(), 'post-commit'))).toBe(false)
  })
})

describe("connect git writes the repository's own hook", () => {
  test('connect git writes a hook in the work tree', async () => {
    repository.git('config', 'core.hooksPath', '.githooks')
    const file = path.join(repository.root, '.githooks/post-commit')
    expect(await connectGit()).toMatchObject({ exit: 0, files: [{ file }] })
  })

  test('connect git writes the hook that all work trees share', async () => {
    repository.commit('one')
    const linked = path.join(outer, 'linked')
    repository.git('worktree', 'add', '--quiet', linked)
    const file = path.join(repository.root, '.git/hooks/post-commit')
    expect(await connectGit('', linked)).toMatchObject({ exit: 0, files: [{ file }] })
  })

  test('connect git writes the hook of a repository with a separate git directory', async () => {
    const root = path.join(outer, 'apart')
    fs.mkdirSync(root)
    testRepository(root, ['--separate-git-dir', path.join(outer, 'kept')])
    const file = path.join(outer, 'kept/hooks/post-commit')
    expect(await connectGit('', root)).toMatchObject({ exit: 0, files: [{ file }] })
  })
})

describe('a hook manager', () => {
  const write = (name: string, text: string) => {
    const file = path.join(repository.root, name)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, text, { mode: 0o755 })
    return file
  }

  test('the line is written to the script that husky runs and removed again', async () => {
    repository.git('config', 'core.hooksPath', '.husky/_')
    write('.husky/_/h', '')
    const generated = write('.husky/_/post-commit', '#!/usr/bin/env sh\n. "$(dirname "$0")/h"')
    const file = path.join(repository.root, '.husky/post-commit')
    expect(await connectGit()).toMatchObject({ exit: 0, files: [{ file, change: 'created' }] })
    expect(fs.readFileSync(file, 'utf8')).toMatch(/ hook post-commit .*\|\| :/)
    expect(fs.readFileSync(generated, 'utf8')).not.toContain('turnbell')
    expect(await connectGit('', repository.root, 'disconnect', 'git')).toMatchObject({ exit: 0 })
    expect(fs.existsSync(file)).toBe(false)
  })

  test('an existing script of husky keeps its lines and mode', async () => {
    repository.git('config', 'core.hooksPath', '.husky/_')
    const file = write('.husky/post-commit', 'npm run seen\n')
    fs.chmodSync(file, 0o644)
    expect(await connectGit()).toMatchObject({ exit: 0, files: [{ file, change: 'changed' }] })
    expect(fs.statSync(file).mode & 0o777).toBe(0o644)
    await connectGit('', repository.root, 'disconnect', 'git')
    expect(fs.readFileSync(file, 'utf8')).toBe('npm run seen\n')
  })

  test.each([
    [
      'lefthook',
      { '.git/hooks/post-commit': '#!/bin/sh\ncall_lefthook run "post-commit"\n' },
      'lefthook.yml',
      'run: ',
    ],
    ['lefthook', { '.lefthook.yaml': 'post-commit:\n  jobs: []\n' }, '.lefthook.yaml', 'run: '],
    [
      'pre-commit',
      { '.git/hooks/post-commit': '#!/bin/sh\n# File generated by pre-commit: https://pre-commit.com\n' },
      '.pre-commit-config.yaml',
      'stages: [post-commit]',
    ],
    ['simple-git-hooks', { 'package.json': '{"simple-git-hooks":{}}' }, 'package.json', '"post-commit": '],
  ])(
    'connect git with %s writes nothing and prints the lines to add: %j',
    async (manager, files, config, line) => {
      for (const [name, text] of Object.entries(files)) write(name, text)
      const before = fs.readdirSync(path.join(repository.root, '.git/hooks'))
      const { exit, code, detail, hint } = await connectGit()
      expect({ exit, code }).toEqual({ exit: 2, code: 'connection_taken' })
      expect(detail).toContain(manager)
      expect(hint).toContain(path.join(repository.root, config))
      expect(hint).toContain(line)
      expect(hint).toContain(' hook post-commit')
      expect(fs.readdirSync(path.join(repository.root, '.git/hooks'))).toEqual(before)
    },
  )

  test('lefthook without this hook does not prevent a connect', async () => {
    write('lefthook.yml', 'pre-commit:\n  jobs: []\n')
    expect(await connectGit()).toMatchObject({ exit: 0 })
  })
})
