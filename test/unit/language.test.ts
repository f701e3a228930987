/** Comments, messages and test names use plain words, and each word of the glossary has one meaning. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

const ROOT = path.resolve(import.meta.dirname, '../..')
const ROOMS = ['src', 'adapters', 'test', 'bench', 'scripts']
/** Recorded data, planted bugs, and this file. */
const EXCEPT = /^test\/(fixtures|fuzz\/corpus|sim\/mutants)\/|language\.test\.ts$/

const FILES = ROOMS.flatMap((room) =>
  fs
    .readdirSync(path.join(ROOT, room), { recursive: true, encoding: 'utf8' })
    .map((name) => path.join(room, name))
    .filter((name) => /\.(ts|mjs)$/.test(name) && !EXCEPT.test(name)),
)
const textOf = (name: string) => fs.readFileSync(path.join(ROOT, name), 'utf8')

/** Words for which the field has a better one, and verbs of speech for the flow of data. */
const FORBIDDEN = new RegExp(
  String.raw`\b(${[
    'nobody|whoever|anew|mend(s|ed|ing)?|heed(s|ed)?|leash',
    'as far as|so many|so much|for ever|by then|set aside|left behind|given back|stands? in for',
    'tells?|told|says?|hears?|heard',
  ].join('|')})\b`,
  'i',
)
const withoutCode = (text: string) => text.replaceAll(/`[^`]*`/g, 'x').replaceAll(/\s+/g, ' ')
const found = (texts: readonly string[]) =>
  texts.map((text) => withoutCode(text)).filter((text) => FORBIDDEN.test(text))

const COMMENT = /(?<=^|\n)\s*\/\*\*[^]*?\*\/|(?<=^|\s)\/\/ [^\n]*/g
const MESSAGE =
  /\b(?:detail|hint|title): (?:'([^'\n]+)'|`([^`]+)`)|\blog\.(?:debug|info|warn|error)\([^'\n]*'([^'\n]+)'\)/g
const TEST_NAME = /\b(?:test|describe)(?:\.\w+)*(?:\([^'\n]*\))?\(\s*'([^'\n]+)'/g

test('comments use plain words', () => {
  const bad = FILES.flatMap((name) =>
    found(textOf(name).match(COMMENT) ?? []).map((text) => `${name}: ${text.slice(0, 120)}`),
  )
  expect(bad).toEqual([])
})

test('error details, hints and log messages use plain words', () => {
  const bad = FILES.filter((name) => /^(src|adapters)\//.test(name)).flatMap((name) =>
    found([...textOf(name).matchAll(MESSAGE)].map(([, ...parts]) => parts.join(''))).map(
      (text) => `${name}: ${text}`,
    ),
  )
  expect(bad).toEqual([])
})

test('test names use plain words', () => {
  const bad = FILES.filter((name) => name.startsWith('test/')).flatMap((name) =>
    found([...textOf(name).matchAll(TEST_NAME)].map(([, text = '']) => text)).map(
      (text) => `${name}: ${text}`,
    ),
  )
  expect(bad).toEqual([])
})

/** Rooms in which a word of the glossary must not have its second meaning. */
const SECOND_MEANINGS: readonly (readonly [word: string, room: RegExp, allowed: RegExp])[] = [
  // A lease belongs to a drain; the coordinator has locks. The record kind, events and a code keep the old word.
  ['lease', /^src\/modules\/coordinator\//, /'lease'|lease\.|lease_stale|releas/gi],
  // A turn belongs to an agent; the event loop has ticks.
  [
    'turn',
    /^src\/(kernel\/fair-queue|ports\/pause|transports\/after-)/,
    /\b(return(s|ed)?|TurnbellError)\b/gi,
  ],
]
test.each(SECOND_MEANINGS)('the word "%s" has one meaning', (word, room, allowed) => {
  const files = FILES.filter((name) => room.test(name))
  expect(files).not.toEqual([])
  const used = files.filter((name) => textOf(name).replaceAll(allowed, '').toLowerCase().includes(word))
  expect(used).toEqual([])
})
