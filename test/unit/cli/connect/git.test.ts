import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Problem } from '../../../../src/contracts/errors.ts'
import { testCli } from '../../../support/test-cli.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'
import { GIT_ENV, testRepository, type TestRepository } from '../../../support/test-repository.ts'

let outer: string
let repository: TestRepository
beforeEach(() => {
  outer = fs.realpathSync(temporaryDirectory())
  fs.mkdirSync(path.join(outer, 'shop'))
  repository = testRepository(path.join(outer, 'shop'))
})

/** `settings` are the person's own, for all repositories. */
async function connectGit(settings = '', cwd = repository.root, ...words: string[]) {
  const gitconfig = path.join(outer, 'gitconfig')
  fs.writeFileSync(gitconfig, settings)
  const env = { ...(GIT_ENV as Record<string, string>), GIT_CONFIG_GLOBAL: gitconfig }
  const cli = testCli({ home: path.join(outer, 'home'), env, overrides: { cwd } })
  const exit = await cli.run(...(words.length === 0 ? ['connect', 'git'] : words), '--json')
  return { exit, ...cli.json<{ files: { file: string }[] } & Problem>() }
}

describe('connect git writes into no hook that other repositories run, too', () => {
  const hooks = () => path.join(outer, 'hooks')
  const refused = () => ({
    exit: 78,
    code: 'config_invalid',
    detail: expect.stringContaining(path.join(hooks(), 'post-commit')) as string,
    hint: expect.stringContaining(
      `git -C ${repository.root} config core.hooksPath ${repository.root}/.git/hooks`,
    ) as string,
  })

  test('where the person has one for all of them', async () => {
    fs.mkdirSync(hooks())
    expect(await connectGit(`[core]\n\thooksPath = ${hooks()}\n`)).toMatchObject(refused())
    expect(fs.readdirSync(hooks())).toEqual([])
    repository.git('config', 'core.hooksPath', path.join(repository.root, '.git/hooks'))
    expect(await connectGit(`[core]\n\thooksPath = ${hooks()}\n`)).toMatchObject({ exit: 0 })
    expect(fs.readdirSync(hooks())).toEqual([])
  })

  test('where that is still to be made', async () => {
    expect(await connectGit(`[core]\n\thooksPath = ${hooks()}\n`)).toMatchObject(refused())
    expect(fs.existsSync(hooks())).toBe(false)
  })

  test('where a link leads to them', async () => {
    fs.renameSync(path.join(repository.root, '.git/hooks'), hooks())
    fs.symlinkSync(hooks(), path.join(repository.root, '.git/hooks'))
    expect(await connectGit()).toMatchObject({ exit: 78 })
    expect(fs.existsSync(path.join(hooks(), 'post-commit'))).toBe(false)
  })
})

describe("connect git writes into the repository's own hook", () => {
  test('in its work tree', async () => {
    repository.git('config', 'core.hooksPath', '.githooks')
    const file = path.join(repository.root, '.githooks/post-commit')
    expect(await connectGit()).toMatchObject({ exit: 0, files: [{ file }] })
  })

  test('where all its work trees have the same one', async () => {
    repository.commit('one')
    const linked = path.join(outer, 'linked')
    repository.git('worktree', 'add', '--quiet', linked)
    const file = path.join(repository.root, '.git/hooks/post-commit')
    expect(await connectGit('', linked)).toMatchObject({ exit: 0, files: [{ file }] })
  })

  test('where what git keeps of it lies elsewhere', async () => {
    const root = path.join(outer, 'apart')
    fs.mkdirSync(root)
    testRepository(root, ['--separate-git-dir', path.join(outer, 'kept')])
    const file = path.join(outer, 'kept/hooks/post-commit')
    expect(await connectGit('', root)).toMatchObject({ exit: 0, files: [{ file }] })
  })
})

describe('a program that writes the hooks', () => {
  const write = (name: string, text: string) => {
    const file = path.join(repository.root, name)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, text, { mode: 0o755 })
    return file
  }

  test('husky: the line goes into the script that husky runs, and is taken out again', async () => {
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

  test('husky: a script that is there keeps its lines and its mode', async () => {
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
  ])('%s: nothing is written, and the lines to add are told: %j', async (manager, files, config, line) => {
    for (const [name, text] of Object.entries(files)) write(name, text)
    const before = fs.readdirSync(path.join(repository.root, '.git/hooks'))
    const { exit, code, detail, hint } = await connectGit()
    expect({ exit, code }).toEqual({ exit: 2, code: 'connection_taken' })
    expect(detail).toContain(manager)
    expect(hint).toContain(path.join(repository.root, config))
    expect(hint).toContain(line)
    expect(hint).toContain(' hook post-commit')
    expect(fs.readdirSync(path.join(repository.root, '.git/hooks'))).toEqual(before)
  })

  test('lefthook without a hook of this name is not in the way', async () => {
    write('lefthook.yml', 'pre-commit:\n  jobs: []\n')
    expect(await connectGit()).toMatchObject({ exit: 0 })
  })
})
