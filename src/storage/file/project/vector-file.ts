/**
 * Vectors in a project's folder: `.turnbell/embeddings/<name>.index`, which git ignores. JSON of the form
 * `{model, dimension, entries: [{id, digest, vector}]}` with one entry per line, so that it can be read and
 * written in slices: ten thousand entries are about thirty megabytes.
 *
 * Numbers have four decimals. For vectors of 384 dimensions that changes a cosine by less than 0.0002.
 */
import fs from 'node:fs/promises'
import path from 'node:path'
import { setImmediate as breathe } from 'node:timers/promises'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import type { StoredVector, StoredVectors, VectorStore } from '../../../ports/vector-store.ts'
import { isObject } from '../../../contracts/validation/is-object.ts'
import { foldersTo, checkPlainFolders } from '../records/symlink-guard.ts'
import { checkOpened } from '../../../system/files/inside.ts'
import { READ_PLAIN } from '../../../system/files/safe-read.ts'
import { ensureProjectFolder, projectFolder } from './project-folder.ts'

/** `root` is the project's directory, which is never created; `name` is the file name without extension. */
export function createVectorFile(root: string, name: string): VectorStore {
  const folder = path.join(projectFolder(root), 'embeddings')
  const file = path.join(folder, `${name}.index`)
  const checkPath = () => checkPlainFolders(foldersTo(root, folder))
  return {
    async load() {
      try {
        checkPath()
        return await vectorsIn(await bytesOf(file))
      } catch {
        // Missing, a link or damaged: the vectors are computed again.
        return null
      }
    },
    async save(vectors) {
      checkPath()
      await ensureProjectFolder(root)
      await fs.mkdir(folder, { recursive: true })
      const draft = `${file}.new`
      // An existing draft may be a link, through which this would write.
      await fs.rm(draft, { recursive: true, force: true })
      await write(draft, vectors)
      checkPath()
      await fs.rename(draft, file)
    },
  }
}

/** Reads a regular file; refuses links and pipes. */
async function bytesOf(file: string): Promise<Buffer> {
  const stat = await fs.lstat(file)
  if (!stat.isFile() || stat.size > LIMITS.vectors_file_bytes_max)
    throw new Error(`${file} is not a vector file`)
  const handle = await fs.open(file, READ_PLAIN)
  try {
    const checked = checkOpened(handle.fd, file)
    if ('why' in checked) throw new Error(`${file}: ${checked.reason}`)
    return await handle.readFile()
  } finally {
    await handle.close()
  }
}

/** Entries read or written between two yields to the event loop; about five milliseconds. */
const SLICE_ENTRIES = 100

const DECIMALS = 4
/** Text of every possible component, cached because formatting numbers takes most of the time. */
const SCALE = 10 ** DECIMALS
let spelled: string[] | null = null

async function write(file: string, { model, dimension, entries }: StoredVectors): Promise<void> {
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

function lineOf({ id, digest, vector }: StoredVector): string {
  const member = digest === null ? '' : `"digest":${JSON.stringify(digest)},`
  return `{"id":${JSON.stringify(id)},${member}"vector":[${Array.from(vector, spell).join(',')}]}`
}

function spell(value: number): string {
  spelled ??= Array.from({ length: 2 * SCALE + 1 }, (_, at) => String((at - SCALE) / SCALE))
  return spelled[Math.round(value * SCALE) + SCALE] ?? '0'
}

/** Parses a vector file, leaving out damaged entries. Throws if the file is not one. */
async function vectorsIn(bytes: Buffer): Promise<StoredVectors> {
  const head = bytes.subarray(0, Math.max(0, bytes.indexOf('\n')))
  const byLines = head.toString().endsWith('"entries":[')
  const whole = JSON.parse(byLines ? `${head.toString()}]}` : bytes.toString()) as unknown
  if (!isObject(whole) || typeof whole['model'] !== 'string') throw new Error('it has no model')
  const { model, dimension } = whole
  if (!isDimension(dimension)) throw new Error('it has no dimension')
  if (!Array.isArray(whole['entries'])) throw new Error('it has no entries')
  const values = byLines ? linesOf(bytes, head.length + 1) : (whole['entries'] as unknown[])
  const entries: StoredVector[] = []
  let read = 0
  for (const one of values) {
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
      // The last line, or a torn one.
    }
  }
}

function entryOf(value: unknown, dimension: number): StoredVector | null {
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
