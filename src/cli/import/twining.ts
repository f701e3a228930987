/**
 * Reads a `.twining` folder: entries as lines, decisions as files, the graph as two lists, archives as lines.
 * Writes nothing there.
 */
import fs from 'node:fs'
import path from 'node:path'
import type { Found, FoundItem, Spot } from './found.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { handwrittenJson, whyNoJson } from '../../contracts/json.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { readPlainFile } from '../../system/plain-file.ts'
import { ArchiveDay, type ImportSort } from '../../contracts/import.ts'

const NAME = '.twining'
const BLACKBOARD = 'blackboard.jsonl'
const DECISIONS = 'decisions'
const GRAPH = 'graph'
const ARCHIVE = 'archive'
const INDEX = 'index.json'
const ARCHIVED = /^(?:(\d{4}-\d\d-\d\d)-)?.*blackboard\.jsonl$/
/** Its own index of the decisions is made anew, and is not worth a word. */
const TAKEN_OVER: readonly string[] = [BLACKBOARD, DECISIONS, GRAPH, ARCHIVE, '.gitignore']

/**
 * The folder itself, and the directory whose memory it holds; null where its name does not say that it lies there.
 *
 * @throws `usage_invalid`
 */
export function twiningFolder(directory: string): { folder: string; project: string | null } {
  const inside = path.join(directory, NAME)
  const folder = isDirectory(inside) ? inside : directory
  if (path.basename(folder) === NAME && lstatOf(folder)?.isSymbolicLink() === true)
    throw new TurnbellError('usage_invalid', {
      detail: `${folder} is a link: what it leads to may be the memory of something else`,
      hint: 'Name the folder that it leads to, if that is the one you mean.',
    })
  if (isDirectory(folder) && [BLACKBOARD, DECISIONS, GRAPH].some((name) => isThere(folder, name)))
    return { folder, project: path.basename(folder) === NAME ? path.dirname(folder) : null }
  throw new TurnbellError('usage_invalid', {
    detail: isDirectory(directory)
      ? `${directory} is no ${NAME} folder, and has none: there is no ${BLACKBOARD}, ${DECISIONS} or ${GRAPH}`
      : `${directory} is no directory`,
    hint: `Name the ${NAME} folder itself, or the project that it lies in.`,
  })
}

export function readTwining(folder: string): Found {
  const found: Found = { items: [], unread: [], left_out: [] }
  const reader = createReader(folder, found)
  reader.list('entities', path.join(GRAPH, 'entities.json'))
  reader.list('relations', path.join(GRAPH, 'relations.json'))
  for (const name of reader.names(DECISIONS)) {
    if (name.endsWith('.json') && name !== INDEX) reader.whole('decisions', path.join(DECISIONS, name))
  }
  reader.lines(BLACKBOARD, (value) => ({ sort: 'entries', value }))
  for (const name of reader.names(ARCHIVE)) {
    const [said, day] = ARCHIVED.exec(name) ?? []
    if (said === undefined) continue
    reader.lines(path.join(ARCHIVE, name), (value) => ({
      ...{ sort: 'archived', value },
      day: realDay(day) ?? dayOf(value['timestamp']),
    }))
  }
  found.left_out = reader.names('.').filter((name) => !TAKEN_OVER.includes(name))
  return found
}

type Value = FoundItem['value']

const LINK = 'it is a link, and what it leads to is not taken over'

function createReader(folder: string, { items, unread }: Found) {
  /** Null where there is none; what is there and cannot be read is told. */
  const bytesOf = (file: string): Buffer | null => {
    if (isLink(folder, path.dirname(file))) {
      unread.push({ file, reason: `${path.dirname(file)}: ${LINK}` })
      return null
    }
    const read = readPlainFile(path.join(folder, file), LIMITS.import_file_bytes_max)
    if (read === null || Buffer.isBuffer(read)) return read
    unread.push({ file, ...read })
    return null
  }

  const read = (bytes: Buffer, spot: Spot, take: (said: unknown) => void): void => {
    if (bytes.toString().trim() === '') return
    let said: unknown
    try {
      // Bytes that are no text would be taken over as something else.
      said = handwrittenJson(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
    } catch (error) {
      unread.push({ ...spot, reason: whyNoJson(error) })
      return
    }
    take(said)
  }

  const object = (said: unknown, spot: Spot, take: (value: Value) => Omit<FoundItem, keyof Spot>): void => {
    if (typeof said === 'object' && said !== null && !Array.isArray(said))
      items.push({ ...spot, ...take(said as Value) })
    else unread.push({ ...spot, reason: 'it is no JSON object' })
  }

  return {
    names(directory: string): string[] {
      try {
        if (isLink(folder, directory)) throw new Error(LINK)
        return fs.readdirSync(path.join(folder, directory)).sort()
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
          unread.push({ file: directory, reason: (error as Error).message })
        return []
      }
    },
    lines(file: string, take: (value: Value) => Omit<FoundItem, keyof Spot>): void {
      for (const [at, line] of linesIn(bytesOf(file)).entries()) {
        const spot = { file, line: at + 1 }
        read(line, spot, (said) => object(said, spot, take))
      }
    },
    list(sort: ImportSort, file: string): void {
      const bytes = bytesOf(file)
      if (bytes === null) return
      read(bytes, { file }, (said) => {
        if (!Array.isArray(said)) {
          unread.push({ file, reason: 'it is no list' })
          return
        }
        for (const [at, one] of said.entries())
          object(one, { file, item: at + 1 }, (value) => ({ sort, value }))
      })
    },
    whole(sort: ImportSort, file: string): void {
      const bytes = bytesOf(file)
      if (bytes !== null)
        read(bytes, { file }, (said) => object(said, { file }, (value) => ({ sort, value })))
    },
  }
}

function linesIn(bytes: Buffer | null): Buffer[] {
  if (bytes === null) return []
  const lines: Buffer[] = []
  let from = 0
  for (let end = bytes.indexOf(0x0a); end !== -1; end = bytes.indexOf(0x0a, from)) {
    lines.push(bytes.subarray(from, end))
    from = end + 1
  }
  return [...lines, bytes.subarray(from)]
}

/** Of a time that makes no sense the hub will say so itself. */
function dayOf(timestamp: unknown): string {
  const day = typeof timestamp === 'string' ? timestamp.slice(0, 'yyyy-mm-dd'.length) : ''
  return realDay(day) ?? '1970-01-01'
}

/** One day that the calendar does not know would have the hub refuse all that comes with it. */
function realDay(day: string | undefined): string | null {
  return ArchiveDay.safeParse(day).data ?? null
}

function isThere(folder: string, name: string): boolean {
  return fs.existsSync(path.join(folder, name))
}

/** Of a folder inside; which one was named itself is up to whoever named it. */
function isLink(folder: string, name: string): boolean {
  return name !== '.' && lstatOf(path.join(folder, name))?.isSymbolicLink() === true
}

function lstatOf(file: string): fs.Stats | undefined {
  return fs.lstatSync(file, { throwIfNoEntry: false })
}

function isDirectory(directory: string): boolean {
  return fs.statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true
}
