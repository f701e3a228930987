import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { changeConfigFile, deleteInYaml, setInYaml } from '../../../src/system/config-file.ts'

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

const without = (text: string, ...gone: string[]) =>
  text
    .split('\n')
    .filter((line) => !gone.includes(line))
    .join('\n')

describe('a key set in a file that a person wrote', () => {
  test('adds its lines and leaves every other byte alone', () => {
    const changed = setInYaml(WRITTEN_BY_A_PERSON, ['personas', 'cleo'], { surface: 'mcp' })
    expect(without(changed, '  cleo:', '    surface: mcp')).toBe(WRITTEN_BY_A_PERSON)
    expect(parse(changed).personas.cleo).toEqual({ surface: 'mcp' })
  })

  test('stands with the other personas, below the last one', () => {
    const changed = setInYaml(WRITTEN_BY_A_PERSON, ['personas', 'cleo'], { surface: 'mcp' })
    const lines = changed.split('\n')
    expect(lines[lines.indexOf('  cleo:') - 1]).toBe('        - "--once"')
  })

  test('leaves a comment with the persona it is indented under', () => {
    const text = 'personas:\n  a:\n    surface: mcp\n    # about a\n\n# bottom\n'
    expect(setInYaml(text, ['personas', 'b'], { surface: 'mcp' })).toBe(
      'personas:\n  a:\n    surface: mcp\n    # about a\n  b:\n    surface: mcp\n\n# bottom\n',
    )
  })

  test('changes nothing when it says so already, in whatever notation', () => {
    expect(setInYaml(WRITTEN_BY_A_PERSON, ['personas', 'bob'], { surface: 'mcp' })).toBe(WRITTEN_BY_A_PERSON)
  })

  test('changes only the word when a word changes', () => {
    const changed = setInYaml(WRITTEN_BY_A_PERSON, ['personas', 'ada', 'surface'], 'codex')
    expect(changed).toBe(
      WRITTEN_BY_A_PERSON.replace('claude-code     # in the left window', 'codex     # in the left window'),
    )
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
  ])('works in %s', (_, text) => {
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

  test('refuses a file with something else on the way, instead of replacing it', () => {
    for (const text of ['personas: ""\n', '{{},{},"personas":""}', 'personas: [*a]\n'])
      expect(() => setInYaml(text, ['personas', 'ada', 'surface'], 'mcp'), text).toThrow(/^config_invalid/)
  })

  test('refuses a file that cannot be read, instead of replacing it', () => {
    expect(() => setInYaml('a: [1\n', ['personas', 'zoe'], { surface: 'mcp' })).toThrow(/config_invalid/)
  })
})

describe('a key taken out', () => {
  test('goes with its lines; every other byte stays', () => {
    const changed = deleteInYaml(WRITTEN_BY_A_PERSON, ['personas', 'nightly'])
    const gone = [
      '  nightly:',
      '    surface: command',
      '    command:',
      '      argv:',
      '        - /usr/local/bin/nightly   # absolute!',
      '        - "--once"',
    ]
    expect(changed).toBe(without(WRITTEN_BY_A_PERSON, ...gone))
  })

  test('leaves valid settings behind when it was the last one', () => {
    const changed = deleteInYaml('personas: # all\n  a:\n    surface: mcp\nlog:\n  level: info\n', [
      'personas',
      'a',
    ])
    expect(changed).toBe('personas: {} # all\nlog:\n  level: info\n')
  })

  test('changes nothing when it is not there', () => {
    expect(deleteInYaml(WRITTEN_BY_A_PERSON, ['personas', 'nobody'])).toBe(WRITTEN_BY_A_PERSON)
    expect(deleteInYaml('', ['personas', 'nobody'])).toBe('')
  })

  test('undoes exactly what setting it did', () => {
    const Name = fc.stringMatching(/^[a-z0-9][a-z0-9._-]{0,10}$/)
    fc.assert(
      fc.property(Name, fc.array(fc.string({ minLength: 1 }), { minLength: 1 }), (name, argv) => {
        fc.pre(!['ada', 'bob', 'nightly'].includes(name))
        const set = setInYaml(WRITTEN_BY_A_PERSON, ['personas', name], {
          surface: 'command',
          command: { argv },
        })
        expect(parse(set).personas[name]?.command?.argv).toEqual(argv)
        expect(deleteInYaml(set, ['personas', name])).toBe(WRITTEN_BY_A_PERSON)
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

  test('is made for its owner only where there was none', async () => {
    const file = path.join(directory(), 'config.yaml')
    expect(await changeConfigFile(file, () => 'log: {}\n')).toBe(true)
    expect(fs.readFileSync(file, 'utf8')).toBe('log: {}\n')
    expect(fs.statSync(file).mode & 0o777).toBe(0o600)
  })

  test('keeps its mode, and stays a link where it was one', async () => {
    const home = directory()
    const real = path.join(home, 'dotfiles.yaml')
    const link = path.join(home, 'config.yaml')
    fs.writeFileSync(real, '# mine\n', { mode: 0o644 })
    fs.symlinkSync(real, link)
    await changeConfigFile(link, (text) => setInYaml(text, ['log', 'level'], 'warn'))
    expect(fs.lstatSync(link).isSymbolicLink()).toBe(true)
    expect(fs.readFileSync(real, 'utf8')).toBe('# mine\nlog:\n  level: warn\n')
    expect(fs.statSync(real).mode & 0o777).toBe(0o644)
  })

  test('loses no change when many are made at once, and leaves nothing beside it', async () => {
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

  test('is not touched by a change that changes nothing', async () => {
    const file = path.join(directory(), 'config.yaml')
    expect(await changeConfigFile(file, (text) => text)).toBe(false)
    expect(fs.existsSync(file)).toBe(false)
  })
})
