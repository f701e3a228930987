/**
 * One JSON file per record: `<directory>/<kind>/<id>.json`, holding `{kind, id, body}`. The file's name is
 * made from the id so that it is safe on every file system; what the id really is, the file says.
 *
 * These are small and rarely written, so every put pays for its own syncs.
 */
import { createHash } from 'node:crypto'
import fs from 'node:fs/promises'
import path from 'node:path'
import type { RecordBody, RecordStore } from '../../ports/record-store.ts'
import { codeOf } from './disk.ts'

export interface RecordStoreOptions {
  directory: string
  /** A file that is no record was moved out of the way. */
  onRejected?: (notice: { file: string; kept_in: string; reason: string }) => void
}

interface StoredRecord {
  kind: string
  id: string
  body: RecordBody
}

const REJECTED = 'rejected'
/** File systems end at 255 bytes a name. */
const NAME_LENGTH_MAX = 120

export function createFileRecordStore({ directory, onRejected = () => {} }: RecordStoreOptions): RecordStore {
  /** What is done to one file is done in the order of the calls. */
  const underway = new Map<string, Promise<unknown>>()

  const inOrder = async <T>(file: string, work: () => Promise<T>): Promise<T> => {
    const before = underway.get(file) ?? Promise.resolve()
    const mine = before.then(work, work)
    underway.set(file, mine)
    try {
      return await mine
    } finally {
      if (underway.get(file) === mine) underway.delete(file)
    }
  }

  const folderOf = (kind: string) => {
    const name = fileName(kind)
    if (name === REJECTED) throw new Error(`records of the kind ${REJECTED} would stand among the rejected`)
    return path.join(directory, name)
  }
  const fileOf = (kind: string, id: string) => path.join(folderOf(kind), `${fileName(id)}.json`)

  const readRecord = async (file: string, kind: string): Promise<StoredRecord | null> => {
    let text: string
    try {
      text = await fs.readFile(file, 'utf8')
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null
      throw error
    }
    const reason = whyNoRecord(text, kind, path.basename(file, '.json'))
    if (reason === null) return JSON.parse(text) as StoredRecord
    await reject(file, reason)
    return null
  }

  const reject = async (file: string, reason: string) => {
    const folder = path.join(directory, REJECTED, path.basename(path.dirname(file)))
    await fs.mkdir(folder, { recursive: true, mode: 0o700 })
    const kept_in = await freeName(folder, path.basename(file))
    await fs.writeFile(`${kept_in}.reason`, `${reason}\n`, { mode: 0o600 })
    try {
      await fs.rename(file, kept_in)
    } catch (error) {
      // Two readers found it bad at the same time.
      if (codeOf(error) === 'ENOENT') return
      throw error
    }
    onRejected({ file, kept_in, reason })
  }

  return {
    async put(kind, id, body) {
      const file = fileOf(kind, id)
      const record: StoredRecord = { kind, id, body }
      const text = `${JSON.stringify(record, null, 2)}\n`
      await inOrder(file, async () => {
        const folder = path.dirname(file)
        const made = await fs.mkdir(folder, { recursive: true, mode: 0o700 })
        if (made !== undefined) await syncDirectory(path.dirname(folder))
        await fs.writeFile(`${file}.new`, text, { mode: 0o600, flush: true })
        await fs.rename(`${file}.new`, file)
        await syncDirectory(folder)
      })
    },
    async get(kind, id) {
      const file = fileOf(kind, id)
      return inOrder(file, async () => (await readRecord(file, kind))?.body ?? null)
    },
    async list(kind) {
      const folder = folderOf(kind)
      const records: { id: string; body: RecordBody }[] = []
      for (const name of await namesIn(folder)) {
        if (!name.endsWith('.json')) continue
        const file = path.join(folder, name)
        const record = await inOrder(file, () => readRecord(file, kind))
        if (record !== null) records.push({ id: record.id, body: record.body })
      }
      return records.sort((a, b) => (a.id < b.id ? -1 : 1))
    },
    async remove(kind, id) {
      const file = fileOf(kind, id)
      await inOrder(file, async () => {
        try {
          await fs.unlink(file)
        } catch (error) {
          if (codeOf(error) === 'ENOENT') return
          throw error
        }
        await syncDirectory(path.dirname(file))
      })
    },
  }
}

/** Null for a record that belongs where it was found. */
function whyNoRecord(text: string, kind: string, name: string): string | null {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return `it is no JSON: ${(error as Error).message}`
  }
  const record = (isObject(value) ? value : {}) as Partial<StoredRecord>
  if (!isObject(record.body) || typeof record.id !== 'string') {
    return 'it does not hold an object with kind, id and body'
  }
  if (record.kind !== kind) return `it says that it is a ${String(record.kind)}`
  if (fileName(record.id) !== name) return `it says that its id is ${record.id}`
  return null
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const PLAIN = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/
/** Names that are devices on Windows, whatever follows their first dot. */
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i

/** Bytes outside the plain alphabet as %XX; what would be too long is cut and told apart by a hash. */
function fileName(id: string): string {
  if (PLAIN.test(id) && !id.endsWith('.') && !DEVICE.test(id) && id.length <= NAME_LENGTH_MAX) return id
  let name = ''
  for (const byte of Buffer.from(id)) {
    const character = String.fromCharCode(byte)
    const plain = /[A-Za-z0-9_-]/.test(character)
    name += plain ? character : `%${byte.toString(16).padStart(2, '0').toUpperCase()}`
  }
  if (DEVICE.test(name)) name = `%${id.charCodeAt(0).toString(16).toUpperCase()}${name.slice(1)}`
  if (name === '') return '%'
  if (name.length <= NAME_LENGTH_MAX) return name
  const hash = createHash('sha256').update(id).digest('hex').slice(0, 32)
  return `${name.slice(0, NAME_LENGTH_MAX - 33)}~${hash}`
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await fs.readdir(folder)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  }
}

async function freeName(folder: string, wanted: string): Promise<string> {
  const taken = new Set(await namesIn(folder))
  let name = wanted
  for (let count = 2; taken.has(name); count += 1) name = `${wanted}-${count}`
  return path.join(folder, name)
}

async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await fs.open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
