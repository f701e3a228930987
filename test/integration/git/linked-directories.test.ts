/**
 * Tests which repository a project's directory belongs to when links are involved. The links and the repositories are
 * real.
 */
import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Asking } from '../../../src/modules/git/deps.ts'
import { createGit } from '../../../src/modules/git/service.ts'
import type { Projects } from '../../../src/modules/registry/projects.ts'
import { repositoryRoot } from '../../../src/modules/registry/scope.ts'
import { systemPathInspector } from '../../../src/system/files/path-inspector.ts'
import { gitRunner, memoryLinks } from '../../support/worlds/git-world.ts'
import { recordWorld } from '../../support/worlds/record-world.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { testRepository } from '../../support/disk/test-repository.ts'

let top: string
let projects: Projects
const at = (name: string) => path.join(top, name)

function repository(name: string) {
  fs.mkdirSync(at(name), { recursive: true })
  const made = testRepository(at(name))
  made.write('src/a.ts', name)
  made.commit(name)
  return made
}

/** Returns the subject of the newest commit that git reports. */
async function newest(scope: string, kind: 'agent' | 'operator' = 'agent'): Promise<string | undefined> {
  const personas = { get: () => null }
  const links = memoryLinks()
  const git = createGit({
    ...{ git: gitRunner, clock: { now: () => 0 }, linksOf: () => links },
    rootOf: (asking) => repositoryRoot({ projects, personas }, asking),
  })
  const asking: Asking = {
    caller: { tenant_id: 'local', kind, identity: 'ada' },
    context: { agent_id: 'ada', scope },
  }
  const { commits } = await git.logRecent(asking, { limit: 1 })
  return commits[0]?.subject
}
const UNKNOWN = { code: 'repository_unknown' }

beforeEach(async () => {
  top = fs.realpathSync(temporaryDirectory())
  const { needs } = await recordWorld([], { places: systemPathInspector({ root: at('home') }) })
  projects = needs.projects as Projects
})

describe('a link in a project', () => {
  test.each(['a repository', 'no repository'])(
    'a link out of the project is rejected for every caller, in %s',
    async (what) => {
      if (what === 'a repository') repository('p')
      else fs.mkdirSync(at('p'))
      repository('elsewhere/repo')
      fs.symlinkSync(at('elsewhere/repo'), at('p/out'))
      await projects.add({ path: at('p') })
      for (const name of ['p/out', 'p/out/', 'p/out/src', 'p/out/not-there', 'p/./src/../out'])
        for (const kind of ['agent', 'operator'] as const)
          await expect(newest(at(name), kind), name).rejects.toMatchObject({
            ...UNKNOWN,
            detail: expect.stringContaining('is a link out of') as string,
            hint: expect.stringContaining('by its path') as string,
          })
      expect(await newest(at('elsewhere/repo'), 'operator')).toBe('elsewhere/repo')
    },
  )

  test('a link to a repository around the project is rejected', async () => {
    repository('around')
    repository('around/p')
    fs.symlinkSync('..', at('around/p/up'))
    await projects.add({ path: at('around/p') })
    await expect(newest(at('around/p/up'))).rejects.toMatchObject(UNKNOWN)
    expect(await newest(at('around/p/up/p/src'))).toBe('around/p')
  })

  test('a link to a neighbouring repository in a larger one is rejected', async () => {
    repository('mono')
    repository('mono/other')
    fs.mkdirSync(at('mono/p/src'), { recursive: true })
    fs.mkdirSync(at('mono/q'))
    fs.symlinkSync('../other', at('mono/p/out'))
    fs.symlinkSync('../q', at('mono/p/same'))
    await projects.add({ path: at('mono/p') })
    await expect(newest(at('mono/p/out/src'))).rejects.toMatchObject(UNKNOWN)
    await expect(newest(at('mono/p/same'))).rejects.toMatchObject(UNKNOWN)
    expect(await newest(at('mono/p/src'))).toBe('mono')
  })

  test('a link inside the project and a link into another project are followed', async () => {
    repository('p')
    repository('p/vendor/lib')
    repository('other')
    fs.symlinkSync('vendor/lib', at('p/lib'))
    fs.symlinkSync('src', at('p/source'))
    fs.symlinkSync(at('other'), at('p/other'))
    await projects.add({ path: at('p') })
    await projects.add({ path: at('other') })
    expect(await newest(at('p/source'))).toBe('p')
    expect(await newest(at('p/lib/src'))).toBe('p/vendor/lib')
    expect(await newest(at('p/other/src'))).toBe('other')
  })

  test('circular, dangling and unreadable links have no repository', async () => {
    repository('p')
    fs.symlinkSync('loop', at('p/loop'))
    fs.symlinkSync(at('nowhere'), at('p/dangling'))
    fs.mkdirSync(at('p/closed/inner'), { recursive: true })
    fs.chmodSync(at('p/closed'), 0)
    await projects.add({ path: at('p') })
    try {
      for (const name of ['p/loop', 'p/loop/x', 'p/dangling', 'p/not-there', 'p/src/a.ts'])
        await expect(newest(at(name)), name).rejects.toMatchObject(UNKNOWN)
      // Root may read every directory.
      if (process.getuid?.() !== 0)
        for (const name of ['p/closed', 'p/closed/inner'])
          await expect(newest(at(name)), name).rejects.toMatchObject(UNKNOWN)
    } finally {
      fs.chmodSync(at('p/closed'), 0o700)
    }
  })
})

describe('a project reached by a link', () => {
  test('a project reached by a link has the same contents as by its real root', async () => {
    repository('real')
    repository('real/vendor/lib')
    fs.symlinkSync('real', at('link'))
    await projects.add({ path: at('link') })
    for (const name of ['link', 'link/', 'link/src', 'real/src'])
      expect(await newest(at(name)), name).toBe('real')
    expect(await newest(at('link/vendor/lib/src'))).toBe('real/vendor/lib')
  })

  test('a project reached by a link may be a work tree, or part of a larger repository', async () => {
    const main = repository('main')
    main.git('worktree', 'add', '--quiet', '--detach', at('tree'))
    fs.mkdirSync(at('main/packages/a/src'), { recursive: true })
    fs.symlinkSync('main/packages/a', at('a'))
    fs.symlinkSync('tree', at('t'))
    await projects.add({ path: at('a') })
    await projects.add({ path: at('t') })
    for (const name of ['a', 'a/src', 'main/packages/a/src', 't/src', 'tree/src'])
      expect(await newest(at(name)), name).toBe('main')
  })
})
