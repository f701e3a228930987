import fs from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import { expect, test } from 'vitest'
import { codeCacheOf, loadProgram } from '../../../../src/system/process/code-cache.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

interface Program {
  add(a: number, b: number): number
  fail(): never
  where: string[]
}

const SOURCE = `(function (exports, require, module, __filename, __dirname) { const { basename } = require('node:path')
exports.add = (a, b) => a + b
exports.fail = () => { throw new Error('asked for') }; exports.where = [basename(__filename), basename(__dirname)]
})`

/** V8's data starts with a magic number, after the two checksums. */
const VERSION_AT = 12

/** Each in its own directory, because V8 caches by name within a process. */
function program(source = SOURCE, code: Buffer | null = null) {
  const folder = path.join(temporaryDirectory(), 'programs')
  fs.mkdirSync(folder)
  const file = path.join(folder, 'sums.cjs')
  fs.writeFileSync(file, source)
  if (code !== null) fs.writeFileSync(codeCacheOf(file), code)
  return { file, load: () => loadProgram<Program>(file) }
}

/** The cache after a run that has called add. */
function compiled(): Buffer {
  const { file, load } = program()
  const first = load()
  first.exports.add(1, 1)
  first.keepCompiled()
  return fs.readFileSync(codeCacheOf(file))
}

function flipped(code: Buffer, at: number): Buffer {
  const other = Buffer.from(code)
  other[at] = (other[at] ?? 0) ^ 0xff
  return other
}

/** With a recomputed checksum of the code. */
function summed(code: Buffer): Buffer {
  code.writeUInt32LE(crc32(code.subarray(8)), 4)
  return code
}

test('a program without a cache runs as usual', () => {
  const { load } = program()
  const { exports, compiled_before } = load()
  expect(compiled_before).toBe(false)
  expect(exports.add(2, 3)).toBe(5)
  expect(exports.where).toEqual(['sums.cjs', 'programs'])
})

test('the cache of one run is used in the next', () => {
  const { exports, compiled_before } = program(SOURCE, compiled()).load()
  expect(compiled_before).toBe(true)
  expect(exports.add(2, 3)).toBe(5)
})

test.each([
  ['empty', () => Buffer.alloc(0)],
  ['no such thing', () => Buffer.from('no code at all, but some bytes to look at')],
  ['cut off', (code: Buffer) => code.subarray(0, code.length / 2)],
  ['broken', (code: Buffer) => flipped(code, code.length - 100)],
  ['of another version of V8', (code: Buffer) => summed(flipped(code, VERSION_AT))],
])('a cache that is %s is rejected, and the program runs', (_, change) => {
  const { exports, compiled_before } = program(SOURCE, change(compiled())).load()
  expect(compiled_before).toBe(false)
  expect(exports.add(2, 3)).toBe(5)
})

test('a cache of another source of the same length is rejected', () => {
  const { exports, compiled_before } = program(SOURCE.replace('a + b', 'a - b'), compiled()).load()
  expect(compiled_before).toBe(false)
  expect(exports.add(2, 3)).toBe(-1)
})

test('a stack has line and column of the file, also for the first line', () => {
  const { exports } = program(
    "(function (exports) { exports.fail = () => { throw new Error('asked for') } })",
  ).load()
  expect(() => exports.fail()).toThrow(
    expect.objectContaining({ stack: expect.stringContaining('sums.cjs:1:52') as string }),
  )
})

test('a missing program is reported as missing', () => {
  const { file, load } = program()
  fs.rmSync(file)
  expect(load).toThrow(expect.objectContaining({ code: 'ENOENT' }))
})
