import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Problem } from '../../../../src/contracts/errors/errors.ts'
import { testCli, type TestCli } from '../../../support/processes/test-cli.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'
import { testRepository } from '../../../support/disk/test-repository.ts'

let home: string
let project: string
let cli: TestCli
beforeEach(() => {
  home = fs.realpathSync(temporaryDirectory())
  project = path.join(home, 'project')
  fs.mkdirSync(project)
  cli = testCli({ home, env: { PATH: process.env['PATH'] ?? '' }, overrides: { cwd: project } })
})

const at = (name: string) => path.join(project, name)
const read = (name: string) => fs.readFileSync(at(name), 'utf8')
const write = (name: string, text: string) => {
  fs.mkdirSync(path.dirname(at(name)), { recursive: true })
  fs.writeFileSync(at(name), text)
}
const edit = (name: string, change: (text: string) => string) => write(name, change(read(name)))

interface Told {
  changed: boolean
  files: { file: string; change: string; left?: string }[]
}
async function turnbell(...words: string[]) {
  const exit = await cli.run(...words, '--json')
  return { exit, ...cli.json<Told & Problem>() }
}

const WITHOUT: [string, (text: string) => string][] = [
  ['its marks', (text) => text.replaceAll(/^(#|<!--) turnbell: .*\n/gm, '')],
  ['its first mark', (text) => text.replace(/^(#|<!--) turnbell: begin.*\n/m, '')],
  ['its last mark', (text) => text.replace(/^(#|<!--) turnbell: end.*\n/m, '')],
  ['any comment', (text) => text.replaceAll(/^(#[^#!]|<!--).*\n/gm, '')],
]

describe.each(WITHOUT)('a block without %s', (_, strip) => {
  test.each([
    ['codex', '.codex/config.toml', 'model = "x"\n', '\n[mcp_servers.docs]\ncommand = "docs"\n'],
    ['codex', 'AGENTS.md', 'Be kind.\n', '\n## Tests\n\nRun them.\n'],
    ['claude-code', 'CLAUDE.md', 'Be kind.\n', '\n# Tests\n\nRun them.\n'],
  ])(
    'an unmarked block of %s in %s is removed by its name and keeps the lines around it',
    async (client, name, mine, more) => {
      write(name, mine)
      await turnbell('connect', client, '--persona', 'ada')
      edit(name, strip)
      edit(name, (text) => text + more)
      expect(await turnbell('disconnect', client)).toMatchObject({ exit: 0 })
      expect(read(name)).toBe(mine + more)
    },
  )

  test('connect writes the block again after its marks were removed', async () => {
    await turnbell('connect', 'codex', '--persona', 'ada')
    const written = [read('.codex/config.toml'), read('AGENTS.md')]
    for (const name of ['.codex/config.toml', 'AGENTS.md']) edit(name, strip)
    expect(await turnbell('connect', 'codex', '--persona', 'ada')).toMatchObject({ exit: 0, changed: true })
    expect([read('.codex/config.toml'), read('AGENTS.md')]).toEqual(written)
    await turnbell('disconnect', 'codex')
    expect(fs.readdirSync(project)).toEqual([])
  })

  test('an unmarked block in a hook of git is removed by its line', async () => {
    testRepository(project)
    write('.git/hooks/post-commit', '#!/bin/sh\necho done\n')
    fs.chmodSync(at('.git/hooks/post-commit'), 0o755)
    await turnbell('connect', 'git')
    edit('.git/hooks/post-commit', strip)
    expect(await turnbell('disconnect', 'git')).toMatchObject({ exit: 0 })
    expect(read('.git/hooks/post-commit')).toBe('#!/bin/sh\necho done\n')
  })
})

describe('edited entries that are still active', () => {
  test.each([
    [
      'git',
      '.git/hooks/post-commit',
      (text: string) => text.replaceAll(/^# turnbell.*\n/gm, '').replace(' </dev/null', ''),
      ' hook post-commit',
    ],
    [
      'codex',
      '.codex/hooks.json',
      (text: string) => text.replaceAll(/\[ -e [^"]*?\] && /g, 'true && '),
      'hook ',
    ],
  ])(
    'an edited entry is reported with exit 1 until it is removed by hand: %s, %s',
    async (client, name, change, left) => {
      testRepository(project)
      await turnbell('connect', client, ...(client === 'git' ? [] : ['--persona', 'ada']))
      edit(name, change)
      const told = await turnbell('disconnect', client)
      expect(told.exit).toBe(1)
      expect(told.files.find(({ file }) => file === at(name))).toMatchObject({
        ...{ change: 'kept', left: expect.stringContaining(left) as string },
      })
      await cli.run('disconnect', client)
      expect(cli.stdout()).toContain(`${at(name)} still contains`)
      fs.rmSync(at(name))
      expect(await turnbell('disconnect', client)).toMatchObject({ exit: 0 })
      expect(fs.readdirSync(path.join(home, 'connections'))).toEqual([])
    },
  )
})

describe('disconnect --all', () => {
  test('disconnect --all removes all connections, also of a deleted project', async () => {
    const other = path.join(home, 'other')
    fs.mkdirSync(other)
    await turnbell('connect', 'codex', '--persona', 'ada')
    await turnbell('connect', 'claude-code', '--persona', 'ada')
    await turnbell('connect', 'opencode', '--persona', 'bob', '--project', other)
    fs.rmSync(other, { recursive: true })
    const all = async () => {
      const exit = await cli.run('disconnect', '--all', '--json')
      return { exit, ...cli.json<{ ok: boolean; disconnected: object[]; failed: object[] }>() }
    }
    const { exit, ok, disconnected } = await all()
    expect({ exit, ok }).toEqual({ exit: 0, ok: true })
    expect(disconnected).toHaveLength(3)
    expect(fs.readdirSync(project)).toEqual([])
    expect(await all()).toMatchObject({ exit: 0, ok: true, disconnected: [] })
  })

  test('disconnect --all continues after a failure and exits 1', async () => {
    await turnbell('connect', 'codex', '--persona', 'ada')
    await turnbell('connect', 'claude-code', '--persona', 'ada')
    fs.writeFileSync(path.join(home, 'connections', 'broken.json'), '{')
    edit('.codex/config.toml', (text) => `${text}[broken`)
    expect(await cli.run('disconnect', '--all', '--json')).toBe(1)
    const { disconnected, failed } = cli.json<{ disconnected: object[]; failed: { detail: string }[] }>()
    expect(disconnected).toEqual([{ client: 'claude-code', project }])
    expect(failed.map(({ detail }) => detail)).toEqual([
      expect.stringContaining('broken.json'),
      expect.stringContaining('.codex/config.toml'),
    ])
  })

  test.each([[['codex', '--all']], [[]], [['--all', '--project', '.']]])(
    'disconnect is refused with the arguments %j',
    async (words) => {
      expect(await cli.run('disconnect', ...words)).toBe(64)
    },
  )
})
