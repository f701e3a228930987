/**
 * Ways out of a project: paths that lead outside, and states of its directory that do. Everything outside contains the
 * canary, in file contents and in names that no test uses.
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { once } from 'node:events'
import net from 'node:net'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { testRepository } from './test-repository.ts'

export const CANARY = 'canary7f3a9c'
/** A canary of hexadecimal digits. */
const HEX_CANARY = 'c0ffee7f3a9c'
export const CANARIES = [CANARY, HEX_CANARY]

/** One directory with all a test needs: a home, places that belong to others, and a project to copy. */
export interface Outside {
  top: string
  home: string
  /** Files, a memory and a repository of another owner. */
  elsewhere: string
  /** A project of `ada` in its original state. */
  template: string
}

export function outsideAt(top: string): Outside {
  const at = (...names: string[]) => path.join(top, ...names)
  const write = (file: string, text: string) => {
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, text)
  }
  write(at('home/secrets/operator.token'), `tbop_${CANARY}\n`)
  write(at('home/secrets/signing.key'), `${HEX_CANARY}${'0'.repeat(52)}\n`)
  write(at('home/spool/hooks.jsonl'), `${CANARY}\n`)
  for (const name of ['operator.token', 'a.ts', `${CANARY}.ts`, 'd/a.ts'])
    write(at('elsewhere', name), `TODO ${CANARY}\n`)
  write(at('elsewhere/.turnbell/blackboard.jsonl'), `${entryLine(`TODO ${CANARY}`)}\n`)
  write(at('elsewhere/.turnbell/config.yml'), `project_name: ${CANARY}\n`)
  const foreign = testRepository(made(at('elsewhere/repo')))
  foreign.write('a.ts', `TODO ${CANARY}\nkept\n`)
  foreign.commit(`${CANARY} #7`, { author: `${CANARY} <${CANARY}@example.org>` })
  foreign.write('a.ts', 'kept\n')
  foreign.commit(`${CANARY} #8`)
  foreign.git('tag', '-a', '-m', CANARY, 'v9')
  const own = testRepository(made(at('template')))
  own.write('a.ts', 'TODO mine\nkept\n')
  own.write('d/a.ts', 'TODO mine\n')
  own.write('d/operator.token', 'TODO mine\n')
  own.commit('begun #1')
  own.write('a.ts', 'TODO mine\n')
  own.commit('went on #2')
  own.git('tag', 'v1')
  write(at('template/.turnbell/blackboard.jsonl'), `${entryLine('TODO mine')}\n`)
  return { top, home: at('home'), elsewhere: at('elsewhere'), template: at('template') }
}

function made(directory: string): string {
  fs.mkdirSync(directory, { recursive: true })
  return directory
}

function entryLine(summary: string): string {
  return JSON.stringify({
    ...{ id: '01KJMHHR00AAAAAAAAAAAAAAAA', timestamp: '2026-03-01T12:00:00.000Z', agent_id: 'ann' },
    ...{ entry_type: 'finding', tags: [], scope: 'project', summary, detail: summary },
  })
}

/** The target of one attempt to leave the project. */
export interface Aim {
  path?: string
  ref?: string
  /** A directory, used as the scope of the call. */
  scope?: string
}

type MadeAim = Aim & { end?: () => Promise<void> | void }

export interface Form {
  name: string
  /** Prepares the project and returns the path to request. */
  make(project: string, outside: Outside): MadeAim | Promise<MadeAim>
  /** Number of attempts, for a race condition. */
  times?: number
  /**
   * Which part of the project is changed, so that calls about only that part are tried as well; null if only names
   * differ.
   */
  changes: 'files' | 'git' | 'memory' | 'root' | null
}

const name = (what: string, aim: (project: string, outside: Outside) => Aim): Form => ({
  ...{ name: what, changes: null },
  make: aim,
})

function link(target: string, place: string): void {
  fs.rmSync(place, { recursive: true, force: true })
  fs.symlinkSync(target, place)
}

/** Replaces a directory of the project; `d` is one that git tracks. */
const state = (
  what: string,
  change: (project: string, outside: Outside) => void,
  aim: Aim = {},
  changes: Form['changes'] = 'files',
): Form => ({
  ...{ name: what, changes },
  make(project, outside) {
    change(project, outside)
    return { path: 'd/operator.token', ...aim }
  },
})

const memory = (what: string, change: (project: string, outside: Outside) => void) =>
  state(what, change, {}, 'memory')

const inGit = (
  what: string,
  change: (git: string, foreign: string, project: string) => void,
  aim: Aim = {},
) =>
  state(
    what,
    (project, { elsewhere }) =>
      change(path.join(project, '.git'), path.join(elsewhere, 'repo/.git'), project),
    { path: 'a.ts', ref: 'HEAD', ...aim },
    'git',
  )

/** Another thread repeatedly swaps a directory and a link to the outside. */
function swapping(place: string, target: string): () => Promise<void> {
  const stop = new SharedArrayBuffer(4)
  fs.symlinkSync(target, `${place}.link`)
  const worker = new Worker(SWAPPER, { eval: true, workerData: { place, stop } })
  const ended = once(worker, 'exit')
  return async () => {
    Atomics.store(new Int32Array(stop), 0, 1)
    await ended
  }
}

/** A writer may recreate the path in between; the step is then skipped. */
const SWAPPER = `
  const fs = require('node:fs')
  const { place, stop } = require('node:worker_threads').workerData
  const flag = new Int32Array(stop)
  const step = (from, to) => { try { fs.renameSync(from, to) } catch {} }
  while (Atomics.load(flag, 0) === 0) {
    step(place, place + '.aside')
    step(place + '.link', place)
    step(place, place + '.link')
    step(place + '.aside', place)
  }`

const RACE_TIMES = 2
const race = (
  what: string,
  part: string,
  target: (outside: Outside) => string,
  aim: Aim,
  changes: Form['changes'],
): Form => ({
  ...{ name: `a race: ${what}`, times: RACE_TIMES, changes },
  make: (project, outside) => ({
    ...aim,
    end: swapping(path.join(project, part), target(outside)),
  }),
})

function spot(place: string): string {
  fs.rmSync(place, { recursive: true, force: true })
  return place
}

/** Returns the newest commit of the foreign repository, for a caller that knows its hash. */
function foreignSha(git: string): string {
  return fs.readFileSync(path.join(git, 'refs/heads/main'), 'utf8').trim()
}

export const FORMS: readonly Form[] = [
  // Names.
  name('an absolute path', (_, { elsewhere }) => ({
    path: path.join(elsewhere, 'operator.token'),
    scope: path.join(elsewhere, 'repo'),
  })),
  name('an absolute path into the home', (_, { home }) => ({
    path: path.join(home, 'secrets/operator.token'),
    scope: home,
  })),
  name('dots', (project) => ({
    path: '../elsewhere/operator.token',
    ref: 'HEAD:../elsewhere/a.ts',
    scope: `${project}/../elsewhere/repo`,
  })),
  name('dots behind a directory', (project) => ({
    path: 'd/../../home/secrets/operator.token',
    ref: '../../elsewhere/repo/.git/HEAD',
    scope: `${project}/d/../../home/secrets`,
  })),
  name('dots in an absolute path', (project) => ({
    path: `${project}/d/../../elsewhere/a.ts`,
    scope: `${project}/./d/../../elsewhere`,
  })),
  name('dots of another alphabet', () => ({ path: '．．／elsewhere／a.ts', ref: '‥', scope: '／' })),
  name('a path of the process', (_, { elsewhere }) => ({
    path: `/proc/self/root${elsewhere}/operator.token`,
    scope: `/proc/self/root${elsewhere}/repo`,
  })),
  name('a descriptor of the process', () => ({
    path: '/proc/self/environ',
    ref: '/proc/self/fd/0',
    scope: '/proc/self/cwd',
  })),
  name('a NUL', (project, { elsewhere }) => ({
    path: `a.ts\0${elsewhere}/a.ts`,
    ref: 'HEAD\0',
    scope: `${project}\0/../elsewhere`,
  })),
  name('a line feed', (project) => ({
    path: 'a.ts\n../elsewhere/a.ts',
    ref: 'HEAD\n--all',
    scope: `${project}\n`,
  })),
  name('an option', (_, { elsewhere }) => ({
    path: `--contents=${elsewhere}/a.ts`,
    ref: `--output=${elsewhere}/x`,
    scope: '--git-dir=/',
  })),
  name('an option for files of no repository', (_, { elsewhere }) => ({
    path: '--no-index',
    ref: '--no-index',
    scope: `--no-index ${elsewhere}`,
  })),
  name('a short option', () => ({ path: '-f/etc/passwd', ref: '-n9', scope: '-C/' })),
  name('magic for the top', () => ({ path: ':(top)../elsewhere', ref: ':(top)a.ts', scope: ':/' })),
  name('magic that excludes', () => ({ path: ':(exclude)a.ts', ref: ':!a.ts', scope: ':^' })),
  name('a glob', () => ({ path: '../elsewhere/*', ref: 'refs/*', scope: '/*' })),
  name('a path in a tree', () => ({ path: 'HEAD:a.ts', ref: 'HEAD:a.ts', scope: 'HEAD:' })),
  name('the log of references', () => ({ path: '.git/logs/HEAD', ref: 'HEAD@{1}', scope: '@{-1}' })),
  name('a reference by its message', () => ({ path: ':/went', ref: ':/went', scope: ':/went' })),
  name('a reference upstream', () => ({ path: '@{upstream}', ref: 'main@{upstream}', scope: '@{u}' })),
  name('a range', () => ({ path: 'HEAD~1..HEAD', ref: 'HEAD~1..HEAD', scope: '..' })),
  name('everything', () => ({ path: '--all', ref: '--all', scope: '/' })),
  name('a file of git', () => ({ path: '.git/config', ref: '.git/HEAD', scope: '.git' })),
  name('a file of git in capitals', (project) => ({
    path: '.GIT/config',
    ref: '.GIT/HEAD',
    scope: `${project}/.GIT`,
  })),
  name('a very long path', () => ({
    path: 'd/'.repeat(2_000),
    ref: 'x'.repeat(10_000),
    scope: '/d'.repeat(400),
  })),
  name('a very long name', () => ({
    path: 'x'.repeat(300),
    ref: 'x'.repeat(256),
    scope: `/${'x'.repeat(300)}`,
  })),
  name('an address', (_, { elsewhere }) => ({
    path: `file://${elsewhere}/a.ts`,
    ref: `file://${elsewhere}`,
    scope: `file://${elsewhere}/repo`,
  })),
  name('a shell word', () => ({ path: '~/.turnbell/secrets/operator.token', ref: '$(id)', scope: '~' })),
  name('the directory of secrets', (_, { home }) => ({
    path: path.join(home, 'secrets'),
    scope: path.join(home, 'secrets'),
  })),
  name('a project inside of the home', (_, { home }) => {
    testRepository(made(path.join(home, 'inner')))
    return { path: path.join(home, 'spool/hooks.jsonl'), scope: path.join(home, 'inner') }
  }),

  // Files and directories of the project.
  state('a link as the last part', (project, { elsewhere }) =>
    link(path.join(elsewhere, 'operator.token'), path.join(project, 'd/operator.token')),
  ),
  state('a link to a secret', (project, { home }) =>
    link(path.join(home, 'secrets/operator.token'), path.join(project, 'd/operator.token')),
  ),
  state('a link in the middle', (project, { elsewhere }) => link(elsewhere, path.join(project, 'd'))),
  state('a link in the middle to the secrets', (project, { home }) =>
    link(path.join(home, 'secrets'), path.join(project, 'd')),
  ),
  state('a link to a link', (project, { elsewhere }) => {
    link(elsewhere, path.join(project, 'e'))
    link('e', path.join(project, 'd'))
  }),
  state('a link to a directory', (project, { elsewhere }) => link(elsewhere, path.join(project, 'd')), {
    path: 'd',
  }),
  state('a relative link', (project) => link('../elsewhere', path.join(project, 'd'))),
  state('a hard link', (project, { elsewhere }) =>
    fs.linkSync(path.join(elsewhere, 'operator.token'), spot(path.join(project, 'd/operator.token'))),
  ),
  state('a hard link to a secret', (project, { home }) =>
    fs.linkSync(path.join(home, 'secrets/operator.token'), spot(path.join(project, 'd/operator.token'))),
  ),
  state('a pipe', (project) => execFileSync('mkfifo', [spot(path.join(project, 'd/operator.token'))])),
  state('a link to a device', (project) => link('/dev/zero', path.join(project, 'd/operator.token'))),
  state('a link to a directory of devices', (project) => link('/dev', path.join(project, 'd')), {
    path: 'd/zero',
  }),
  {
    ...{ name: 'a socket', changes: 'files' },
    async make(project) {
      const server = net.createServer().listen(spot(path.join(project, 'd/operator.token')))
      await once(server, 'listening')
      return { path: 'd/operator.token', end: () => void server.close() }
    },
  },
  {
    ...{ name: 'a link in place of the root', changes: 'root' },
    make(project, { elsewhere }) {
      fs.renameSync(project, `${project}.moved`)
      fs.symlinkSync(path.join(elsewhere, 'repo'), project)
      return { path: 'a.ts', ref: 'HEAD', scope: project }
    },
  },
  {
    ...{ name: 'a link in place of the root, to a memory', changes: 'root' },
    make(project, { elsewhere }) {
      fs.renameSync(project, `${project}.moved`)
      fs.symlinkSync(elsewhere, project)
      return { path: 'operator.token', scope: `${project}/repo` }
    },
  },

  // The repository.
  inGit('a .git file that names another repository', (git, foreign) =>
    fs.writeFileSync(spot(git), `gitdir: ${foreign}\n`),
  ),
  state(
    'a .git file in a directory',
    (project, { elsewhere }) =>
      fs.writeFileSync(path.join(project, 'd/.git'), `gitdir: ${elsewhere}/repo/.git\n`),
    { path: 'd/a.ts' },
  ),
  inGit('a .git that is a link', (git, foreign) => link(foreign, git)),
  inGit('a .git that is a pipe', (git) => execFileSync('mkfifo', [spot(git)])),
  inGit('alternates', (git, foreign) => {
    fs.writeFileSync(path.join(git, 'objects/info/alternates'), `${foreign}/objects\n`)
    fs.writeFileSync(path.join(git, 'refs/heads/main'), `${foreignSha(foreign)}\n`)
  }),
  inGit('alternates that are a link to a secret', (git, foreign) =>
    link(
      path.join(foreign, '../../../home/secrets/operator.token'),
      path.join(git, 'objects/info/alternates'),
    ),
  ),
  inGit('a commondir', (git, foreign) => fs.writeFileSync(path.join(git, 'commondir'), `${foreign}\n`)),
  inGit('a commondir that is a link to a secret', (git, foreign) =>
    link(path.join(foreign, '../../../home/secrets/operator.token'), path.join(git, 'commondir')),
  ),
  inGit('a work tree that its repository does not list', (git, foreign, project) => {
    const folder = path.join(project, 'x/worktrees/y')
    fs.mkdirSync(folder, { recursive: true })
    fs.writeFileSync(path.join(folder, 'commondir'), `${foreign}\n`)
    fs.writeFileSync(path.join(folder, 'gitdir'), `${git}\n`)
    fs.writeFileSync(path.join(folder, 'HEAD'), 'ref: refs/heads/main\n')
    fs.writeFileSync(spot(git), `gitdir: ${folder}\n`)
  }),
  inGit('objects that are a link', (git, foreign) => {
    link(path.join(foreign, 'objects'), path.join(git, 'objects'))
    fs.writeFileSync(path.join(git, 'refs/heads/main'), `${foreignSha(foreign)}\n`)
  }),
  inGit('references that are a link', (git, foreign) =>
    link(path.join(foreign, 'refs'), path.join(git, 'refs')),
  ),
  inGit('packed references that are a link to a secret', (git, foreign) =>
    link(path.join(foreign, '../../../home/secrets/operator.token'), path.join(git, 'packed-refs')),
  ),
  inGit('a list of shallow commits that is a link to a secret', (git, foreign) =>
    link(path.join(foreign, '../../../home/secrets/operator.token'), path.join(git, 'shallow')),
  ),
  inGit('a HEAD that is a hard link to a secret', (git, foreign) =>
    fs.linkSync(path.join(foreign, '../../../home/secrets/signing.key'), spot(path.join(git, 'HEAD'))),
  ),
  inGit('an index that is a link', (git, foreign) =>
    link(path.join(foreign, 'index'), path.join(git, 'index')),
  ),
  inGit('a configuration that includes another', (git, foreign) =>
    fs.appendFileSync(path.join(git, 'config'), `[include]\n\tpath = ${foreign}/config\n`),
  ),
  inGit('a work tree elsewhere', (git, foreign) =>
    fs.appendFileSync(
      path.join(git, 'config'),
      `[core]\n\tworktree = ${path.dirname(path.dirname(foreign))}\n`,
    ),
  ),
  inGit('revisions to ignore that are a secret', (git, foreign) =>
    fs.appendFileSync(
      path.join(git, 'config'),
      `[blame]\n\tignoreRevsFile = ${path.join(foreign, '../../../home/secrets/operator.token')}\n`,
    ),
  ),
  inGit('a filter that prints a secret', (git, foreign, project) => {
    const secret = path.join(foreign, '../../../home/secrets/operator.token')
    fs.writeFileSync(path.join(project, '.gitattributes'), '* filter=x diff=x\n')
    fs.appendFileSync(
      path.join(git, 'config'),
      `[filter "x"]\n\tclean = cat ${secret}\n\tsmudge = cat ${secret}\n[diff "x"]\n\ttextconv = cat ${secret}\n\tcommand = cat ${secret}\n[diff]\n\texternal = cat ${secret}\n[core]\n\tfsmonitor = cat ${secret}\n`,
    )
  }),

  // The memory.
  memory('a memory that is a link', (project, { elsewhere }) =>
    link(path.join(elsewhere, '.turnbell'), path.join(project, '.turnbell')),
  ),
  memory('a blackboard that is a link', (project, { elsewhere }) =>
    link(
      path.join(elsewhere, '.turnbell/blackboard.jsonl'),
      path.join(project, '.turnbell/blackboard.jsonl'),
    ),
  ),
  memory('a blackboard that is a hard link', (project, { elsewhere }) =>
    fs.linkSync(
      path.join(elsewhere, '.turnbell/blackboard.jsonl'),
      spot(path.join(project, '.turnbell/blackboard.jsonl')),
    ),
  ),
  memory('a blackboard that is a pipe', (project) =>
    execFileSync('mkfifo', [spot(path.join(project, '.turnbell/blackboard.jsonl'))]),
  ),
  memory('settings that are a link', (project, { elsewhere }) =>
    link(path.join(elsewhere, '.turnbell/config.yml'), path.join(project, '.turnbell/config.yml')),
  ),

  // Race conditions.
  race('a directory is swapped', 'd', ({ elsewhere }) => elsewhere, { path: 'd/operator.token' }, 'files'),
  race(
    'the repository is swapped',
    '.git',
    ({ elsewhere }) => path.join(elsewhere, 'repo/.git'),
    { path: 'a.ts', ref: 'HEAD' },
    'git',
  ),
  race(
    'the objects are swapped',
    '.git/objects',
    ({ elsewhere }) => path.join(elsewhere, 'repo/.git/objects'),
    { path: 'a.ts', ref: 'HEAD' },
    'git',
  ),
  race(
    'the memory is swapped',
    '.turnbell',
    ({ elsewhere }) => path.join(elsewhere, '.turnbell'),
    {},
    'memory',
  ),
]
