/**
 * Properties of `turnbell connect`: removing the connection restores an unedited file exactly, and an edited one in
 * meaning.
 */
import fc from 'fast-check'
import { parse } from 'jsonc-parser'
import { expect, test } from 'vitest'
import type { Entry } from '../../src/cli/connect/edit/jsonc.ts'
import { holds, put, take, type DesiredFile } from '../../src/cli/connect/desired-config.ts'

const ENTRIES: Entry[] = [
  { at: ['env', 'TURNBELL_PERSONA'], value: 'ada' },
  { at: ['mcp', 'turnbell'], value: { command: ['node', 'x'], enabled: true } },
  { at: ['permissions', 'allow'], value: 'mcp__turnbell', in_list: true },
  { at: ['hooks', 'Stop'], value: { hooks: [{ command: 'turnbell' }] }, in_list: true },
]
const JSONC: DesiredFile = { form: 'jsonc', file: 'f', entries: ENTRIES }
const TOML: DesiredFile = {
  form: 'toml',
  file: 'f',
  at: ['mcp_servers', 'turnbell'],
  body: '[mcp_servers.turnbell]\na = 1',
}
const MARKDOWN: DesiredFile = { form: 'markdown', file: 'f', body: 'words\n\nmore' }

const gap = fc.constantFrom('', ' ', '\n', '\r\n', '\t', ' // note\n', '/* a, "b": { */', '\n  // }\n  ')
const scalar = fc.constantFrom('1', '"x"', 'true', 'null', '"// no comment"', '"}"')
const jsonValue = fc.letrec<{ value: string; map: string; list: string }>((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, scalar, tie('map'), tie('list')),
  list: fc.tuple(fc.array(fc.tuple(gap, tie('value'), gap), { maxLength: 3 }), gap, fc.boolean()).map(
    ([items, end, comma]) =>
      `[${joined(
        items.map((item) => item.join('')),
        comma,
      )}${end}]`,
  ),
  map: fc
    .tuple(
      fc.uniqueArray(fc.tuple(gap, fc.constantFrom('a', 'b', 'c', 'd'), gap, tie('value'), gap), {
        maxLength: 4,
        selector: ([, key]) => key,
      }),
      gap,
      fc.boolean(),
    )
    .map(
      ([items, end, comma]) =>
        `{${joined(
          items.map(([before, key, colon, value, after]) => `${before}"${key}":${colon}${value}${after}`),
          comma,
        )}${end}}`,
    ),
})).map

function joined(items: string[], comma: boolean): string {
  return items.join(',') + (comma && items.length > 0 ? ',' : '')
}

/** A file that may already contain some of turnbell's settings, in unusual formatting. */
const jsonc = fc
  .tuple(
    fc.constantFrom('', '\uFEFF', '// head\n'),
    fc.uniqueArray(
      fc.oneof(
        fc.tuple(fc.constantFrom('env', 'mcp', 'x'), jsonValue),
        fc.tuple(fc.constant('permissions'), fc.constantFrom('{}', '{"allow":[]}', '{ "allow": ["y", ] }')),
        fc.tuple(fc.constant('hooks'), fc.constantFrom('{ // h\n }', '{"Stop":[{"hooks":[]}\n]}')),
      ),
      { selector: ([key]) => key },
    ),
    gap,
    gap,
    fc.boolean(),
    fc.constantFrom('', '\n', '\r\n', ' // tail'),
  )
  .map(
    ([head, items, before, after, comma, tail]) =>
      `${head}{${joined(
        items.map(([key, value]) => `${before}"${key}": ${value}${after}`),
        comma,
      )}${after}}${tail}`,
  )

const line = fc.constantFrom('# heading', 'words', '', '  - item', 'key = 1', '```')
const markdown = fc
  .tuple(fc.array(line), fc.constantFrom('\n', '\r\n'), fc.boolean())
  .map(([lines, eol, end]) => lines.join(eol) + (end ? eol : ''))

const toml = fc
  .tuple(
    fc.uniqueArray(fc.constantFrom('a', 'b', '"c d"', 'e')),
    fc.uniqueArray(fc.constantFrom('t', 'mcp_servers.other', 'mcp_servers', 't.u')),
    fc.constantFrom('\n', '\r\n', '  # note\n', '\n\n'),
    fc.boolean(),
  )
  .map(([keys, tables, eol, end]) => {
    const lines = [
      ...keys.map((key) => `${key} = [1, "#"]`),
      ...tables.flatMap((table) => [`[${table}]`, 'v = 1']),
    ]
    return lines.join(eol) + (end ? eol : '')
  })

const text = fc.oneof(
  fc.tuple(fc.constant(JSONC), jsonc),
  fc.tuple(fc.constant(TOML), toml),
  fc.tuple(fc.constant(MARKDOWN), markdown),
)

test('disconnect restores every file that was not edited since connect', () => {
  fc.assert(
    fc.property(text, ([wanted, before]) => {
      const { text: after, written } = put(wanted, before)
      expect(holds(wanted, after)).toBe(true)
      expect(take('f', after, written, true)).toBe(before)
    }),
    { numRuns: 500 },
  )
})

test('connecting twice changes nothing', () => {
  fc.assert(
    fc.property(jsonc, (before) => {
      const once = put(JSONC, before).text
      expect(put(JSONC, once)).toMatchObject({ text: once, written: { splices: [], own: [] } })
    }),
  )
})

test('disconnect after an edit keeps the meaning and the comments of a JSON file', () => {
  const comments = (source: string) => source.match(/note|h\n| a, "b"|head|tail|\/\/ }/g) ?? []
  fc.assert(
    fc.property(jsonc, (before) => {
      const { text: after, written } = put(JSONC, before)
      const rest = take('f', after, written, false)
      expect(parse(rest.replace('\uFEFF', ''))).toEqual(parse(before.replace('\uFEFF', '')))
      expect(comments(rest)).toEqual(comments(before))
    }),
    { numRuns: 500 },
  )
})

test('disconnect after an edit keeps every line of the user in other files', () => {
  const lines = (source: string) => source.split(/\r?\n/).filter((one) => one.trim() !== '')
  fc.assert(
    fc.property(
      fc.oneof(fc.tuple(fc.constant(TOML), toml), fc.tuple(fc.constant(MARKDOWN), markdown)),
      ([wanted, before]) => {
        const { text: after, written } = put(wanted, before)
        expect(lines(take('f', after, written, false))).toEqual(lines(before))
      },
    ),
    { numRuns: 300 },
  )
})
