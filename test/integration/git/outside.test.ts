/** Tests a repository that leads git out of the project: no data from outside is returned. */
import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { blameContext } from '../../../src/modules/git/blame.ts'
import { changedFiles } from '../../../src/modules/git/changes.ts'
import { findMarkers } from '../../../src/modules/git/markers.ts'
import { openRepository, type Repository } from '../../../src/modules/git/repository.ts'
import { status } from '../../../src/modules/git/status.ts'
import { createGitRunner } from '../../../src/system/git/git-runner.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { gitRunner, repositoryAt } from '../../support/worlds/git-world.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { GIT_ENV, testRepository, type TestRepository } from '../../support/disk/test-repository.ts'

const SECRET = 'hunter2-of-somebody-else'
let elsewhere: string
let foreign: TestRepository
let repository: TestRepository
const inside = (...names: string[]) => path.join(repository.root, ...names)

beforeEach(() => {
  const top = fs.realpathSync(temporaryDirectory())
  elsewhere = path.join(top, 'elsewhere')
  fs.mkdirSync(path.join(elsewhere, 'repo'), { recursive: true })
  fs.writeFileSync(path.join(elsewhere, 'operator.token'), `TODO ${SECRET}\n`)
  foreign = testRepository(path.join(elsewhere, 'repo'))
  foreign.write('file', `${SECRET}\n`)
  foreign.commit(SECRET)
  fs.mkdirSync(path.join(top, 'project'))
  repository = testRepository(path.join(top, 'project'))
  repository.write('d/operator.token', 'mine\n')
  repository.write('file', 'mine\n')
  repository.commit('mine')
})

const newest = async (found: Repository) =>
  Buffer.from((await found.read(['log', '--max-count=1', '--format=%s'])).stdout).toString()

/** A git that has listed the names of another directory, which replaced `d` for a moment. */
function gitThatSawAnother(): string {
  const file = path.join(temporaryDirectory(), 'git')
  const lists = `case "$*" in *ls-files*|*porcelain*) printf '? d/of-another\\000? d/new\\000'; exit;; esac`
  fs.writeFileSync(file, `#!/bin/sh\n${lists}\nexec git "$@"\n`, { mode: 0o755 })
  return file
}

test('a name listed from another directory that does not exist in the project is not returned', async () => {
  const needs = { env: GIT_ENV, clock: systemClock, program: gitThatSawAnother() }
  repository.write('d/new', 'mine\n')
  const found = await openRepository(createGitRunner(needs), repository.root)
  expect((await changedFiles(found, {})).files).toEqual([{ path: 'd/new', status: 'untracked' }])
  expect((await status(found)).untracked).toEqual(['d/new'])
  repository.remove('d')
  fs.symlinkSync(elsewhere, inside('d'))
  fs.writeFileSync(path.join(elsewhere, 'new'), '')
  expect((await status(found)).untracked).toEqual([])
})

describe('a file on disk', () => {
  const blame = async (file: string) =>
    blameContext(await repositoryAt(repository.root), { path: file, line: 1, context: 3 })

  test('blame does not follow a directory that was replaced by a link', async () => {
    repository.remove('d')
    fs.symlinkSync(elsewhere, inside('d'))
    await expect(blame('d/operator.token')).rejects.toMatchObject({ code: 'params_invalid' })
  })

  test.each<[string, () => void]>([
    ['a link', () => fs.symlinkSync(path.join(elsewhere, 'operator.token'), inside('file'))],
    ['a hard link', () => fs.linkSync(path.join(elsewhere, 'operator.token'), inside('file'))],
    ['a device', () => fs.symlinkSync('/dev/zero', inside('file'))],
    ['a directory', () => fs.mkdirSync(inside('file'))],
  ])('blame of a file that became %s is rejected', async (_, become) => {
    repository.remove('file')
    become()
    await expect(blame('file')).rejects.toMatchObject({ code: 'params_invalid' })
  })

  test('blame works for the target of a link inside the work tree', async () => {
    fs.symlinkSync('d', inside('linked'))
    expect(await blame('linked/operator.token')).toMatchObject({
      path: 'd/operator.token',
      lines: [{ text: 'mine' }],
    })
  })

  test('a file in the home is not read, even if the home is in the project', async () => {
    const runner = createGitRunner({ env: GIT_ENV, clock: systemClock, closed: [inside('d')] })
    const found = await openRepository(runner, repository.root)
    await expect(
      blameContext(found, { path: 'd/operator.token', line: 1, context: 0 }),
    ).rejects.toMatchObject({ code: 'params_invalid' })
  })

  test('markers are neither listed nor counted behind a link', async () => {
    repository.remove('d')
    fs.symlinkSync(elsewhere, inside('d'))
    expect(await findMarkers(await repositoryAt(repository.root), { markers: ['TODO'], limit: 9 })).toEqual({
      ...{ markers: [], counts: {}, skipped: 0, truncated: false },
    })
  })

  test('changed files do not include paths behind a link', async () => {
    fs.symlinkSync(elsewhere, inside('out'))
    const found = await repositoryAt(repository.root)
    await expect(changedFiles(found, { path: 'out' })).rejects.toMatchObject({ code: 'params_invalid' })
    expect(await changedFiles(found, {})).toMatchObject({ files: [{ path: 'out', status: 'untracked' }] })
  })
})

describe('a repository', () => {
  const inGit = (...names: string[]) => inside('.git', ...names)
  const foreignGit = (...names: string[]) => path.join(foreign.root, '.git', ...names)
  const replace = (target: string, place: string) => {
    fs.rmSync(place, { recursive: true, force: true })
    fs.symlinkSync(target, place)
  }

  test.each<[string, () => void]>([
    [
      'its .git is a file that names another repository',
      () => {
        fs.rmSync(inside('.git'), { recursive: true })
        fs.writeFileSync(inside('.git'), `gitdir: ${foreignGit()}\n`)
      },
    ],
    ['its .git is a link', () => replace(foreignGit(), inside('.git'))],
    ['its .git has a commondir', () => fs.writeFileSync(inGit('commondir'), `${foreignGit()}\n`)],
    [
      'it has alternates',
      () => fs.writeFileSync(inGit('objects/info/alternates'), `${foreignGit('objects')}\n`),
    ],
    [
      'its alternates are a link',
      () => fs.symlinkSync(path.join(elsewhere, 'operator.token'), inGit('objects/info/alternates')),
    ],
    ['its objects are a link', () => replace(foreignGit('objects'), inGit('objects'))],
    ['its packs are a link', () => replace(foreignGit('objects/pack'), inGit('objects/pack'))],
    [
      'some of its objects are a link',
      () => {
        const [some = ''] = fs.readdirSync(foreignGit('objects')).filter((name) => name.length === 2)
        replace(foreignGit('objects', some), inGit('objects', some))
      },
    ],
    ['its refs are a link', () => replace(foreignGit('refs'), inGit('refs'))],
    ['a branch is a link', () => replace(foreignGit('refs/heads/main'), inGit('refs/heads/main'))],
    [
      'a branch is a hard link',
      () => {
        fs.rmSync(inGit('refs/heads/main'))
        fs.linkSync(foreignGit('refs/heads/main'), inGit('refs/heads/main'))
      },
    ],
    ['its HEAD is a link', () => replace(path.join(elsewhere, 'operator.token'), inGit('HEAD'))],
    [
      'its packed refs are a link',
      () => replace(path.join(elsewhere, 'operator.token'), inGit('packed-refs')),
    ],
    ['its index is a link', () => replace(foreignGit('index'), inGit('index'))],
    [
      'its configuration includes another',
      () => repository.git('config', 'include.path', foreignGit('config')),
    ],
    [
      'its configuration includes another by a file of its own',
      () => {
        fs.writeFileSync(inGit('own.cfg'), `[include]\n\tpath = ${foreignGit('config')}\n`)
        repository.git('config', 'include.path', 'own.cfg')
      },
    ],
    [
      'its configuration includes another by a link and the directory above it',
      () => {
        replace(foreignGit('refs'), inGit('hooks'))
        repository.git('config', 'include.path', 'hooks/../config')
      },
    ],
    ['its configuration is a link', () => replace(foreignGit('config'), inGit('config'))],
    [
      'a directory in it names another',
      () => fs.writeFileSync(inside('d/.git'), `gitdir: ${foreignGit()}\n`),
    ],
    [
      'it claims to be a work tree of another',
      () => {
        const folder = inside('folder/worktrees/x')
        fs.mkdirSync(folder, { recursive: true })
        fs.writeFileSync(path.join(folder, 'commondir'), `${foreignGit()}\n`)
        fs.writeFileSync(path.join(folder, 'gitdir'), `${inside('d/.git')}\n`)
        fs.writeFileSync(path.join(folder, 'HEAD'), 'ref: refs/heads/main\n')
        fs.writeFileSync(inside('d/.git'), `gitdir: ${folder}\n`)
      },
    ],
  ])('a repository is not used if %s', async (what, make) => {
    make()
    const root = fs.existsSync(inside('d/.git')) ? inside('d') : repository.root
    const refusal = await gitRunner.open(root).then(
      () => null,
      (error: unknown) => error,
    )
    expect(refusal, what).toMatchObject({ code: 'repository_unknown' })
    expect(JSON.stringify(refusal)).not.toContain(SECRET)
  })

  test.each<[string, () => void]>([
    ['its hooks are a link', () => replace(elsewhere, inGit('hooks'))],
    ['its HEAD is a link to a branch', () => replace('refs/heads/main', inGit('HEAD'))],
    [
      'its configuration includes a file of the work tree',
      () => {
        repository.write('.gitconfig', '[user]\n\tname = Ada\n')
        repository.git('config', 'include.path', '../.gitconfig')
      },
    ],
    ['its objects are packed', () => repository.git('repack', '-a', '-d', '-q')],
  ])('a repository is used if %s', async (_, make) => {
    make()
    expect(await newest(await repositoryAt(repository.root))).toBe('mine\n')
  })

  test('a repository that replaced the checked one is not read', async () => {
    const found = await repositoryAt(repository.root)
    fs.renameSync(inside('.git'), inside('moved'))
    fs.symlinkSync(foreignGit(), inside('.git'))
    await expect(newest(found)).rejects.toMatchObject({ code: 'repository_unknown' })
  })

  test('a repository whose alternates were added after the check is not read', async () => {
    const found = await repositoryAt(repository.root)
    fs.writeFileSync(inGit('objects/info/alternates'), `${foreignGit('objects')}\n`)
    await expect(newest(found)).rejects.toMatchObject({ code: 'repository_unknown' })
  })

  test('a repository is still read while its objects are repacked', async () => {
    const found = await repositoryAt(repository.root)
    repository.git('repack', '-a', '-d', '-q')
    expect(await newest(found)).toBe('mine\n')
  })

  test('error messages of git contain no lines of files', async () => {
    repository.git('config', 'blame.ignoreRevsFile', path.join(elsewhere, 'operator.token'))
    const found = await repositoryAt(repository.root)
    const refusal = await blameContext(found, { path: 'file', line: 1, context: 0 }).then(
      () => null,
      (error: unknown) => error as { code: string; detail: string },
    )
    expect(refusal).toMatchObject({ code: 'git_failed' })
    expect(refusal?.detail).not.toContain(SECRET)
  })
})
