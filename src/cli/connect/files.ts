/** Reads and writes a user's files: follows links, and writes all files or none. */
import { createHash, randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors/errors.ts'

export const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** Returns the path after following links, such as those to a dotfiles repository. The target need not exist. */
export function realFile(file: string): string {
  const stat = statLink(file)
  if (stat?.isSymbolicLink() === true) {
    requireNoLoop(file)
    // Relative to the real directory of the link, as the system resolves it.
    return realFile(path.resolve(fs.realpathSync(path.dirname(file)), fs.readlinkSync(file)))
  }
  const directory = path.dirname(file)
  return fs.existsSync(directory) ? path.join(fs.realpathSync(directory), path.basename(file)) : file
}

function statLink(file: string): fs.Stats | undefined {
  try {
    return fs.lstatSync(file, { throwIfNoEntry: false })
  } catch (error) {
    throw cannot('reached', file, error)
  }
}

/** Throws `config_invalid` for links that form a loop. */
function requireNoLoop(link: string): void {
  try {
    fs.statSync(link)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ELOOP') throw cannot('reached', link, error)
  }
}

/** Returns null if the file does not exist. Throws `config_invalid` for bytes that are not UTF-8 and would be changed by a write. */
export function readFile(file: string): string | null {
  let bytes: Buffer
  try {
    bytes = fs.readFileSync(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw cannot('read', file, error)
  }
  const text = bytes.toString('utf8')
  if (Buffer.from(text).equals(bytes)) return text
  throw new TurnbellError('config_invalid', {
    detail: `${file} is not UTF-8 text.`,
    hint: 'Save it as UTF-8, then try again. Nothing was changed.',
  })
}

/** A change of one file. A null text means that the file does not exist. */
export interface Change {
  file: string
  before: string | null
  after: string | null
  /** Applies if the file is created. */
  executable?: boolean
}

/**
 * Writes all changes. Throws `config_invalid` if a file cannot be written, after restoring the files that were written
 * before it and removing the directories that were created.
 */
export function writeAll(changes: readonly Change[]): void {
  const done: Change[] = []
  const made: string[] = []
  try {
    for (const change of changes) {
      if (change.after === change.before) continue
      if (change.after !== null) made.push(...missingDirectories(change.file))
      write(change.file, change.after, change.executable)
      done.push(change)
    }
  } catch (error) {
    for (const { file, before } of done.reverse()) write(file, before)
    removeEmpty(made)
    throw error
  }
}

function write(file: string, text: string | null, executable = false): void {
  try {
    if (text === null) {
      fs.rmSync(file, { force: true })
      return
    }
    fs.mkdirSync(path.dirname(file), { recursive: true })
    const mode = fs.statSync(file, { throwIfNoEntry: false })?.mode
    const default_mode = executable ? 0o777 : 0o666
    const temporary = path.join(path.dirname(file), `.${path.basename(file)}.${randomUUID()}`)
    try {
      // The temporary file is created with the mode of the original, so that a private file is private at all times.
      // The flag `wx` does not follow a link, which an untrusted repository may contain.
      fs.writeFileSync(temporary, text, {
        flag: 'wx',
        flush: true,
        mode: mode === undefined ? default_mode : mode & 0o777,
      })
      if (mode !== undefined) fs.chmodSync(temporary, mode & 0o7777)
      fs.renameSync(temporary, file)
    } finally {
      fs.rmSync(temporary, { force: true })
    }
  } catch (error) {
    throw cannot('written', file, error)
  }
}

/** Returns the directories that a write of the file will create, the outermost first. */
export function missingDirectories(file: string): string[] {
  const missing: string[] = []
  for (let at = path.dirname(file); !fs.existsSync(at); at = path.dirname(at)) missing.unshift(at)
  return missing
}

/** Removes the directories that are empty. */
export function removeEmpty(directories: readonly string[]): void {
  for (const directory of [...directories].reverse()) {
    if (fs.existsSync(directory) && fs.readdirSync(directory).length === 0) fs.rmdirSync(directory)
  }
}

function cannot(what: string, file: string, cause: unknown): TurnbellError {
  return new TurnbellError('config_invalid', {
    detail: `${file} cannot be ${what}: ${(cause as Error).message}`,
    hint: 'Check its owner and mode, then try again. Nothing was changed.',
    cause,
  })
}
