/**
 * Reads a `.twining` folder: entries as lines, decisions as files, the graph as two lists, archives as lines.
 * Writes nothing there.
 */
import fs from 'node:fs'
import path from 'node:path'
import type { Location, ParsedImport, ParsedItem } from './parsed-import.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { handwrittenJson, jsonErrorText } from '../../contracts/validation/json.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { readPlainFile } from '../../system/files/safe-read.ts'
import { ArchiveDay, type ImportSort } from '../../contracts/memory/import.ts'

const NAME = '.twining'
const BLACKBOARD = 'blackboard.jsonl'
const DECISIONS = 'decisions'
const GRAPH = 'graph'
const ARCHIVE = 'archive'
const INDEX = 'index.json'
const ARCHIVED = /^(?:(\d{4}-\d\d-\d\d)-)?.*blackboard\.jsonl$/
/** Entries of the folder that are imported, or need no mention in the report. */
const IMPORTED: readonly string[] = [BLACKBOARD, DECISIONS, GRAPH, ARCHIVE, '.gitignore']

/** Returns the folder and its project; null if the folder has another name. Throws `usage_invalid`. */
export function twiningFolder(directory: string): { folder: string; project: string | null } {
  const inside = path.join(directory, NAME)
  const folder = isDirectory(inside) ? inside : directory
  if (path.basename(folder) === NAME && lstatOf(folder)?.isSymbolicLink() === true)
    throw new TurnbellError('usage_invalid', {
      detail: `${folder} is a link, and its target may be the memory of another project.`,
      hint: 'Name the target folder, if that is the one you mean.',
    })
  if (isDirectory(folder) && [BLACKBOARD, DECISIONS, GRAPH].some((name) => isThere(folder, name)))
    return { folder, project: path.basename(folder) === NAME ? path.dirname(folder) : null }
  throw new TurnbellError('usage_invalid', {
    detail: isDirectory(directory)
      ? `${directory} is not a ${NAME} folder and does not contain one: there is no ${BLACKBOARD}, ${DECISIONS} or ${GRAPH}.`
      : `${directory} is not a directory.`,
    hint: `Name the ${NAME} folder, or the project that contains it.`,
  })
}

export function readTwining(folder: string): ParsedImport {
  const parsed: ParsedImport = { items: [], unread: [], left_out: [] }
  const reader = createReader(folder, parsed)
  reader.list('entities', path.join(GRAPH, 'entities.json'))
  reader.list('relations', path.join(GRAPH, 'relations.json'))
  for (const name of reader.names(DECISIONS)) {
    if (name.endsWith('.json') && name !== INDEX) reader.whole('decisions', path.join(DECISIONS, name))
  }
  reader.lines(BLACKBOARD, (value) => ({ sort: 'entries', value }))
  for (const name of reader.names(ARCHIVE)) {
    const [match, day] = ARCHIVED.exec(name) ?? []
    if (match === undefined) continue
    reader.lines(path.join(ARCHIVE, name), (value) => ({
      sort: 'archived',
      value,
      day: validDay(day) ?? dayOf(value['timestamp']),
    }))
  }
  parsed.left_out = reader.names('.').filter((name) => !IMPORTED.includes(name))
  return parsed
}

type Value = ParsedItem['value']

const LINK = 'it is a link, and its target is not imported'

function createReader(folder: string, { items, unread }: ParsedImport) {
  /** Returns null if the file does not exist, or is not readable and therefore reported in `unread`. */
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

  const read = (bytes: Buffer, location: Location, take: (json: unknown) => void): void => {
    if (bytes.toString().trim() === '') return
    let json: unknown
    try {
      // Without `fatal`, invalid bytes would be imported as replacement characters.
      json = handwrittenJson(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
    } catch (error) {
      unread.push({ ...location, reason: jsonErrorText(error) })
      return
    }
    take(json)
  }

  const object = (
    json: unknown,
    location: Location,
    take: (value: Value) => Omit<ParsedItem, keyof Location>,
  ): void => {
    if (typeof json === 'object' && json !== null && !Array.isArray(json))
      items.push({ ...location, ...take(json as Value) })
    else unread.push({ ...location, reason: 'it is not a JSON object' })
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
    lines(file: string, take: (value: Value) => Omit<ParsedItem, keyof Location>): void {
      for (const [at, line] of linesIn(bytesOf(file)).entries()) {
        const location = { file, line: at + 1 }
        read(line, location, (json) => object(json, location, take))
      }
    },
    list(sort: ImportSort, file: string): void {
      const bytes = bytesOf(file)
      if (bytes === null) return
      read(bytes, { file }, (json) => {
        if (!Array.isArray(json)) {
          unread.push({ file, reason: 'it is not a list' })
          return
        }
        for (const [at, item] of json.entries())
          object(item, { file, item: at + 1 }, (value) => ({ sort, value }))
      })
    },
    whole(sort: ImportSort, file: string): void {
      const bytes = bytesOf(file)
      if (bytes !== null)
        read(bytes, { file }, (json) => object(json, { file }, (value) => ({ sort, value })))
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

/** Returns 1970-01-01 for an invalid time, which the hub reports. */
function dayOf(timestamp: unknown): string {
  const day = typeof timestamp === 'string' ? timestamp.slice(0, 'yyyy-mm-dd'.length) : ''
  return validDay(day) ?? '1970-01-01'
}

/** Returns null for a day that is not in the calendar, because the hub would refuse the whole call for it. */
function validDay(day: string | undefined): string | null {
  return ArchiveDay.safeParse(day).data ?? null
}

function isThere(folder: string, name: string): boolean {
  return fs.existsSync(path.join(folder, name))
}

/** Returns true for a link inside the folder. The folder itself was named by the user. */
function isLink(folder: string, name: string): boolean {
  return name !== '.' && lstatOf(path.join(folder, name))?.isSymbolicLink() === true
}

function lstatOf(file: string): fs.Stats | undefined {
  return fs.lstatSync(file, { throwIfNoEntry: false })
}

function isDirectory(directory: string): boolean {
  return fs.statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true
}
