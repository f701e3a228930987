import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { parse } from 'jsonc-parser'
import { parse as parseToml } from 'smol-toml'
import { describe, expect, test } from 'vitest'
import type { Problem } from '../../../../src/contracts/errors/errors.ts'
import { writeAll } from '../../../../src/cli/connect/files.ts'
import { testCli } from '../../../support/processes/test-cli.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

interface Told {
  changed: boolean
  files: { file: string; change: string }[]
  diff?: string
}

/** A home, a project in it, and a command line in that project. */
function place(options: Parameters<typeof testCli>[0]['overrides'] = {}) {
  const home = fs.realpathSync(temporaryDirectory())
  const project = path.join(home, 'project')
  fs.mkdirSync(project)
  const cli = testCli({ home, overrides: { cwd: project, ...options } })
  const at = (...names: string[]) => path.join(project, ...names)
  const turnbell = async (...words: string[]) => {
    const code = await cli.run(...words, '--json')
    return { exit: code, ...cli.json<Told & Problem>() }
  }
  return {
    home,
    project,
    cli,
    turnbell,
    at,
    write: (name: string, text: string, mode = 0o644) => {
      fs.mkdirSync(path.dirname(at(name)), { recursive: true })
      fs.writeFileSync(at(name), text, { mode })
    },
    read: (name: string) => fs.readFileSync(at(name), 'utf8'),
    records: () => fs.readdirSync(path.join(home, 'connections')).filter((name) => name.endsWith('.json')),
  }
}

/** Returns every file below the directory, with its text and mode. */
function everything(directory: string): Record<string, unknown> {
  const names = fs.readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort()
  return Object.fromEntries(
    names.map((name): [string, unknown] => {
      const stat = fs.lstatSync(path.join(directory, name))
      if (stat.isDirectory()) return [name, 'directory']
      if (stat.isSymbolicLink()) return [name, fs.readlinkSync(path.join(directory, name))]
      return [name, [fs.readFileSync(path.join(directory, name), 'utf8'), stat.mode & 0o777]]
    }),
  )
}

const THEIRS: Record<string, string> = {
  '.claude/settings.local.json': '{\n  "permissions": { "allow": ["Bash(ls:*)"] }\n}',
  'CLAUDE.md': '# House rules\r\n\r\nBe kind.',
  '.codex/config.toml': '# mine\nmodel = "x"\n[mcp_servers.docs]\ncommand = "docs" # stays\n',
  '.codex/hooks.json': '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"say done"}]}]}}\n',
  'AGENTS.md': '\uFEFF# Agents\n',
  'opencode.jsonc': '{\n\t"permission": "ask", // careful\n\t"plugin": ["mine"],\n}\n',
}
const A_HOME = 'it has a turnbell home with secrets and a journal.'
const CLIENTS = ['claude-code', 'codex', 'opencode']

describe.each(CLIENTS)('connect %s', (client) => {
  test('connect is refused in a directory that contains a home, and disconnect is not', async () => {
    const { project, turnbell } = place()
    fs.mkdirSync(path.join(project, '.turnbell', 'secrets'), { recursive: true })
    const before = everything(project)
    for (const words of [[], ['--print']])
      expect(await turnbell('connect', client, '--persona', 'ada', ...words)).toMatchObject({
        ...{
          exit: 2,
          code: 'project_unknown',
          detail: `${project} is not a project: ${A_HOME}`,
        },
      })
    expect(everything(project)).toEqual(before)
    expect(await turnbell('disconnect', client)).toMatchObject({ exit: 0 })
  })

  test.each([
    ['an empty project', {}],
    ['a project with settings of its own', THEIRS],
  ])('connect and disconnect leave %s unchanged byte for byte', async (_, files) => {
    const { write, turnbell, project, records } = place()
    for (const [name, text] of Object.entries(files)) write(name, text, 0o640)
    const before = everything(project)
    expect(await turnbell('connect', client, '--persona', 'ada')).toMatchObject({ exit: 0, changed: true })
    expect(everything(project)).not.toEqual(before)
    expect(await turnbell('disconnect', client)).toMatchObject({ exit: 0, changed: true })
    expect(everything(project)).toEqual(before)
    expect(records()).toEqual([])
  })

  test('a second connect changes nothing and reports that', async () => {
    const { write, turnbell, project, cli } = place()
    for (const [name, text] of Object.entries(THEIRS)) write(name, text)
    await turnbell('connect', client, '--persona', 'ada')
    const once = everything(project)
    expect(await turnbell('connect', client, '--persona', 'ada')).toMatchObject({ exit: 0, changed: false })
    await cli.run('connect', client, '--persona', 'ada')
    expect(cli.stdout()).toContain('nothing was changed')
    expect(everything(project)).toEqual(once)
  })

  test('connect --print prints a diff and writes nothing', async () => {
    const { turnbell, home, cli } = place()
    const before = everything(home)
    await cli.run('connect', client, '--persona', 'ada', '--print')
    expect(cli.stdout()).toMatch(/^--- \/dev\/null\n\+\+\+ .*project/m)
    const told = await turnbell('connect', client, '--persona', 'ada', '--print')
    expect(told.diff).toContain('+')
    expect(everything(home)).toEqual(before)
  })

  test('the record of a connection is readable only by its owner', async () => {
    const { turnbell, home, records } = place()
    await turnbell('connect', client, '--persona', 'ada')
    const [name = ''] = records()
    expect(name).toMatch(new RegExp(`^${client}-[0-9a-f]{16}\\.json$`))
    expect(fs.statSync(path.join(home, 'connections', name)).mode & 0o777).toBe(0o600)
  })

  test('connect for another persona is refused with the next step', async () => {
    const { turnbell, project } = place()
    await turnbell('connect', client, '--persona', 'ada')
    const before = everything(project)
    const refused = await turnbell('connect', client, '--persona', 'bob')
    expect(refused).toMatchObject({ exit: 2 })
    expect(refused.detail).toContain('acts for ada')
    expect(refused.hint).toContain(`turnbell disconnect ${client} --project ${project}`)
    expect(everything(project)).toEqual(before)
  })

  test('disconnect with another persona is refused', async () => {
    const { turnbell, project } = place()
    await turnbell('connect', client, '--persona', 'ada')
    const before = everything(project)
    const refused = await turnbell('disconnect', client, '--persona', 'bob')
    expect(refused).toMatchObject({ exit: 2, detail: expect.stringContaining('acts for ada') as string })
    expect(refused.hint).toContain('--persona ada')
    expect(refused.hint).not.toContain('turnbell disconnect')
    expect(everything(project)).toEqual(before)
  })

  test('connections of two projects serve two personas and are removed separately', async () => {
    const { turnbell, at, records } = place()
    for (const [name, persona] of [
      ['one', 'ada'],
      ['two', 'bob'],
    ] as const) {
      fs.mkdirSync(at(name))
      await turnbell('connect', client, '--persona', persona, '--project', at(name))
    }
    const two = everything(at('two'))
    expect(JSON.stringify(two)).toContain('bob')
    await turnbell('disconnect', client, '--project', at('one'))
    expect(everything(at('one'))).toEqual({})
    expect(everything(at('two'))).toEqual(two)
    expect(records()).toHaveLength(1)
  })

  test.each([
    ['was moved', (home: string, project: string) => fs.renameSync(project, path.join(home, 'moved'))],
    [
      'lost its record',
      (home: string, project: string) => {
        fs.rmSync(path.join(home, 'connections'), { recursive: true })
        fs.renameSync(project, path.join(home, 'moved'))
      },
    ],
  ])('disconnect removes the entries from a project that %s', async (_, happen) => {
    const { write, turnbell, home, project } = place()
    for (const [name, text] of Object.entries(THEIRS)) write(name, text)
    await turnbell('connect', client, '--persona', 'ada')
    happen(home, project)
    fs.mkdirSync(project, { recursive: true })
    const moved = path.join(home, 'moved')
    expect(await turnbell('connect', client, '--persona', 'ada', '--project', moved)).toMatchObject({
      exit: 0,
    })
    expect(await turnbell('disconnect', client, '--project', moved)).toMatchObject({ exit: 0, changed: true })
    expect(JSON.stringify(everything(moved))).not.toContain('turnbell')
    expect(JSON.stringify(everything(moved))).toContain('mine')
  })

  test('connect for a persona with another surface is refused and writes nothing', async () => {
    const { turnbell, home, project } = place()
    const config = `personas:
  tam: {surface: tmux, tmux: {pane: '%1'}}
  eve: {surface: ${client}, acp: {argv: [agent]}}
  fay: {surface: ${client}, headless: true}
`
    fs.writeFileSync(path.join(home, 'config.yaml'), config, { mode: 0o600 })
    for (const [persona, where] of [
      ['tam', 'at tmux'],
      ['eve', 'by the Agent Client Protocol'],
      ['fay', 'headless'],
    ] as const) {
      const refused = await turnbell('connect', client, '--persona', persona)
      expect(refused).toMatchObject({ exit: 64, detail: expect.stringContaining(where) as string })
    }
    expect(everything(project)).toEqual({})
  })

  test('connect updates the paths after turnbell was moved', async () => {
    const { turnbell, home, project } = place()
    await turnbell('connect', client, '--persona', 'ada')
    const moved = testCli({ home, overrides: { cwd: project, program: '/new/dist/turnbell.js' } })
    await moved.run('connect', client, '--persona', 'ada', '--json')
    expect(moved.json<Told>().changed).toBe(true)
    const written = JSON.stringify(everything(project))
    expect(written).toContain('/new/dist')
    expect(written).not.toContain('/opt/turnbell')
    await turnbell('disconnect', client)
    expect(everything(project)).toEqual({})
  })
})

test('a failed write leaves no temporary file', () => {
  const directory = temporaryDirectory()
  const file = path.join(directory, 'settings.json')
  fs.mkdirSync(file)
  expect(() => writeAll([{ file, before: null, after: 'a secret' }])).toThrow(
    expect.objectContaining({ code: 'config_invalid' }),
  )
  expect(fs.readdirSync(directory)).toEqual(['settings.json'])
})

test('disconnect in another directory names the connected project', async () => {
  const { cli, at, project, turnbell } = place()
  fs.mkdirSync(at('sub'))
  await turnbell('connect', 'codex', '--persona', 'ada')
  expect(await cli.run('disconnect', 'codex', '--project', at('sub'))).toBe(0)
  expect(cli.stdout()).toContain(`It acts for ada in ${project}.`)
})

describe('connect', () => {
  test('--trust-hooks is accepted only for Codex and is printed beforehand', async () => {
    const { turnbell, cli } = place()
    expect(await turnbell('connect', 'opencode', '--persona', 'ada', '--trust-hooks')).toMatchObject({
      exit: 64,
    })
    await cli.run('connect', 'codex', '--persona', 'ada', '--trust-hooks', '--print')
    expect(cli.stderr()).toContain('trust these hooks')
  })

  test('connect writes the home it was called with into the wiring of each client', async () => {
    const { turnbell, home, read } = place()
    for (const client of CLIENTS)
      expect(await turnbell('connect', client, '--persona', 'ada')).toMatchObject({ exit: 0 })
    const at_home = ['--home', home]
    const opencode = parse(read('opencode.json')) as { mcp: { turnbell: { command: string[] } } }
    expect(opencode.mcp.turnbell.command.slice(-2)).toEqual(at_home)
    const codex = parseToml(read('.codex/config.toml')) as unknown as {
      mcp_servers: { turnbell: { args: string[] } }
    }
    expect(codex.mcp_servers.turnbell.args.slice(-2)).toEqual(at_home)
    const claude = parse(read('.claude/settings.local.json')) as { env: Record<string, string> }
    expect(claude.env).toMatchObject({ TURNBELL_CONNECTED_HOME: home })
  })

  test('the hooks of Codex exit 0 and print nothing after turnbell was removed', async () => {
    const program = path.join(temporaryDirectory(), 'turnbell.cjs')
    fs.writeFileSync(program, '')
    const { turnbell, read } = place({ program, node: process.execPath })
    await turnbell('connect', 'codex', '--persona', 'ada')
    fs.rmSync(program)
    const { hooks } = JSON.parse(read('.codex/hooks.json')) as {
      hooks: Record<string, { hooks: { command: string }[] }[]>
    }
    const entries = Object.values(hooks).flatMap((matchers) => matchers.flatMap((matcher) => matcher.hooks))
    expect(entries).toHaveLength(5)
    for (const { command } of entries) {
      const ran = spawnSync('/bin/sh', ['-c', command], { input: '{"session_id":"t1"}', encoding: 'utf8' })
      expect(ran).toMatchObject({ status: 0, stdout: '', stderr: '' })
    }
  })

  test('connect refuses a project that is not a directory with its name', async () => {
    const { turnbell, write } = place()
    write('.claude', 'a file')
    const refused = await turnbell('connect', 'claude-code', '--persona', 'ada')
    expect(refused).toMatchObject({ exit: 78, code: 'config_invalid' })
    expect(refused.detail).toContain('.claude')
  })

  test('connect follows links and keeps them', async () => {
    const { turnbell, at, home, write } = place()
    const dotfiles = path.join(home, 'dotfiles')
    fs.mkdirSync(dotfiles)
    fs.writeFileSync(path.join(dotfiles, 'settings.json'), '{ "a": 1 }\n', { mode: 0o600 })
    write('.claude/x', '')
    fs.symlinkSync(path.join(dotfiles, 'settings.json'), at('.claude/settings.local.json'))
    fs.symlinkSync('AGENTS.md', at('CLAUDE.md'))
    await turnbell('connect', 'claude-code', '--persona', 'ada')
    const settings = fs.readFileSync(path.join(dotfiles, 'settings.json'), 'utf8')
    expect(parse(settings)).toMatchObject({ a: 1, enabledPlugins: { 'turnbell@turnbell': true } })
    expect(fs.statSync(path.join(dotfiles, 'settings.json')).mode & 0o777).toBe(0o600)
    expect(fs.lstatSync(at('.claude/settings.local.json')).isSymbolicLink()).toBe(true)
    expect(fs.readFileSync(at('AGENTS.md'), 'utf8')).toContain('Signals (turnbell)')
    await turnbell('disconnect', 'claude-code')
    expect(fs.readFileSync(path.join(dotfiles, 'settings.json'), 'utf8')).toBe('{ "a": 1 }\n')
    expect(fs.existsSync(at('AGENTS.md'))).toBe(false)
  })

  test('connect follows a link in a linked directory as the system does', async () => {
    const { turnbell, at, home, project } = place()
    const [dot, shared] = [path.join(home, 'dot/claude'), path.join(home, 'dot/shared')]
    for (const directory of [dot, shared]) fs.mkdirSync(directory, { recursive: true })
    fs.symlinkSync(dot, at('.claude'))
    fs.symlinkSync('../shared/settings.json', path.join(dot, 'settings.local.json'))
    await turnbell('connect', 'claude-code', '--persona', 'ada')
    expect(fs.readFileSync(path.join(shared, 'settings.json'), 'utf8')).toContain('turnbell')
    expect(fs.existsSync(path.join(project, 'shared'))).toBe(false)
  })

  test('disconnect removes only its own entries from a moved project with a file of the user', async () => {
    const { write, turnbell, home, project } = place()
    const theirs = { $schema: 'https://opencode.ai/config.json', theme: 'x' }
    write('opencode.json', JSON.stringify(theirs))
    await turnbell('connect', 'opencode', '--persona', 'ada')
    const moved = path.join(home, 'moved')
    fs.renameSync(project, moved)
    fs.mkdirSync(project)
    await turnbell('connect', 'opencode', '--persona', 'ada', '--project', moved)
    await turnbell('disconnect', 'opencode', '--project', moved)
    expect(parse(fs.readFileSync(path.join(moved, 'opencode.json'), 'utf8'))).toEqual(theirs)
  })

  test.each([
    ['.claude/settings.local.json', '{\n  "env": {\n}', 'claude-code', 'line 3, column 2'],
    [
      '.claude/settings.local.json',
      '{\n  // mine\n}',
      'claude-code',
      'line 2, column 3: a comment; Claude Code',
    ],
    [
      '.claude/settings.local.json',
      '{\n  "env": {},\n}',
      'claude-code',
      'line 3, column 1: a trailing comma',
    ],
    ['.codex/hooks.json', '{} /* mine */', 'codex', 'line 1, column 4: a comment; Codex'],
    ['.codex/config.toml', 'a = 1\n[b\n', 'codex', 'line 2, column 3'],
    ['opencode.json', '{"a" 1}', 'opencode', 'line 1, column 6'],
  ])('connect refuses an invalid %s with its line and changes nothing', async (name, text, client, where) => {
    const { turnbell, write, home } = place()
    write(name, text)
    const before = everything(path.join(home, 'project'))
    const refused = await turnbell('connect', client, '--persona', 'ada')
    expect(refused.exit).toBe(78)
    expect(refused.detail).toContain(`${name}, ${where}`)
    expect(everything(path.join(home, 'project'))).toEqual(before)
  })

  test.each([
    ['.claude/settings.local.json', '{"enabledPlugins":{"turnbell@turnbell":false}}', 'claude-code'],
    ['.claude/agents/turnbell-aware.md', 'my own agent\n', 'claude-code'],
    ['.codex/config.toml', '[mcp_servers.turnbell]\nurl = "http://mine"\n', 'codex'],
    ['opencode.json', '{"mcp":{"turnbell":{"type":"remote","url":"http://mine"}}}', 'opencode'],
  ])('connect refuses to overwrite an entry of the user in %s', async (name, text, client) => {
    const { turnbell, write, project, read } = place()
    write(name, text)
    const before = everything(project)
    const refused = await turnbell('connect', client, '--persona', 'ada')
    expect(refused).toMatchObject({ type: 'urn:turnbell:error:connection_taken' })
    expect(refused.detail).toContain(name)
    expect(read(name)).toBe(text)
    expect(everything(project)).toEqual(before)
  })

  test.each([
    ['itself', { 'CLAUDE.md': 'CLAUDE.md' }],
    ['one that leads back to it', { 'CLAUDE.md': 'AGENTS.md', 'AGENTS.md': 'CLAUDE.md' }],
  ])('connect refuses a link to %s with its name', async (_, links) => {
    const { turnbell, at, project } = place()
    for (const [link, target] of Object.entries(links)) fs.symlinkSync(target, at(link))
    const before = everything(project)
    const refused = await turnbell('connect', 'claude-code', '--persona', 'ada')
    expect(refused).toMatchObject({ exit: 78, code: 'config_invalid' })
    expect(refused.detail).toContain(`${at('CLAUDE.md')} cannot be reached: ELOOP`)
    expect(everything(project)).toEqual(before)
  })

  test('connect refuses a file that is not UTF-8', async () => {
    const { turnbell, at } = place()
    fs.writeFileSync(at('CLAUDE.md'), Buffer.from([0x23, 0xff, 0xfe]))
    const refused = await turnbell('connect', 'claude-code', '--persona', 'ada')
    expect(refused).toMatchObject({ exit: 78, code: 'config_invalid' })
    expect(refused.detail).toContain(at('CLAUDE.md'))
    expect(fs.existsSync(at('.claude'))).toBe(false)
  })

  test('connect refuses --project without a directory', async () => {
    const { turnbell } = place()
    expect(await turnbell('connect', 'codex', '--persona', 'ada', '--project', 'nowhere')).toMatchObject({
      type: 'urn:turnbell:error:usage_invalid',
    })
  })

  test('connect prints the commands that start the daemon', async () => {
    const { cli } = place()
    await cli.run('connect', 'claude-code', '--persona', 'ada')
    expect(cli.stdout()).toContain('turnbell persona add ada --surface claude-code')
    expect(cli.stdout()).toContain('turnbell up')
  })

  test('two concurrent connects run one after the other', async () => {
    const { home, project, records } = place()
    const both = CLIENTS.slice(1).map((client) => {
      const cli = testCli({ home, overrides: { cwd: project } })
      return cli.run('connect', client, '--persona', 'ada')
    })
    expect(await Promise.all(both)).toEqual([0, 0])
    expect(records()).toHaveLength(2)
  })
})

describe('disconnect', () => {
  test('disconnect keeps the lines that the user wrote around the entries', async () => {
    const { turnbell, write, read, at } = place()
    for (const [name, text] of Object.entries(THEIRS)) write(name, text)
    for (const client of CLIENTS) await turnbell('connect', client, '--persona', 'ada')
    const edit = (name: string, change: (text: string) => string) =>
      fs.writeFileSync(at(name), change(read(name)))
    edit('.claude/settings.local.json', (text) => text.replace('"env": {', '"env": {\n    "EDITOR": "vi",'))
    edit('CLAUDE.md', (text) => `${text}\r\nAnd brief.\r\n`)
    edit('.codex/config.toml', (text) => text.replace('"x"', '"y"'))
    edit('.codex/hooks.json', (text) => text.replace('say done', 'say so'))
    edit('opencode.jsonc', (text) => text.replace('"mine"', '"mine", "new"'))
    for (const client of CLIENTS) await turnbell('disconnect', client)
    expect(parse(read('.claude/settings.local.json'))).toEqual({
      permissions: { allow: ['Bash(ls:*)'] },
      env: { EDITOR: 'vi' },
    })
    expect(read('CLAUDE.md')).toBe(`${THEIRS['CLAUDE.md']}\r\n\r\nAnd brief.\r\n`)
    expect(read('.codex/config.toml')).toBe(THEIRS['.codex/config.toml']?.replace('"x"', '"y"'))
    expect(read('.codex/hooks.json')).toBe(THEIRS['.codex/hooks.json']?.replace('done', 'so'))
    expect(parse(read('opencode.jsonc'))).toEqual({ permission: { '*': 'ask' }, plugin: ['mine', 'new'] })
    expect(read('opencode.jsonc')).toContain('// careful')
    expect(read('AGENTS.md')).toBe(THEIRS['AGENTS.md'])
    expect(fs.readdirSync(at('.claude'))).toEqual(['settings.local.json'])
  })

  test('disconnect removes its entries from settings with a comment added later', async () => {
    const { turnbell, write, read, at } = place()
    await turnbell('connect', 'claude-code', '--persona', 'ada')
    write('.claude/settings.local.json', read('.claude/settings.local.json').replace('{', '{ // mine'))
    expect(await turnbell('connect', 'claude-code', '--persona', 'ada')).toMatchObject({ exit: 78 })
    expect(await turnbell('disconnect', 'claude-code')).toMatchObject({ exit: 0, changed: true })
    expect(fs.readFileSync(at('.claude/settings.local.json'), 'utf8')).not.toContain('turnbell')
  })

  const EDITS: [string, string, (text: string) => string][] = [
    ['codex', '.codex/hooks.json', (text) => text.replaceAll(/"timeout": \d+/g, '"timeout": 60')],
    ['opencode', 'opencode.json', (text) => text.replace(/"persona": "ada",?/, '$& "verbose": true,')],
    ['opencode', 'opencode.json', (text) => text.replace(/\[\s*("file:[^"]*"),[^\]]*\]/, '$1')],
  ]
  test.each(EDITS)('disconnect removes an entry that the user changed: %s, %s', async (...args) => {
    const [client, name, change] = args
    const { turnbell, write, read, at, project } = place()
    await turnbell('connect', client, '--persona', 'ada')
    const edited = change(read(name))
    expect(edited).not.toBe(read(name))
    write(name, edited)
    expect(await turnbell('disconnect', client)).toMatchObject({ exit: 0, changed: true })
    expect(fs.existsSync(at(name)) ? read(name) : '').not.toContain('turnbell')
    expect(everything(project)).toEqual({})
  })

  test.each(EDITS)(
    'connect leaves no entry of an earlier turnbell next to the new one: %s, %s',
    async (...args) => {
      const [client, name, change] = args
      const { turnbell, write, read, home, project } = place()
      await turnbell('connect', client, '--persona', 'ada')
      write(name, change(read(name)))
      const moved = testCli({ home, overrides: { cwd: project, program: '/new/dist/turnbell.js' } })
      expect(await moved.run('connect', client, '--persona', 'ada')).toBe(0)
      expect(read(name)).toContain('/new/dist')
      expect(read(name)).not.toContain('/opt/turnbell')
    },
  )

  test('disconnect keeps a hook that the user added next to its own', async () => {
    const { turnbell, write, read } = place()
    await turnbell('connect', 'codex', '--persona', 'ada')
    const mine = { type: 'command', command: 'say done' }
    const { hooks } = JSON.parse(read('.codex/hooks.json')) as {
      hooks: Record<string, { hooks: object[] }[]>
    }
    hooks['Stop']?.[0]?.hooks.unshift(mine)
    write('.codex/hooks.json', JSON.stringify({ hooks }, null, 2))
    await turnbell('disconnect', 'codex')
    expect(JSON.parse(read('.codex/hooks.json'))).toEqual({ hooks: { Stop: [{ hooks: [mine] }] } })
  })

  test('disconnect keeps a file of its own that the user edited and reports that', async () => {
    const { cli, at } = place()
    await cli.run('connect', 'claude-code', '--persona', 'ada')
    const agent = at('.claude/agents/turnbell-aware.md')
    fs.appendFileSync(agent, 'And mine.\n')
    await cli.run('disconnect', 'claude-code')
    expect(fs.readFileSync(agent, 'utf8')).toContain('And mine.')
    expect(cli.stdout()).toContain(`${agent} was edited after it was written`)
    expect(everything(at())).toMatchObject({
      '.claude/agents/turnbell-aware.md': expect.anything() as unknown,
    })
    expect(fs.existsSync(at('CLAUDE.md'))).toBe(false)
  })

  test.each([
    ['codex', 'opencode', '# Agents\n'],
    ['codex', 'opencode', '# Agents'],
    ['codex', 'opencode', null],
    ['opencode', 'codex', '# Agents\n'],
    ['opencode', 'codex', '# Agents'],
    ['opencode', 'codex', null],
  ])('disconnect keeps lines that another client still reads: %s, %s, %j', async (goes, stays, before) => {
    const { turnbell, read, write, at } = place()
    if (before !== null) write('AGENTS.md', before)
    await turnbell('connect', 'codex', '--persona', 'ada')
    expect((await turnbell('connect', 'opencode', '--persona', 'bob')).files).toContainEqual({
      file: at('AGENTS.md'),
      change: 'unchanged',
    })
    await turnbell('disconnect', goes)
    expect(read('AGENTS.md')).toContain('Signals (turnbell)')
    await turnbell('disconnect', stays)
    expect(fs.existsSync(at('AGENTS.md')) ? read('AGENTS.md') : null).toBe(before)
  })

  test('disconnect ignores files that were deleted', async () => {
    const { turnbell, project } = place()
    await turnbell('connect', 'claude-code', '--persona', 'ada')
    fs.rmSync(path.join(project, '.claude'), { recursive: true })
    expect(await turnbell('disconnect', 'claude-code')).toMatchObject({ exit: 0 })
    expect(everything(project)).toEqual({})
  })

  test('disconnect without a connection changes nothing and reports that', async () => {
    const { turnbell, project } = place()
    expect(await turnbell('disconnect', 'codex')).toMatchObject({ exit: 0, changed: false, files: [] })
    expect(everything(project)).toEqual({})
  })

  test('disconnect for another persona than the connected one is refused', async () => {
    const { turnbell } = place()
    await turnbell('connect', 'codex', '--persona', 'ada')
    expect(await turnbell('disconnect', 'codex', '--persona', 'bob')).toMatchObject({ exit: 2 })
  })

  test('disconnect with an unreadable record names it and changes nothing', async () => {
    const { turnbell, home, records, project } = place()
    await turnbell('connect', 'codex', '--persona', 'ada')
    const before = everything(project)
    const [name = ''] = records()
    fs.writeFileSync(path.join(home, 'connections', name), '{"version":1}')
    const refused = await turnbell('disconnect', 'codex')
    expect(refused.exit).toBe(78)
    expect(refused.detail).toContain(name)
    expect(everything(project)).toEqual(before)
  })
})

test('a link at the path of the temporary file is not followed', () => {
  const directory = temporaryDirectory()
  const victim = path.join(directory, 'victim')
  fs.writeFileSync(victim, 'a person')
  fs.symlinkSync(victim, path.join(directory, `.CLAUDE.md.${process.pid}`))
  writeAll([{ file: path.join(directory, 'CLAUDE.md'), before: null, after: 'words' }])
  expect(fs.readFileSync(victim, 'utf8')).toBe('a person')
})

test('the files before a failed write are restored', () => {
  const directory = temporaryDirectory()
  const at = (name: string) => path.join(directory, name)
  fs.writeFileSync(at('one'), 'before')
  fs.writeFileSync(at('blocker'), 'a file, not a directory')
  expect(() =>
    writeAll([
      { file: at('one'), before: 'before', after: 'after' },
      { file: at('new'), before: null, after: 'made' },
      { file: at('blocker/two'), before: null, after: 'after' },
    ]),
  ).toThrow(/config_invalid: .*blocker\/two cannot be written/)
  expect(fs.readFileSync(at('one'), 'utf8')).toBe('before')
  expect(fs.readdirSync(directory).sort()).toEqual(['blocker', 'one'])
})

test('directories that were created before a failed write are removed', () => {
  const directory = temporaryDirectory()
  const at = (name: string) => path.join(directory, name)
  fs.mkdirSync(at('theirs/empty'), { recursive: true })
  // The file name is too long, which is detected only after its directory is created.
  const too_long = `made/${'x'.repeat(300)}`
  expect(() =>
    writeAll([
      { file: at('new/deep/one'), before: null, after: 'made' },
      { file: at('theirs/empty/two'), before: null, after: 'made' },
      { file: at(too_long), before: null, after: 'after' },
    ]),
  ).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  expect(everything(directory)).toEqual({ theirs: 'directory', 'theirs/empty': 'directory' })
})
