/**
 * Vectors in a project's folder: `.turnbell/embeddings/<name>.index`, which git ignores. JSON of the form
 * `{model, dimension, entries: [{id, digest, vector}]}` with an entry a line, so that reading and writing
 * can be done a little at a time: ten thousand entries are some thirty megabytes.
 *
 * Numbers have four decimals. Among vectors of 384 dimensions that moves a cosine by less than 0.0002.
 */
import fs from 'node:fs/promises'
import path from 'node:path'
import { setImmediate as breathe } from 'node:timers/promises'
import { LIMITS } from '../../contracts/limits.ts'
import type { KeptVector, KeptVectors, VectorShelf } from '../../ports/vector-shelf.ts'
import { isObject } from './is-object.ts'
import { foldersTo, needPlainFolders } from './plain-folders.ts'
import { READ_PLAIN } from '../../system/plain-file.ts'
import { ensureProjectFolder, projectFolder } from './project-folder.ts'

/** `root` is the project's own directory, which is never made; `name` that of the file. */
export function createVectorFile(root: string, name: string): VectorShelf {
  const folder = path.join(projectFolder(root), 'embeddings')
  const file = path.join(folder, `${name}.index`)
  const needWay = () => needPlainFolders(foldersTo(root, folder))
  return {
    async load() {
      try {
        needWay()
        return await vectorsIn(await bytesOf(file))
      } catch {
        // Missing, a link, damaged: all are made again in the same way.
        return null
      }
    },
    async save(vectors) {
      needWay()
      await ensureProjectFolder(root)
      await fs.mkdir(folder, { recursive: true })
      const aside = `${file}.new`
      // What stands there may be a link, and would be written through.
      await fs.rm(aside, { recursive: true, force: true })
      await write(aside, vectors)
      needWay()
      await fs.rename(aside, file)
    },
  }
}

/** Of a plain file: a link would lead elsewhere, and a pipe would be waited for. */
async function bytesOf(file: string): Promise<Buffer> {
  const stat = await fs.lstat(file)
  if (!stat.isFile() || stat.size > LIMITS.vectors_file_bytes_max)
    throw new Error(`${file} is no file of vectors`)
  const handle = await fs.open(file, READ_PLAIN)
  try {
    return await handle.readFile()
  } finally {
    await handle.close()
  }
}

/** Entries that are read or written before others have the loop: some five milliseconds. */
const SLICE_ENTRIES = 100

const DECIMALS = 4
/** Every number that a part of a vector can be, spelled once: spelling them takes longer than all the rest. */
const SCALE = 10 ** DECIMALS
let spelled: string[] | null = null

async function write(file: string, { model, dimension, entries }: KeptVectors): Promise<void> {
  const handle = await fs.open(file, 'wx')
  try {
    await handle.writeFile(`{"model":${JSON.stringify(model)},"dimension":${dimension},"entries":[\n`)
    for (let at = 0; at < entries.length; at += SLICE_ENTRIES) {
      const lines = entries.slice(at, at + SLICE_ENTRIES).map(lineOf)
      const last = at + SLICE_ENTRIES >= entries.length
      await handle.writeFile(`${lines.join(',\n')}${last ? '' : ','}\n`)
      await breathe()
    }
    await handle.writeFile(']}\n')
  } finally {
    await handle.close()
  }
}

function lineOf({ id, digest, vector }: KeptVector): string {
  const told = digest === null ? '' : `"digest":${JSON.stringify(digest)},`
  return `{"id":${JSON.stringify(id)},${told}"vector":[${Array.from(vector, spell).join(',')}]}`
}

function spell(value: number): string {
  spelled ??= Array.from({ length: 2 * SCALE + 1 }, (_, at) => String((at - SCALE) / SCALE))
  return spelled[Math.round(value * SCALE) + SCALE] ?? '0'
}

/** Throws where it is nothing of the kind. An entry that is damaged is left out. */
async function vectorsIn(bytes: Buffer): Promise<KeptVectors> {
  const head = bytes.subarray(0, Math.max(0, bytes.indexOf('\n')))
  const byLines = head.toString().endsWith('"entries":[')
  const whole = JSON.parse(byLines ? `${head.toString()}]}` : bytes.toString()) as unknown
  if (!isObject(whole) || typeof whole['model'] !== 'string') throw new Error('it names no model')
  const { model, dimension } = whole
  if (!isDimension(dimension)) throw new Error('it has no dimension')
  if (!Array.isArray(whole['entries'])) throw new Error('it has no entries')
  const found = byLines ? linesOf(bytes, head.length + 1) : (whole['entries'] as unknown[])
  const entries: KeptVector[] = []
  let read = 0
  for (const one of found) {
    const entry = entryOf(one, dimension)
    if (entry !== null) entries.push(entry)
    if (++read % SLICE_ENTRIES === 0) await breathe()
  }
  return { model, dimension, entries }
}

function* linesOf(bytes: Buffer, start: number): Generator<unknown> {
  for (let at = start; at < bytes.length;) {
    const end = bytes.indexOf('\n', at)
    const line = bytes.toString('utf8', at, end < 0 ? bytes.length : end)
    at = end < 0 ? bytes.length : end + 1
    try {
      yield JSON.parse(line.endsWith(',') ? line.slice(0, -1) : line)
    } catch {
      // The last line, or one that was torn.
    }
  }
}

function entryOf(value: unknown, dimension: number): KeptVector | null {
  if (!isObject(value) || typeof value['id'] !== 'string' || !Array.isArray(value['vector'])) return null
  const numbers = value['vector'] as unknown[]
  if (numbers.length !== dimension || !numbers.every(Number.isFinite)) return null
  const digest = typeof value['digest'] === 'string' ? value['digest'] : null
  return { id: value['id'], digest, vector: Float32Array.from(numbers as number[]) }
}

function isDimension(value: unknown): value is number {
  return (
    typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= LIMITS.vector_dimension_max
  )
}
