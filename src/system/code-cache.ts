/**
 * Programs that are compiled before they are started: `vm.Script` takes what V8 made of the same source in an earlier
 * run (https://nodejs.org/docs/latest-v20.x/api/vm.html#scriptcreatecacheddata). That lies beside the program and is only a gain of
 * time: V8 refuses it when its version or flags are others, and compiles as ever. V8 looks at neither the source nor
 * what it takes, and would end with broken code: before the code stand two sums, of the source and of the code.
 */
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import vm from 'node:vm'
import { crc32 } from 'node:zlib'

const SUM_BYTES = 4
/** A multiple of eight, so that V8 need not copy what follows. */
const HEADER_BYTES = 2 * SUM_BYTES

export interface Loaded<Exports> {
  exports: Exports
  /** True where V8 had only to take what was compiled before. */
  compiled_before: boolean
  /** Leaves what is compiled by now to later starts. Throws what reading and writing throw. */
  keepCompiled(): void
}

/** One architecture's code is never shown to another, which V8 might not notice. */
export const codeCacheOf = (file: string): string => `${file}.${process.arch}.cache`

/**
 * Runs a file that is one function of what node gives to a module of the older form, `(exports, require, module,
 * __filename, __dirname)`. It can import nothing later, only require. Throws what reading and running it throw.
 */
export function loadProgram<Exports>(file: string): Loaded<Exports> {
  const source = fs.readFileSync(file)
  const code = codeFor(source, codeCacheOf(file))
  const script = new vm.Script(source.toString('utf8'), {
    filename: file,
    ...(code === null ? {} : { cachedData: code }),
  })
  const module = { exports: {} as Exports }
  const run = script.runInThisContext() as (...given: unknown[]) => void
  run(module.exports, createRequire(file), module, file, path.dirname(file))
  return {
    exports: module.exports,
    compiled_before: script.cachedDataRejected === false,
    // Holds nothing of what was read: a program may run for months.
    keepCompiled: () => keep(file, script.createCachedData()),
  }
}

function keep(file: string, code: Buffer): void {
  fs.writeFileSync(codeCacheOf(file), Buffer.concat([headerOf(fs.readFileSync(file), code), code]))
}

/** Null where there is none that is whole and of this source. */
function codeFor(source: Buffer, file: string): Buffer | null {
  let kept: Buffer
  try {
    kept = fs.readFileSync(file)
  } catch {
    return null
  }
  const code = kept.subarray(HEADER_BYTES)
  return headerOf(source, code).equals(kept.subarray(0, HEADER_BYTES)) ? code : null
}

function headerOf(source: Buffer, code: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt32LE(crc32(source))
  header.writeUInt32LE(crc32(code), SUM_BYTES)
  return header
}
