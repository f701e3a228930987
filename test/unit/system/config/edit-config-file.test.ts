import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { changeConfigFile, deleteInYaml, setInYaml } from '../../../../src/system/config/edit-config-file.ts'

const WRITTEN_BY_A_PERSON = `# Our team's turnbell.
#
#   Do not touch the port: the proxy knows it.

hub:
  port:   4890   # ours


personas:   # who works here
  # ada reviews
  ada:
    surface: claude-code     # in the left window

    # she likes it quiet
  'bob': {surface: "mcp"}

  # the nightly one
  nightly:
    surface: command
    command:
      argv:
        - /usr/local/bin/nightly   # absolute!
        - "--once"
  # after nightly

# and the rest
log: { level: debug }   # too much?
# the end`

interface Written {
  personas: Record<string, { surface: string; command?: { argv: string[] } }>
}
const parse = (text: string) => parseYaml(text) as Written

/** All comments, in their order. */
const comments = (text: string) => text.match(/#.*/g) ?? []

describe('a key set in a file that a person wrote', () => {
  test('setting a key keeps all comments, quotes and the order of the other keys', () => {
    const changed = setInYaml(WRITTEN_BY_A_PERSON, ['personas', 'cleo'], { surface: 'mcp' })
    expect(comments(changed)).toEqual(comments(WRITTEN_BY_A_PERSON))
    expect(changed).toContain(`'bob': { surface: "mcp" }`)
    const before = parse(WRITTEN_BY_A_PERSON)
    const personas = { ...before.personas, cleo: { surface: 'mcp' } }
    expect(JSON.stringify(parse(changed))).toBe(JSON.stringify({ ...before, personas }))
  })

  test('a new persona is added below the last one', () => {
    const changed = setInYaml(WRITTEN_BY_A_PERSON, ['personas', 'cleo'], { surface: 'mcp' })
    const lines = changed.split('\n')
    expect(lines[lines.indexOf('  cleo:') - 1]).toBe('        - "--once"')
  })

  test('a comment stays with the persona that it is indented under', () => {
    const text = 'personas:\n  a:\n    surface: mcp\n    # about a\n'
    expect(setInYaml(text, ['personas', 'b'], { surface: 'mcp' })).toBe(
      'personas:\n  a:\n    surface: mcp\n    # about a\n  b:\n    surface: mcp\n',
    )
  })

  test('setting an equal value changes nothing, in whatever notation', () => {
    expect(setInYaml(WRITTEN_BY_A_PERSON, ['personas', 'bob'], { surface: 'mcp' })).toBe(WRITTEN_BY_A_PERSON)
  })

  test('setting a word keeps its comment and changes no other value', () => {
    const changed = setInYaml(WRITTEN_BY_A_PERSON, ['personas', 'ada', 'surface'], 'codex')
    expect(changed).toContain('surface: codex # in the left window\n')
    expect(comments(changed)).toEqual(comments(WRITTEN_BY_A_PERSON))
    const before = parse(WRITTEN_BY_A_PERSON)
    before.personas['ada'] = { surface: 'codex' }
    expect(JSON.stringify(parse(changed))).toBe(JSON.stringify(before))
  })

  test.each([
    ['an empty file', ''],
    ['a file with only a comment', '# nothing yet\n'],
    ['a comment without a line end', '# nothing yet'],
    ['no personas', 'log:\n  level: info\n'],
    ['no personas and no line end', 'log:\n  level: info'],
    ['personas without a value', 'personas:\nlog:\n  level: info\n'],
    ['personas without a value at the end', 'log:\n  level: info\npersonas:'],
    ['personas that are explicitly none', 'personas: {}   # soon\nlog:\n  level: info\n'],
    ['personas with a comment only', 'personas:\n  # soon\nlog:\n  level: info\n'],
    ['personas in braces', 'personas: { ada: { surface: mcp } } # one\n'],
    ['a file in braces', '{ log: { level: info } } # all\n'],
    ['other indentation', 'personas:\n      ada:\n            surface: mcp\n'],
    ['lines that end in the Windows way', '# hi\r\npersonas:\r\n  ada:\r\n    surface: mcp\r\n'],
  ])('a key is set in %s', (_, text) => {
    const changed = setInYaml(text, ['personas', 'zoe'], {
      surface: 'command',
      command: { argv: ['echo', 'a: b', '#no comment', ''] },
    })
    const before = ((parseYaml(text) as unknown) ?? {}) as Record<string, object>
    expect(parse(changed)).toEqual({
      ...before,
      personas: {
        ...before['personas'],
        zoe: { surface: 'command', command: { argv: ['echo', 'a: b', '#no comment', ''] } },
      },
    })
    for (const comment of text.match(/#[^\r\n]*/g) ?? []) expect(changed).toContain(comment)
    if (text.includes('\r\n')) expect(changed).not.toMatch(/[^\r]\n/)
  })

  test('a file with a different value on the path is rejected, not replaced', () => {
    for (const text of ['personas: ""\n', '{{},{},"personas":""}', 'personas: [*a]\n'])
      expect(() => setInYaml(text, ['personas', 'ada', 'surface'], 'mcp'), text).toThrow(/^config_invalid/)
  })

  test('a file that cannot be parsed is rejected, not replaced', () => {
    expect(() => setInYaml('a: [1\n', ['personas', 'zoe'], { surface: 'mcp' })).toThrow(/config_invalid/)
  })
})

describe('a key taken out', () => {
  test('removing a key keeps the comments and the order of the other keys', () => {
    const changed = deleteInYaml(WRITTEN_BY_A_PERSON, ['personas', 'nightly'])
    const inside = '# absolute!'
    expect(comments(changed)).toEqual(comments(WRITTEN_BY_A_PERSON).filter((comment) => comment !== inside))
    const before = parse(WRITTEN_BY_A_PERSON)
    delete before.personas['nightly']
    expect(JSON.stringify(parse(changed))).toBe(JSON.stringify(before))
  })

  test('removing the last key leaves a valid file', () => {
    const changed = deleteInYaml('personas: # all\n  a:\n    surface: mcp\nlog:\n  level: info\n', [
      'personas',
      'a',
    ])
    expect(parse(changed)).toEqual({ personas: {}, log: { level: 'info' } })
    expect(comments(changed)).toEqual(['# all'])
  })

  test('removing a missing key changes nothing', () => {
    expect(deleteInYaml(WRITTEN_BY_A_PERSON, ['personas', 'nobody'])).toBe(WRITTEN_BY_A_PERSON)
    expect(deleteInYaml('', ['personas', 'nobody'])).toBe('')
  })

  test('removing a key that was set leaves the same values and comments', () => {
    const Name = fc.stringMatching(/^[a-z0-9][a-z0-9._-]{0,10}$/)
    fc.assert(
      fc.property(Name, fc.array(fc.string({ minLength: 1 }), { minLength: 1 }), (name, argv) => {
        fc.pre(!['ada', 'bob', 'nightly'].includes(name))
        const set = setInYaml(WRITTEN_BY_A_PERSON, ['personas', name], {
          surface: 'command',
          command: { argv },
        })
        expect(parse(set).personas[name]?.command?.argv).toEqual(argv)
        const removed = deleteInYaml(set, ['personas', name])
        expect(JSON.stringify(parse(removed))).toBe(JSON.stringify(parse(WRITTEN_BY_A_PERSON)))
        expect(comments(removed)).toEqual(comments(WRITTEN_BY_A_PERSON))
      }),
    )
  })
})

describe('the file', () => {
  const directory = () => {
    const made = fs.mkdtempSync(path.join(os.tmpdir(), 'tb-config-'))
    onTestFinished(() => fs.rmSync(made, { recursive: true }))
    return made
  }

  test('a missing file is created for its owner only', async () => {
    const file = path.join(directory(), 'config.yaml')
    expect(await changeConfigFile(file, () => 'log: {}\n')).toBe(true)
    expect(fs.readFileSync(file, 'utf8')).toBe('log: {}\n')
    expect(fs.statSync(file).mode & 0o777).toBe(0o600)
  })

  test('an existing file keeps its mode, and a link stays a link', async () => {
    const home = directory()
    const real = path.join(home, 'dotfiles.yaml')
    const link = path.join(home, 'config.yaml')
    fs.writeFileSync(real, '# mine\n', { mode: 0o644 })
    fs.symlinkSync(real, link)
    await changeConfigFile(link, (text) => setInYaml(text, ['log', 'level'], 'warn'))
    expect(fs.lstatSync(link).isSymbolicLink()).toBe(true)
    expect(fs.readFileSync(real, 'utf8')).toBe('# mine\n\nlog:\n  level: warn\n')
    expect(fs.statSync(real).mode & 0o777).toBe(0o644)
  })

  test('no change is lost when many are made at once, and no temporary file remains', async () => {
    const home = directory()
    const file = path.join(home, 'config.yaml')
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    await Promise.all(
      names.map((name) =>
        changeConfigFile(file, (text) => setInYaml(text, ['personas', name], { surface: 'mcp' })),
      ),
    )
    expect(Object.keys(parse(fs.readFileSync(file, 'utf8')).personas).sort()).toEqual(names)
    expect(fs.readdirSync(home)).toEqual(['config.yaml'])
  })

  test('a change without effect does not touch the file', async () => {
    const file = path.join(directory(), 'config.yaml')
    expect(await changeConfigFile(file, (text) => text)).toBe(false)
    expect(fs.existsSync(file)).toBe(false)
  })
})
