/** A person's files: read as they are, written where they really lie, all at once or not at all. */
import { createHash, randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors.ts'

export const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** Where the file really lies: a link (dotfiles in a repository) is followed, also to nothing yet. */
export function realFile(file: string): string {
  const stat = lookAt(file)
  if (stat?.isSymbolicLink() === true) {
    needEnd(file)
    // From where the link really lies, which is what the system does.
    return realFile(path.resolve(fs.realpathSync(path.dirname(file)), fs.readlinkSync(file)))
  }
  const directory = path.dirname(file)
  return fs.existsSync(directory) ? path.join(fs.realpathSync(directory), path.basename(file)) : file
}

function lookAt(file: string): fs.Stats | undefined {
  try {
    return fs.lstatSync(file, { throwIfNoEntry: false })
  } catch (error) {
    throw cannot('reached', file, error)
  }
}

/** Links may lead in a circle, which the system notices. */
function needEnd(link: string): void {
  try {
    fs.statSync(link)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ELOOP') throw cannot('reached', link, error)
  }
}

/** Null where there is none. @throws `config_invalid` for bytes that are no text: writing would change them. */
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
    detail: `${file} is no UTF-8 text.`,
    hint: 'Save it as UTF-8, then try again. Nothing was changed.',
  })
}

/** One file as it is to be; null for gone. */
export interface Change {
  file: string
  before: string | null
  after: string | null
  /** Where it is made anew. */
  executable?: boolean
}

/**
 * Writes them all. Where one cannot be written, those before it are put back, and no directory stays that was made.
 *
 * @throws `config_invalid`
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
    const fresh = executable ? 0o777 : 0o666
    const aside = path.join(path.dirname(file), `.${path.basename(file)}.${randomUUID()}`)
    try {
      // A private file stays private while it is written: its copy is made with its mode, not given it later.
      // The directory may be of a repository that somebody else has filled: a link that waits there is not followed.
      fs.writeFileSync(aside, text, {
        flag: 'wx',
        flush: true,
        mode: mode === undefined ? fresh : mode & 0o777,
      })
      if (mode !== undefined) fs.chmodSync(aside, mode & 0o7777)
      fs.renameSync(aside, file)
    } finally {
      fs.rmSync(aside, { force: true })
    }
  } catch (error) {
    throw cannot('written', file, error)
  }
}

/** The directories that writing the file will make, the outermost first. */
export function missingDirectories(file: string): string[] {
  const missing: string[] = []
  for (let at = path.dirname(file); !fs.existsSync(at); at = path.dirname(at)) missing.unshift(at)
  return missing
}

/** Those of them that are empty now. */
export function removeEmpty(directories: readonly string[]): void {
  for (const directory of [...directories].reverse()) {
    if (fs.existsSync(directory) && fs.readdirSync(directory).length === 0) fs.rmdirSync(directory)
  }
}

function cannot(what: string, file: string, cause: unknown): TurnbellError {
  return new TurnbellError('config_invalid', {
    detail: `${file} cannot be ${what}: ${(cause as Error).message}`,
    hint: 'Look at its owner and mode, then try again. Nothing was changed.',
    cause,
  })
}
