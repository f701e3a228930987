/**
 * Loading of programs with V8's code cache, the `cachedData` of `vm.Script`
 * (https://nodejs.org/docs/latest-v20.x/api/vm.html#scriptcreatecacheddata). The cache is a file next to the program
 * and only saves time: V8 rejects it if its version or flags differ. V8 does not verify the source or the code and
 * would run a damaged cache, so the file starts with checksums of both.
 */
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import vm from 'node:vm'
import { crc32 } from 'node:zlib'

const SUM_BYTES = 4
/** A multiple of eight, so that V8 need not copy the code. */
const HEADER_BYTES = 2 * SUM_BYTES

export interface Loaded<Exports> {
  exports: Exports
  /** True if V8 accepted the cache. */
  compiled_before: boolean
  /** Stores the functions compiled so far for later starts. Throws what reading and writing throw. */
  keepCompiled(): void
}

/** One cache for each architecture, because V8 might not detect foreign code. */
export const codeCacheOf = (file: string): string => `${file}.${process.arch}.cache`

/**
 * Runs a file that is one CommonJS wrapper function, `(exports, require, module, __filename, __dirname)`. It can only
 * require, not import. Throws what reading and running it throw.
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
    // Does not retain the source, because a program may run for months.
    keepCompiled: () => keep(file, script.createCachedData()),
  }
}

function keep(file: string, code: Buffer): void {
  fs.writeFileSync(codeCacheOf(file), Buffer.concat([headerOf(fs.readFileSync(file), code), code]))
}

/** Returns null if there is no intact cache of this source. */
function codeFor(source: Buffer, file: string): Buffer | null {
  let cached: Buffer
  try {
    cached = fs.readFileSync(file)
  } catch {
    return null
  }
  const code = cached.subarray(HEADER_BYTES)
  return headerOf(source, code).equals(cached.subarray(0, HEADER_BYTES)) ? code : null
}

function headerOf(source: Buffer, code: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt32LE(crc32(source))
  header.writeUInt32LE(crc32(code), SUM_BYTES)
  return header
}
