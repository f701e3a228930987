import { parse } from 'smol-toml'
import { describe, expect, test } from 'vitest'
import {
  blockIn,
  MARKDOWN_MARKS,
  putBlock,
  HASH_MARKS,
  withoutBlock,
} from '../../../../src/cli/connect/edit/marked-block.ts'
import { unspliced } from '../../../../src/cli/connect/edit/text-edits.ts'
import { holdsTable, putTable, takeTable, type Table } from '../../../../src/cli/connect/edit/toml.ts'
import { put as putWanted } from '../../../../src/cli/connect/desired-config.ts'

const problem = (work: () => unknown): string => {
  try {
    work()
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('nothing was refused')
}

describe('a section in a Markdown file', () => {
  const put = (text: string) => putBlock(text, MARKDOWN_MARKS, 'line one\n\nline two')

  test.each([
    ['nothing', ''],
    ['text', '# Mine\n\nwords\n'],
    ['an empty line at its end', '# Mine\n\n'],
    ['no final newline', '# Mine'],
    ['CRLF', '# Mine\r\n\r\nwords\r\n'],
    ['a byte order mark', '\uFEFF# Mine\n'],
  ])('a Markdown block is added after an empty line and removed again from a file with %s', (_, text) => {
    const draft = put(text)
    expect(blockIn('f', draft.text, MARKDOWN_MARKS)).toBe('line one\n\nline two')
    expect(draft.text.startsWith(text)).toBe(true)
    expect(unspliced(draft.text, draft.splices)).toBe(text)
    if (text.includes('\r\n')) expect(draft.text.replaceAll('\r\n', '')).not.toContain('\n')
  })

  test('removing a Markdown block keeps the lines that the user wrote before, after and between', () => {
    const text = put('# Mine\n').text.replace('line one', 'my own words') + '\nbehind\n'
    expect(withoutBlock('f', `before\n${text}`, MARKDOWN_MARKS)).toBe('before\n# Mine\n\nbehind\n')
  })

  test('a Markdown block with one of its marks removed is refused with the line', () => {
    const text = put('# Mine\n').text.replace(MARKDOWN_MARKS.close, '')
    expect(problem(() => withoutBlock('/p/A.md', text, MARKDOWN_MARKS))).toMatch(
      /^config_invalid: \/p\/A\.md, line 3, column 1: one of the two lines/,
    )
  })
})

test('a block next to half of another block is refused', () => {
  const text = `${putBlock('', MARKDOWN_MARKS, 'old').text}${MARKDOWN_MARKS.open}\n`
  expect(problem(() => putWanted({ form: 'markdown', file: '/p/A.md', body: 'new' }, text))).toMatch(
    /^config_invalid: \/p\/A\.md, line 1, column 1: one of the two lines/,
  )
})

describe('a table in a TOML file', () => {
  const TABLE: Table = { at: ['servers', 'turnbell'], body: '[servers.turnbell]\ncommand = "node"' }
  const put = (text: string) => putTable('/p/c.toml', text, TABLE)
  const TRICKY = `a = """
servers = 1
[[servers]]
"""
b = [
  [1, 2],
  [3],
]
# servers = 2
servers = {
}
`
  const REALISTIC = `# mine\nmodel = "x" # the good one\r\n[servers.docs]\r\nargs = [\r\n  "a", # first\r\n]`

  test.each([
    ['nothing', ''],
    ['comments, CRLF and no final newline', REALISTIC],
    ['tabs', '[a]\n\tb = 1\n'],
    ['a byte order mark', '\uFEFFa = 1\n'],
    ['dates and large numbers', 'a = 1979-05-27T07:32:00Z\nb = 9223372036854775807\n'],
  ])('a TOML table is appended and removed again from a file with %s', (_, text) => {
    const draft = put(text)
    const value = parse(draft.text.replace('\uFEFF', ''), { integersAsBigInt: 'asNeeded' })
    expect((value['servers'] as Record<string, unknown>)['turnbell']).toEqual({ command: 'node' })
    expect(holdsTable('f', draft.text, TABLE)).toBe(true)
    expect(unspliced(draft.text, draft.splices)).toBe(text)
    expect(takeTable('f', `# edited\n${draft.text.replace('\uFEFF', '')}`, TABLE.at)).toMatch(/^# edited\n/)
  })

  test('removing a TOML table keeps the tables that the user added around it', () => {
    const text = `[new]\na = 1\n${put('b = 1\n').text.replace('b = 1', '[old]\nb = 1')}[later]\nc = 1\n`
    const rest = takeTable('f', text, TABLE.at)
    expect(parse(rest)).toEqual({ new: { a: 1 }, old: { b: 1 }, later: { c: 1 } })
    expect(rest).not.toContain(HASH_MARKS.open)
  })

  test('removing a TOML table is refused if keys after it would fall into another table', () => {
    const text = `${put('[old]\nb = 1\n').text}stray = true\n`
    expect(problem(() => takeTable('f', text, TABLE.at))).toMatch(/^config_invalid: f: /)
  })

  test('a TOML table is refused next to a block of another table', () => {
    const other = putTable('/p/c.toml', 'a = 1\n', { at: ['others', 'one'], body: '[others.one]\nb = 1\n' })
    expect(problem(() => put(other.text))).toMatch(/^connection_taken/)
  })
  test('a TOML table is refused over a table of the same name', () => {
    expect(problem(() => put('[servers.turnbell]\ncommand = "mine"\n'))).toMatch(/^connection_taken/)
  })
  test.each([
    ['on one line', 'a = 1\n  servers = { a = { b = 1 } }\n[other]\nservers = 1\n', 'line 2, column 3'],
    ['as a value', 'a = 1\r\nservers = "none"\r\n', 'line 2, column 1'],
    ['as a list of tables', '[other]\nservers = 1\n\n[[servers]]\nname = "a"\n', 'line 4, column 1'],
    ['after a string and a list that look like it', TRICKY, 'line 10, column 1'],
  ])('a TOML table is refused if its group is written %s', (_, text, place) => {
    const message = problem(() => put(text))
    expect(message).toContain(`config_invalid: /p/c.toml, ${place}: `)
  })
  test('a TOML table is refused in an invalid file with line and column', () => {
    expect(problem(() => put('a = 1\nb = = 2\n'))).toMatch(/^config_invalid: \/p\/c\.toml, line 2, column 5/)
  })
})
