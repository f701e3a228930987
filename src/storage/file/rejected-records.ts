/** Files that are no records go elsewhere, each with its reason beside it. They are rare. */
import fs from 'node:fs'
import path from 'node:path'
import { codeOf, systemDisk } from './disk.ts'
import { stampAt } from './record-look.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { isSystemError } from '../../system/system-error.ts'

export interface RejectedRecord {
  file: string
  /** Null where it could not be moved, whatever the disk says: it stays where it is, and is passed over. */
  kept_in: string | null
  reason: string
  /** Number of files with this reason, if there are several; `file` is the first of them. */
  count?: number
}

/** One notice for each reason. */
export function grouped(notices: readonly RejectedRecord[]): RejectedRecord[] {
  const groups = new Map<string, RejectedRecord[]>()
  for (const notice of notices) {
    const key = JSON.stringify([notice.reason, notice.kept_in === null])
    groups.set(key, [...(groups.get(key) ?? []), notice])
  }
  return [...groups.values()].flatMap(([first, ...more]) => {
    if (first === undefined) return []
    return [more.length === 0 ? first : { ...first, count: more.length + 1 }]
  })
}

export interface BadFile {
  file: string
  /** As it was when it was looked at. */
  stamp: string
  reason: string
}

export interface RejectOptions {
  rejected: string
  /** Mode of a folder and of a file, where they are ours alone. */
  modes: { folder?: number; file?: number }
  onRejected: (notice: RejectedRecord) => void
}

/**
 * Where nobody else is at it. In one go: what was looked at again is what is moved.
 *
 * False where the file could neither be moved nor is gone.
 */
export function rejectFile(options: RejectOptions, { file, stamp, reason }: BadFile): boolean {
  const { modes, onRejected } = options
  let kept_in: string | null = null
  try {
    // Somebody may have mended it since it was looked at, or another reader have moved it.
    if (stampAt(file) !== stamp) return true
    const place = freePlace(options, file)
    fs.renameSync(file, place)
    kept_in = place
    writeReason(kept_in, reason, modeOf(modes.file))
  } catch (error) {
    // Where it still stands it is the place for it that is not there.
    if (codeOf(error) === 'ENOENT' && !fs.existsSync(file)) return true
    needRefusal(error)
  }
  onRejected({ file, kept_in, reason })
  return kept_in !== null
}

/**
 * The same for a file that says what another text says better: it is kept, and then that takes its place. It stays
 * as it is where that cannot be. Answers the stamp of what stands there now, or null where nothing was done.
 */
export function replaceFile(
  options: RejectOptions,
  { file, stamp, reason }: BadFile,
  text: string,
): string | null {
  const { modes, onRejected } = options
  const draft = `${file}.new`
  try {
    try {
      fs.rmSync(draft, { recursive: true, force: true })
      fs.writeFileSync(draft, text, { flag: 'wx', flush: true, ...modeOf(modes.file) })
      if (stampAt(file) !== stamp) return null
      const kept_in = copied(options, file, reason)
      fs.renameSync(draft, file)
      onRejected({ file, kept_in, reason })
      return stampAt(file)
    } finally {
      fs.rmSync(draft, { force: true })
    }
  } catch (error) {
    needRefusal(error)
    return null
  }
}

/** The same for one whose place something else is about to take. Throws where it cannot be kept. */
export function keepCopy(options: RejectOptions, { file, stamp, reason }: BadFile): void {
  if (stampAt(file) !== stamp) return
  options.onRejected({ file, kept_in: copied(options, file, reason), reason })
}

function copied(options: RejectOptions, file: string, reason: string): string {
  const { rejected, modes } = options
  const bytes = fs.readFileSync(file)
  const kept_in = freePlace(options, file)
  const fd = fs.openSync(kept_in, 'wx', modes.file)
  try {
    // On the disk before anything takes the place of what it is a copy of.
    fs.writeFileSync(fd, bytes, { flush: true })
  } catch (error) {
    // Half of it would be taken for all there was.
    fs.rmSync(kept_in, { force: true })
    throw error
  } finally {
    fs.closeSync(fd)
  }
  writeReason(kept_in, reason, { flush: true, ...modeOf(modes.file) })
  systemDisk.syncDirectory(rejected)
  return kept_in
}

/** The notice says it as well, where the disk takes the file and then no more. */
function writeReason(kept_in: string, reason: string, how: { flush?: boolean; mode?: number }): void {
  try {
    fs.writeFileSync(`${kept_in}.reason`, `${reason}\n`, { flag: 'wx', ...how })
  } catch (error) {
    needRefusal(error)
  }
}

/** Throws it again where it is none of the disk's, but a mistake of ours. */
function needRefusal(error: unknown): void {
  if (!(error instanceof TurnbellError) && !isSystemError(error)) throw error
}

const modeOf = (mode: number | undefined) => (mode === undefined ? {} : { mode })

/** One among the rejected, whose folder is made where it is missing; no reason stands there either. */
function freePlace({ rejected, modes }: RejectOptions, file: string): string {
  fs.mkdirSync(rejected, { recursive: true, ...modeOf(modes.folder) })
  const taken = new Set(fs.readdirSync(rejected))
  const wanted = path.basename(file)
  let name = wanted
  for (let count = 2; taken.has(name) || taken.has(`${name}.reason`); count += 1) name = `${wanted}-${count}`
  return path.join(rejected, name)
}
