/** Files that are no records go elsewhere, each with its reason beside it. They are rare. */
import fs from 'node:fs'
import path from 'node:path'
import { codeOf, systemDisk } from './disk.ts'
import { stampAt } from './record-look.ts'

export interface RejectedRecord {
  file: string
  /** Null where it could not be moved: it stays where it is, and is passed over. */
  kept_in: string | null
  reason: string
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
  const { rejected, modes, onRejected } = options
  try {
    // Somebody may have mended it since it was looked at, or another reader have moved it.
    if (stampAt(file) !== stamp) return true
    fs.mkdirSync(rejected, { recursive: true, ...modeOf(modes.folder) })
    const kept_in = freePlace(rejected, path.basename(file))
    fs.renameSync(file, kept_in)
    fs.writeFileSync(`${kept_in}.reason`, `${reason}\n`, { flag: 'wx', ...modeOf(modes.file) })
    onRejected({ file, kept_in, reason })
    return true
  } catch (error) {
    const code = codeOf(error) ?? ''
    if (code === 'ENOENT') return true
    if (!['EACCES', 'EPERM', 'EROFS'].includes(code)) throw error
    onRejected({ file, kept_in: null, reason })
    return false
  }
}

/**
 * The same for a file that says what another text says better: it is kept, and then that takes its place. It stays
 * as it is where that cannot be.
 */
export function replaceFile(options: RejectOptions, { file, stamp, reason }: BadFile, text: string): void {
  const { modes, onRejected } = options
  try {
    fs.rmSync(`${file}.new`, { recursive: true, force: true })
    fs.writeFileSync(`${file}.new`, text, { flag: 'wx', flush: true, ...modeOf(modes.file) })
    if (stampAt(file) !== stamp) return fs.rmSync(`${file}.new`)
    const kept_in = copied(options, file, reason)
    fs.renameSync(`${file}.new`, file)
    onRejected({ file, kept_in, reason })
  } catch (error) {
    if (!['ENOENT', 'EACCES', 'EPERM', 'EROFS'].includes(codeOf(error) ?? '')) throw error
  }
}

/** The same for one whose place something else is about to take. */
export function keepCopy(options: RejectOptions, { file, stamp, reason }: BadFile): void {
  if (stampAt(file) !== stamp) return
  options.onRejected({ file, kept_in: copied(options, file, reason), reason })
}

function copied({ rejected, modes }: RejectOptions, file: string, reason: string): string {
  fs.mkdirSync(rejected, { recursive: true, ...modeOf(modes.folder) })
  const kept_in = freePlace(rejected, path.basename(file))
  // On the disk before anything takes the place of what it is a copy of.
  fs.writeFileSync(kept_in, fs.readFileSync(file), { flag: 'wx', flush: true, ...modeOf(modes.file) })
  fs.writeFileSync(`${kept_in}.reason`, `${reason}\n`, { flag: 'wx', flush: true, ...modeOf(modes.file) })
  systemDisk.syncDirectory(rejected)
  return kept_in
}

const modeOf = (mode: number | undefined) => (mode === undefined ? {} : { mode })

/** One where no reason stands either. */
function freePlace(folder: string, wanted: string): string {
  const taken = new Set(fs.readdirSync(folder))
  let name = wanted
  for (let count = 2; taken.has(name) || taken.has(`${name}.reason`); count += 1) name = `${wanted}-${count}`
  return path.join(folder, name)
}
