/** Moves invalid record files to the quarantine folder, each with a file that contains the reason. */
import fs from 'node:fs'
import path from 'node:path'
import { codeOf, systemDisk } from '../journal/disk.ts'
import { stampAt } from './read-record.ts'
import { openRefused } from '../journal/disk-errors.ts'
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import { openPlain } from '../../../system/files/inside.ts'
import { isSystemError } from '../../../system/files/system-error.ts'

export interface QuarantineNotice {
  file: string
  /** Where the file is now; null if it could not be moved and is ignored. */
  kept_in: string | null
  reason: string
  /** Number of files with this reason, if there are several; `file` is the first of them. */
  count?: number
}

/** Combines notices with the same reason. */
export function groupByReason(notices: readonly QuarantineNotice[]): QuarantineNotice[] {
  const groups = new Map<string, QuarantineNotice[]>()
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
  /** Stamp at the time it was read. */
  stamp: string
  reason: string
}

export interface QuarantineOptions {
  rejected: string
  /** Modes of private folders and files; empty for the user's defaults. */
  modes: { folder?: number; file?: number }
  onRejected: (notice: QuarantineNotice) => void
}

/**
 * Moves a file to the quarantine folder, unless it has changed. Synchronous, so that the file that was checked is the one
 * moved. The caller must exclude other writers.
 *
 * Returns false if the file still exists and could not be moved.
 */
export function quarantineFile(options: QuarantineOptions, { file, stamp, reason }: BadFile): boolean {
  const { modes, onRejected } = options
  let kept_in: string | null = null
  try {
    // A person may have fixed it after it was read, or another reader may have moved it.
    if (stampAt(file) !== stamp) return true
    const target = freePath(options, file)
    fs.renameSync(file, target)
    kept_in = target
    writeReason(kept_in, reason, modeOf(modes.file))
  } catch (error) {
    // If the file still exists, the ENOENT is about the target.
    if (codeOf(error) === 'ENOENT' && !fs.existsSync(file)) return true
    rethrowUnlessDiskError(error)
  }
  onRejected({ file, kept_in, reason })
  return kept_in !== null
}

/**
 * Quarantines a copy of a file and replaces the file by a new text. Leaves the file unchanged if that fails. Returns the stamp
 * of the new file, or null if nothing was done.
 */
export function replaceKeepingCopy(
  options: QuarantineOptions,
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
      const kept_in = copyToQuarantine(options, file, reason)
      fs.renameSync(draft, file)
      onRejected({ file, kept_in, reason })
      return stampAt(file)
    } finally {
      fs.rmSync(draft, { force: true })
    }
  } catch (error) {
    rethrowUnlessDiskError(error)
    return null
  }
}

/** Quarantines a copy of a file that is about to be replaced. Throws if that fails. */
export function quarantineCopy(options: QuarantineOptions, { file, stamp, reason }: BadFile): void {
  if (stampAt(file) !== stamp) return
  options.onRejected({ file, kept_in: copyToQuarantine(options, file, reason), reason })
}

function copyToQuarantine(options: QuarantineOptions, file: string, reason: string): string {
  const { rejected, modes } = options
  const opened = openPlain(file)
  if ('why' in opened) throw openRefused(file, opened)
  const bytes = fs.readFileSync(opened.fd)
  fs.closeSync(opened.fd)
  const kept_in = freePath(options, file)
  const fd = fs.openSync(kept_in, 'wx', modes.file)
  try {
    // Durable before the original is replaced.
    fs.writeFileSync(fd, bytes, { flush: true })
  } catch (error) {
    // A partial copy would look like the whole file.
    fs.rmSync(kept_in, { force: true })
    throw error
  } finally {
    fs.closeSync(fd)
  }
  writeReason(kept_in, reason, { flush: true, ...modeOf(modes.file) })
  systemDisk.syncDirectory(rejected)
  return kept_in
}

/** Writes the reason file. A disk error is ignored, because the notice contains the reason, too. */
function writeReason(kept_in: string, reason: string, how: { flush?: boolean; mode?: number }): void {
  try {
    fs.writeFileSync(`${kept_in}.reason`, `${reason}\n`, { flag: 'wx', ...how })
  } catch (error) {
    rethrowUnlessDiskError(error)
  }
}

/** Rethrows errors that are bugs rather than disk errors. */
function rethrowUnlessDiskError(error: unknown): void {
  if (!(error instanceof TurnbellError) && !isSystemError(error)) throw error
}

const modeOf = (mode: number | undefined) => (mode === undefined ? {} : { mode })

/** Returns an unused path in the quarantine folder, which is created if missing. Its `.reason` is unused, too. */
function freePath({ rejected, modes }: QuarantineOptions, file: string): string {
  fs.mkdirSync(rejected, { recursive: true, ...modeOf(modes.folder) })
  const existing = new Set(fs.readdirSync(rejected))
  const base = path.basename(file)
  const isUsed = (name: string) => existing.has(name) || existing.has(`${name}.reason`)
  let name = base
  for (let count = 2; isUsed(name); count += 1) name = `${base}-${count}`
  return path.join(rejected, name)
}
