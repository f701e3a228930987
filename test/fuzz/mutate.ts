/**
 * Mutates inputs. Uses AFL's havoc and splice (bytes, blocks, numbers, dictionary words, parts of other inputs), and
 * the same operations on the tree of a JSON line, like grammar-aware fuzzers (C. Aschermann et al., "NAUTILUS", NDSS
 * 2019). Most byte mutations are rejected by JSON.parse and never reach the code after it.
 */
import type { Dice } from './dice.ts'
import { become, branches, treeOf, written, type Tree } from './json-tree.ts'

export interface Material {
  dice: Dice
  /** Returns any kept input. */
  another: () => Buffer
  words: readonly string[]
  bytes_max: number
}

const STACKED_MAX = 5

export function mutate(input: Buffer, material: Material): Buffer {
  const { dice, bytes_max } = material
  let made = input
  for (let left = 1 + dice.small(STACKED_MAX); left > 0; left -= 1) {
    made = dice.once(3) ? inBytes(made, material) : inText(made, material)
    if (made.length > bytes_max) made = made.subarray(0, bytes_max)
  }
  return made
}

// --- Text: lines, and JSON in them ------------------------------------------------------------

function inText(input: Buffer, material: Material): Buffer {
  const { dice } = material
  const text = input.toString()
  const whole = treeOf(text)
  if (whole !== null && !text.includes('\n')) return Buffer.from(inTree(whole, material))
  const lines = text.split('\n')
  if (dice.once(4)) return Buffer.from(inLines(lines, material).join('\n'))
  if (whole !== null) return Buffer.from(inTree(whole, material))
  const at = dice.under(lines.length)
  const tree = treeOf(lines[at] as string)
  if (tree === null) return inWords(input, material)
  lines[at] = inTree(tree, material)
  return Buffer.from(lines.join('\n'))
}

function inLines(lines: string[], { dice, another }: Material): string[] {
  const at = dice.under(lines.length)
  const other = () => dice.pick(another().toString().split('\n'))
  switch (dice.under(6)) {
    case 0:
      return lines.toSpliced(at, 1)
    case 1:
      return lines.toSpliced(at, 0, ...lines.slice(at, at + 1 + dice.small(4)))
    case 2:
      return lines.toSpliced(dice.under(lines.length), 0, ...lines.splice(at, 1))
    case 3:
      return lines.toSpliced(at, 1, other())
    case 4:
      return lines.toSpliced(at, 0, other())
    default:
      return [...lines.slice(0, at), ...another().toString().split('\n').slice(at)]
  }
}

/** Boundary values of numbers, times, names and texts. */
const ODD = [
  ...['0', '-0', '-1', '1', '2', '0.5', '1e999', '-1e999', '1e-400', '255', '256', '65536', '1e21'],
  ...['2147483647', '2147483648', '4294967296', '9007199254740991', '9007199254740993', '-9007199254740993'],
  ...[
    'null',
    'true',
    'false',
    '""',
    '[]',
    '{}',
    '[[]]',
    '[null]',
    '{"":""}',
    '" "',
    '"\\u0000"',
    '"\\ud800"',
  ],
  ...[
    '"\\udc00\\ud800"',
    '"\\u202e\\u2028\\u0085"',
    '"é"',
    '"e\\u0301"',
    '"👩‍👩‍👧‍👦"',
    '"\\n\\r\\t\\u001b[2J"',
    '"../../etc/passwd"',
  ],
  ...['"/"', '"."', '".."', '"~"', '"C:\\\\nul"', '"-"', '"--"', '"$(id)"', '"`id`"', '"%00"', '"%s%n"'],
  ...['"__proto__"', '"constructor"', '"prototype"', '"toString"', '"hasOwnProperty"', '"length"', '"then"'],
  ...[
    '{"__proto__":{"polluted":1}}',
    '{"constructor":{"prototype":{"polluted":1}}}',
    '{"then":1}',
    '{"toJSON":1}',
  ],
  ...['{"length":4294967295}', '{"0":1,"length":1}', '{"$ref":"#"}', '{"$from":"a.b"}', '{"$param":"x"}'],
  ...[
    '"2026-03-01T12:00:00.000Z"',
    '"0000-00-00T00:00:00.000Z"',
    '"+275760-09-13T00:00:00.001Z"',
    '"2026-02-30T25:61:61Z"',
  ],
  ...[
    '"00000000000000000000000000"',
    '"7ZZZZZZZZZZZZZZZZZZZZZZZZZ"',
    '"01ARZ3NDEKTSV4RRFFQ69G5FAV"',
    '"8ZZZZZZZZZZZZZZZZZZZZZZZZZ"',
  ],
  ...['"(a+)+$"', '"^(\\\\w+\\\\s?)*$"', '"[[:alpha:]]"', '"("', '"*"', '"**/*"', '"a*a*a*a*a*a*b"'],
]
const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'length',
  'then',
  'toJSON',
  '',
  '0',
]
const LONG = [33, 64, 65, 257, 4_097, 20_000, 70_000]
const DEEP = [9, 33, 65, 129, 1_000, 8_000]

function odd({ dice, words }: Material): string {
  if (dice.once(12))
    return JSON.stringify(dice.pick(['a', 'é', '\u{1f600}', '"', '\n', 'a ', '../']).repeat(dice.pick(LONG)))
  if (dice.once(12)) return nested(dice.pick(DEEP), dice.once(2))
  if (words.length > 0 && dice.once(3)) return JSON.stringify(dice.pick(words))
  return dice.pick(ODD)
}

function nested(depth: number, lists: boolean): string {
  return lists ? '['.repeat(depth) + ']'.repeat(depth) : '{"a":'.repeat(depth) + '1' + '}'.repeat(depth)
}

function inTree(tree: Tree, material: Material): string {
  const { dice } = material
  const all = branches(tree)
  const target = dice.pick(all)
  const parents = all.filter(({ kind }) => kind !== 'text')
  const parent = parents.length === 0 ? undefined : dice.pick(parents)
  switch (dice.under(9)) {
    case 0:
      become(target, { kind: 'text', text: odd(material) })
      break
    case 1:
      become(target, graft(material) ?? { kind: 'text', text: odd(material) })
      break
    case 2:
      become(target, structuredClone(dice.pick(all)))
      break
    case 3:
    case 4:
      if (parent !== undefined) inParent(parent, material)
      break
    case 5:
      if (parent?.kind === 'object') addMember(parent, material)
      else if (parent?.kind === 'list')
        parent.items.splice(dice.under(parent.items.length + 1), 0, structuredClone(dice.pick(all)))
      break
    case 6:
      // Duplicates a name: all readers must agree on which value counts.
      if (parent?.kind === 'object' && parent.members.length > 0) {
        const [name] = dice.pick(parent.members)
        parent.members.push([name, { kind: 'text', text: odd(material) }])
      }
      break
    case 7:
      become(target, { kind: 'list', items: [structuredClone(target)] })
      break
    default:
      if (target.kind === 'text') become(target, { kind: 'text', text: bent(target.text, material) })
      else become(target, { kind: 'text', text: odd(material) })
  }
  return written(tree)
}

function inParent(parent: Tree, { dice, words }: Material): void {
  if (parent.kind === 'object') {
    if (parent.members.length === 0) return
    const at = dice.under(parent.members.length)
    if (dice.once(2)) parent.members.splice(at, 1)
    else {
      const name = dice.once(3) || words.length === 0 ? dice.pick(NAMES) : dice.pick(words)
      parent.members[at] = [JSON.stringify(name), (parent.members[at] as [string, Tree])[1]]
    }
  } else if (parent.kind === 'list' && parent.items.length > 0) {
    const at = dice.under(parent.items.length)
    if (dice.once(3)) parent.items.splice(at, 1)
    else {
      const times = dice.pick([2, 9, 33, 129, 1_025])
      const item = parent.items[at] as Tree
      parent.items.splice(
        at,
        0,
        ...Array.from({ length: Math.min(times, 1 + 20_000 / (written(item).length + 1)) }, () => item),
      )
    }
  }
}

function addMember(parent: Tree & { kind: 'object' }, material: Material): void {
  const { dice, words } = material
  const name = words.length > 0 && !dice.once(3) ? dice.pick(words) : dice.pick(NAMES)
  parent.members.push([JSON.stringify(name), { kind: 'text', text: odd(material) }])
}

/** Returns a part of another input. */
function graft({ dice, another }: Material): Tree | null {
  const text = another().toString()
  const tree = treeOf(text) ?? treeOf(dice.pick(text.split('\n')))
  return tree === null ? null : dice.pick(branches(tree))
}

/** Returns a slightly changed string or number. */
function bent(text: string, { dice, words }: Material): string {
  if (!text.startsWith('"')) {
    const number = Number(text)
    return Number.isFinite(number)
      ? String(dice.pick([number + 1, number - 1, -number, number * 2, number / 2, number + 0.5]))
      : text
  }
  const inner = JSON.parse(text) as string
  const at = dice.under(inner.length + 1)
  const put =
    dice.once(3) && words.length > 0
      ? dice.pick(words)
      : String.fromCharCode(dice.once(4) ? dice.under(0x1_0000) : dice.under(128))
  switch (dice.under(4)) {
    case 0:
      return JSON.stringify(inner.slice(0, at) + put + inner.slice(at))
    case 1:
      return JSON.stringify(inner.slice(0, at) + inner.slice(at + 1 + dice.small(8)))
    case 2:
      return JSON.stringify(inner.slice(0, at) + put + inner.slice(at + 1))
    default:
      return JSON.stringify(dice.once(2) ? inner.toUpperCase() : inner + inner)
  }
}

// --- Bytes ------------------------------------------------------------------------------------

const BYTES = [0, 9, 10, 13, 27, 32, 34, 47, 58, 91, 92, 93, 123, 125, 127, 128, 0xc0, 0xed, 0xf4, 0xff]

function inBytes(input: Buffer, material: Material): Buffer {
  const { dice, another } = material
  const at = dice.under(input.length + 1)
  const length = 1 + dice.small(Math.max(1, input.length - at))
  switch (dice.under(9)) {
    case 0: {
      const made = Buffer.from(input)
      if (at < made.length) made[at] = (made[at] as number) ^ (1 << dice.under(8))
      return made
    }
    case 1: {
      const made = Buffer.from(input)
      if (at < made.length) made[at] = dice.once(2) ? dice.pick(BYTES) : dice.under(256)
      return made
    }
    case 2:
      return Buffer.concat([input.subarray(0, at), input.subarray(at + length)])
    case 3: {
      const block = Buffer.from(Array.from({ length: 1 + dice.small(8) }, () => dice.under(256)))
      return Buffer.concat([input.subarray(0, at), block, input.subarray(at)])
    }
    case 4: {
      const from = dice.under(input.length + 1)
      const block = input.subarray(from, from + length)
      return Buffer.concat([
        input.subarray(0, at),
        block,
        input.subarray(dice.once(2) ? at : at + block.length),
      ])
    }
    case 5:
      return input.subarray(0, at)
    case 6: {
      const other = another()
      const from = dice.under(other.length + 1)
      return Buffer.concat([input.subarray(0, at), other.subarray(from)])
    }
    case 7:
      return inNumbers(input, material)
    default:
      return inWords(input, material)
  }
}

function inWords(input: Buffer, { dice, words }: Material): Buffer {
  const at = dice.under(input.length + 1)
  const word = Buffer.from(words.length === 0 || dice.once(4) ? dice.pick(ODD) : dice.pick(words))
  return Buffer.concat([input.subarray(0, at), word, input.subarray(dice.once(2) ? at : at + word.length)])
}

const DIGITS = /\d+/g

function inNumbers(input: Buffer, { dice }: Material): Buffer {
  const text = input.toString('latin1')
  const found = [...text.matchAll(DIGITS)]
  if (found.length === 0) return input
  const { 0: digits, index } = dice.pick(found)
  const number = dice.pick([
    '0',
    '-1',
    '1e999',
    '4294967296',
    '9007199254740993',
    '00',
    '0x10',
    '',
    String(Number(digits) + 1),
  ])
  return Buffer.from(text.slice(0, index) + number + text.slice(index + digits.length), 'latin1')
}
