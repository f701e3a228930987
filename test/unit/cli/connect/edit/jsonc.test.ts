import { parse } from 'jsonc-parser'
import { describe, expect, test } from 'vitest'
import { putEntries, takeEntries, type Entry } from '../../../../../src/cli/connect/edit/jsonc.ts'
import { unspliced } from '../../../../../src/cli/connect/edit/text-edits.ts'

const FILE = '/p/settings.json'
const ENTRIES: Entry[] = [
  { at: ['env', 'WHO'], value: 'ada' },
  { at: ['permissions', 'allow'], value: 'mcp__turnbell', in_list: true },
  { at: ['plugins', 'turnbell@turnbell'], value: true },
]
const put = (text: string, entries = ENTRIES) => putEntries(FILE, text, entries)
const problem = (work: () => unknown): string => {
  try {
    work()
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('nothing was refused')
}

const REALISTIC = `{
  // Who may do what. Keep sorted!
  "permissions": {
    "allow": [
      "Bash(git status)", // harmless
      "Read(~/notes/**)"
    ],
    "deny": ["Read(.env)"] /* secrets */
  },
  "hooks": {
    "Stop": [{ "hooks": [{ "type": "command", "command": "say done" }] }] // a foreign hook
  },
  "env": { "EDITOR": "vi" } // the one and only
  // the end
}
`

describe('entries inserted into a JSON file', () => {
  test('inserted entries keep every other entry and comment on its line', () => {
    const { text } = put(REALISTIC)
    expect(parse(text)).toEqual({
      permissions: {
        allow: ['Bash(git status)', 'Read(~/notes/**)', 'mcp__turnbell'],
        deny: ['Read(.env)'],
      },
      hooks: { Stop: [{ hooks: [{ type: 'command', command: 'say done' }] }] },
      env: { EDITOR: 'vi', WHO: 'ada' },
      plugins: { 'turnbell@turnbell': true },
    })
    for (const kept of [
      '      "Bash(git status)", // harmless\n',
      '    "deny": ["Read(.env)"] /* secrets */\n',
      'say done" }] }] // a foreign hook\n',
      '// the one and only\n',
      '  // the end\n',
    ])
      expect(text).toContain(kept)
  })

  test.each([
    ['no final newline', '{"a":1}'],
    ['CRLF and tabs', '{\r\n\t"a": [],\r\n\t"env": {\r\n\t}\r\n}\r\n'],
    ['a mark in front', '\uFEFF{\n  "a": 1\n}\n'],
    ['trailing commas', '{\n  "env": {"A": "1",},\n  "permissions": {"allow": ["x",],},\n}\n'],
    ['an empty map', '{}'],
    ['an empty map of comments', '{\n  // nothing yet\n}\n'],
    ['a map on one line with a comment', '{ "a": 1 /* one */ }\n'],
    ['brackets at the end of a line', '{\n  "a": 1 }'],
    ['nothing', ''],
    ['blanks', '\n\n'],
    ['deep nesting', `${'{"a":'.repeat(60)}1${'}'.repeat(60)}`],
    ['a realistic file', REALISTIC],
  ])('inserted entries are removed byte for byte from a file with %s', (_, text) => {
    const done = put(text)
    expect(done.own).toEqual(ENTRIES)
    const value = parse(done.text.replace('\uFEFF', '')) as { env: object }
    expect(value.env).toMatchObject({ WHO: 'ada' })
    expect(unspliced(done.text, done.splices)).toBe(text)
  })

  test('inserted entries use the indentation and line endings of the file', () => {
    const { text } = put('{\r\n\t"a": 1\r\n}\r\n', [{ at: ['env', 'WHO'], value: 'ada' }])
    expect(text).toBe('{\r\n\t"a": 1,\r\n\t"env": {\r\n\t\t"WHO": "ada"\r\n\t}\r\n}\r\n')
  })

  test('existing entries are not recorded as inserted', () => {
    const text = '{ "env": { "WHO": "ada" } }'
    const done = put(text, ENTRIES.slice(0, 1))
    expect(done).toMatchObject({ text, own: [], made: [], splices: [] })
  })

  test('an entry replaces a shorthand string by its map', () => {
    const entry: Entry = { at: ['permission', 'signals'], value: 'allow', short: '*' }
    const done = put('{ "permission": "ask" }', [entry])
    expect(parse(done.text)).toEqual({ permission: { '*': 'ask', signals: 'allow' } })
    expect(unspliced(done.text, done.splices)).toBe('{ "permission": "ask" }')
  })
})

describe('entries are refused', () => {
  test('an entry is refused over another value of the same name with its position', () => {
    const message = problem(() => put('{\n  "env": {\n    "WHO": "bob"\n  }\n}\n'))
    expect(message).toMatch(/^connection_taken: \/p\/settings\.json, line 3, column 12: env\.WHO exists/)
  })
  test('a refused entry is reported with its position in the original file', () => {
    const text = '{\n  "env": {},\n  "plugins": {\n    "turnbell@turnbell": false\n  }\n}\n'
    expect(problem(() => put(text))).toContain('line 4, column 26: plugins.turnbell@turnbell exists already')
    expect(problem(() => put(text.replace(/\{\s+"turn.*?\}/s, '3')))).toContain(
      'line 3, column 14: expected an object at plugins',
    )
  })
  test('an entry is refused if a plain value is in the place of its map', () => {
    expect(problem(() => put('{ "env": 3 }'))).toMatch(
      /^config_invalid: .*expected an object at env, found number/,
    )
  })
  test.each([
    ['a missing comma', '{\n  "a": 1\n  "b": 2\n}', 'line 3, column 3'],
    ['an end that comes too soon', '{\n  "a": {', 'line 2, column 9'],
    ['words that are not JSON', '{\n  a: 1\n}', 'line 2, column 3'],
    ['a list', '[]', 'line 1, column 1: expected an object, found array'],
    ['only a comment', '// later\n', 'line 2, column 1'],
    ['lists without end', `{"a":\n${'['.repeat(9_000)}${']'.repeat(9_000)}}`, 'line 2, column 64: nested'],
  ])('an entry is refused in a file with %s with line and column', (_, text, place) => {
    expect(problem(() => put(text))).toMatch(new RegExp(`^config_invalid: /p/settings.json, ${place}`))
  })
  test.each([
    ['first', '{ "env": {}, "env": { "A": {} } }', 'line 1, column 14'],
    ['further', '{ "env": {\n  "A": {},\n  "A": { "B": 1 }\n} }', 'line 3, column 3'],
  ])('an entry is refused if the %s key of its path is a duplicate', (_, text, place) => {
    const message = problem(() => put(text, [{ at: ['env', 'A', 'WHO'], value: 'ada' }]))
    expect(message).toMatch(new RegExp(`^config_invalid: .*, ${place}: env\\.A\\.WHO cannot be set`))
  })
})

describe('entries removed after the user edited the file', () => {
  const takeAfter = (text: string, edit: (text: string) => string) => {
    const done = put(text)
    return takeEntries(FILE, edit(done.text), done)
  }

  test('removing entries keeps the edits and comments of the user', () => {
    const rest = takeAfter(REALISTIC, (text) =>
      text
        .replace('"EDITOR": "vi"', '"EDITOR": "emacs"')
        .replace('"plugins": {', '"plugins": {\n    // mine too\n    "mine@home": true,'),
    )
    expect(rest).toBe(
      REALISTIC.replace('"vi"', '"emacs"')
        .replace('// the one and only\n  // the end', '// the one and only\n  // the end')
        .replace('} // the one and only', '}, // the one and only')
        .replace(
          '  // the end\n',
          '  // the end\n  "plugins": {\n    // mine too\n    "mine@home": true\n  }\n',
        ),
    )
  })

  test('entries are removed also after the user changed them', () => {
    const rest = takeAfter('{\n  "a": 1\n}\n', (text) => text.replace('"ada"', '"eve"'))
    expect(rest).toBe('{\n  "a": 1\n}\n')
  })

  test('entries that the user removed are not missed', () => {
    const done = put('{\n  "a": 1\n}\n')
    expect(takeEntries(FILE, '{\n  "b": [2]\n}\n', done)).toBe('{\n  "b": [2]\n}\n')
  })

  test('entries are removed from a single line', () => {
    const rest = takeAfter('{"permissions":{"allow":["x"]}}', (text) => text.replace('"x"', '"x", "y"'))
    expect(rest).toBe('{"permissions":{"allow":["x", "y"]}}')
  })

  test('entries are removed from the beginning of a line', () => {
    const done = put('{"a":1}', [{ at: ['b'], value: 2 }])
    expect(takeEntries(FILE, '{"b": 2, "a":1}', done)).toBe('{"a":1}')
  })

  test('removing entries from an invalid file is refused with line and column', () => {
    const done = put('{\n  "a": 1\n}\n')
    expect(problem(() => takeEntries(FILE, done.text.replace('1,', '1'), done))).toMatch(/line 3, column 3/)
  })
})
