/** A real git repository in a temporary directory, with fixed authors and dates. */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { temporaryDirectory } from '../temporary-directory.ts'

/** The machine's own git configuration does not affect a test. */
export const GIT_ENV = {
  PATH: process.env['PATH'],
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  LC_ALL: 'C',
} as const

const START = Date.UTC(2026, 0, 1)
const HOUR_MS = 3_600_000

export interface TestRepository {
  root: string
  /** Runs git in the repository; returns its output without the last line feed. */
  git(...args: string[]): string
  /** Runs git with additional environment variables. */
  gitWith(env: NodeJS.ProcessEnv, ...args: string[]): string
  write(file: string, content: string | Uint8Array): void
  remove(file: string): void
  /** Stages everything and commits; each commit is one hour after the previous one. Returns the full hash. */
  commit(message: string, options?: { author?: string; at?: string }): string
}

export function testRepository(root = temporaryDirectory(), init: readonly string[] = []): TestRepository {
  let commits = 0
  const gitWith: TestRepository['gitWith'] = (env, ...args) =>
    execFileSync('git', args, {
      cwd: root,
      env: { ...GIT_ENV, ...identity('Ada Lovelace <ada@example.org>', START), ...env },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).replace(/\n$/, '')
  const git: TestRepository['git'] = (...args) => gitWith({}, ...args)
  git('init', '--quiet', '--initial-branch=main', ...init)
  return {
    root,
    git,
    gitWith,
    write(file, content) {
      const place = path.join(root, file)
      fs.mkdirSync(path.dirname(place), { recursive: true })
      fs.writeFileSync(place, content)
    },
    remove: (file) => fs.rmSync(path.join(root, file), { recursive: true }),
    commit(message, { author = 'Ada Lovelace <ada@example.org>', at } = {}) {
      const time = at === undefined ? START + HOUR_MS * commits : Date.parse(at)
      commits += 1
      git('add', '--all')
      gitWith(
        identity(author, time),
        ...['commit', '--quiet', '--allow-empty', '--allow-empty-message', '--cleanup=verbatim'],
        ...['--message', message],
      )
      return git('rev-parse', 'HEAD')
    },
  }
}

function identity(author: string, time: number): NodeJS.ProcessEnv {
  const [, name, email] = /^(.*) <(.*)>$/.exec(author) as unknown as [string, string, string]
  const date = `${Math.floor(time / 1000)} +0000`
  return {
    ...{ GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_AUTHOR_DATE: date },
    ...{ GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email, GIT_COMMITTER_DATE: date },
  }
}
