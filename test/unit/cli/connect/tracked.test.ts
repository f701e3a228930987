import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'jsonc-parser'
import type { FindingDocument } from '../../../../src/cli/doctor/finding.ts'
import { wiredHome } from '../../../../src/system/clients/wired-home.ts'
import { testCli } from '../../../support/processes/test-cli.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'
import { GIT_ENV, testRepository, type TestRepository } from '../../../support/disk/test-repository.ts'

let outer: string
let repository: TestRepository
let bin: string
beforeEach(() => {
  outer = fs.realpathSync(temporaryDirectory())
  fs.mkdirSync(path.join(outer, 'shop'))
  repository = testRepository(path.join(outer, 'shop'))
  bin = path.join(outer, 'bin')
  fs.mkdirSync(bin)
})

const at = (...names: string[]) => path.join(repository.root, ...names)
const read = (name: string) => fs.readFileSync(at(name), 'utf8')

/** Creates committed files, which other members of the team also have. */
function tracked(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) repository.write(name, text)
  repository.commit('settings')
}

interface Told {
  files: { file: string; change: string }[]
  tracked: string[]
  with_paths: string[]
}

function person({ home = path.join(outer, 'home'), installed = true } = {}) {
  if (installed) fs.writeFileSync(path.join(bin, 'turnbell'), '', { mode: 0o755 })
  const env = {
    ...(GIT_ENV as Record<string, string>),
    HOME: path.join(outer, 'user'),
    PATH: `${bin}:${process.env['PATH']}`,
  }
  const cli = testCli({ home, env, overrides: { cwd: repository.root } })
  const connect = async (client: string) => {
    const exit = await cli.run('connect', client, '--persona', 'ada', '--json')
    return { exit, ...cli.json<Told>() }
  }
  return { cli, env, home, connect }
}

const THEIRS = {
  '.codex/config.toml': 'model = "x"\n',
  '.codex/hooks.json': '{}\n',
  'opencode.json': '{ "theme": "dark" }\n',
  'AGENTS.md': '# Agents\n',
  'CLAUDE.md': '# House\n',
}

describe('files that git tracks', () => {
  test('tracked files get no path of this machine and are reported', async () => {
    tracked(THEIRS)
    const { connect } = person()
    expect(await connect('codex')).toMatchObject({
      tracked: [at('.codex/config.toml'), at('.codex/hooks.json'), at('AGENTS.md')],
      with_paths: [],
    })
    expect(await connect('claude-code')).toMatchObject({ tracked: [at('CLAUDE.md')] })
    expect(await connect('opencode')).toMatchObject({ tracked: [at('AGENTS.md')] })
    const difference = repository.git('diff')
    expect(difference).toContain('+command = "turnbell"')
    expect(difference).toContain('+args = ["mcp","--client","codex","--persona","ada"]')
    expect(difference).toContain('command -v turnbell >/dev/null 2>&1 && turnbell hook Stop')
    for (const place of [outer, '/opt/turnbell', '/usr/bin/node']) expect(difference).not.toContain(place)
  })

  test('tracked files get no path of this machine without turnbell on PATH', async () => {
    tracked(THEIRS)
    await person({ installed: false }).connect('codex')
    expect(repository.git('diff')).not.toContain('/opt/turnbell')
  })

  test('connect opencode writes the untracked one of its two files', async () => {
    tracked(THEIRS)
    const { connect, cli } = person()
    expect(await connect('opencode')).toMatchObject({ with_paths: [at('opencode.jsonc')] })
    expect(read('opencode.json')).toBe(THEIRS['opencode.json'])
    expect(parse(read('opencode.jsonc'))).toMatchObject({ mcp: { turnbell: { type: 'local' } } })
    expect(await connect('opencode')).toMatchObject({ exit: 0, changed: false })
    await cli.run('disconnect', 'opencode')
    expect(fs.existsSync(at('opencode.jsonc'))).toBe(false)
  })

  test('a tracked file that needs a path is reported with the next step', async () => {
    tracked({ '.claude/settings.local.json': '{}\n' })
    const { cli } = person()
    await cli.run('connect', 'claude-code', '--persona', 'ada')
    const file = at('.claude/settings.local.json')
    expect(cli.stdout()).toContain(`tracked by git: ${file}\n`)
    expect(cli.stdout()).toContain(`git rm --cached ${file}`)
  })

  test('tracked files are unchanged after a disconnect', async () => {
    tracked(THEIRS)
    const { connect, cli, env } = person()
    for (const client of ['codex', 'claude-code', 'opencode']) await connect(client)
    for (const client of ['codex', 'claude-code', 'opencode']) await cli.run('disconnect', client)
    expect(repository.git('status', '--porcelain')).toBe('')
    expect(fs.existsSync(path.join(env.HOME, '.config', 'turnbell'))).toBe(false)
  })
})

describe('files that git does not track yet', () => {
  test('untracked files are portable if turnbell is on PATH', async () => {
    expect(await person().connect('codex')).toMatchObject({ tracked: [], with_paths: [] })
    expect(read('.codex/config.toml')).toContain('command = "turnbell"')
  })

  test('untracked files name this installation without turnbell on PATH and are reported', async () => {
    const { connect } = person({ installed: false })
    expect(await connect('codex')).toMatchObject({
      with_paths: [at('.codex/config.toml'), at('.codex/hooks.json')],
    })
    expect(read('.codex/config.toml')).toContain('/opt/turnbell')
  })

  test('ignored files name this installation', async () => {
    tracked({ '.gitignore': '.codex/\n' })
    expect(await person().connect('codex')).toMatchObject({ with_paths: [] })
    expect(read('.codex/config.toml')).toContain('/opt/turnbell')
  })
})

describe('the home of portable entries', () => {
  test('the home is found from the project and below it until the disconnect', async () => {
    const { connect, cli, env, home } = person()
    await connect('codex')
    fs.mkdirSync(at('src'))
    expect(wiredHome(env, () => at('src'))).toBe(home)
    expect(wiredHome({ ...env, PWD: at('src') }, () => '/')).toBe(home)
    expect(wiredHome(env, () => outer)).toBeUndefined()
    await cli.run('disconnect', 'codex')
    expect(wiredHome(env, () => repository.root)).toBeUndefined()
  })

  test('the recorded home is removed only by a disconnect of the same home', async () => {
    const link = path.join(outer, 'link')
    const own = person()
    const other = person({ home: path.join(outer, 'other') })
    await other.connect('codex')
    await own.connect('opencode')
    await other.cli.run('disconnect', 'codex')
    expect(wiredHome(own.env, () => repository.root)).toBe(own.home)
    fs.symlinkSync(own.home, link)
    await person({ home: link }).cli.run('disconnect', 'opencode')
    expect(wiredHome(own.env, () => repository.root)).toBeUndefined()
  })

  test('the default home is not recorded', async () => {
    const { connect, env } = person({ home: path.join(outer, 'user', '.turnbell') })
    await connect('codex')
    expect(wiredHome(env, () => repository.root)).toBeUndefined()
  })
})

test('doctor accepts an unchanged connection after files became tracked', async () => {
  tracked(THEIRS)
  const { connect, cli, home } = person()
  await connect('codex')
  fs.writeFileSync(path.join(home, 'config.yaml'), 'personas: { ada: { surface: codex } }')
  await cli.run('doctor', '--json')
  const { findings } = cli.json<{ findings: FindingDocument[] }>()
  expect(findings.find(({ check }) => check === 'connection codex')).toMatchObject({ state: 'ok' })
})
