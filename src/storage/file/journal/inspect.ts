/**
 * Inspects the files of a store for faults. Takes no lock and changes nothing, so it can run next to a hub. Of the journal
 * it reads only first lines and lengths; damage in the middle is found by the hub when it opens the store.
 */
import fs from 'node:fs'
import path from 'node:path'
import { toProblem, TurnbellError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import type { StoreFault } from '../../../contracts/errors/store-fault.ts'
import { obstacleAt, moveAwayCommand } from '../../../system/files/in-place.ts'
import { shellWord } from '../../../system/process/shell-word.ts'
import { diskHint, isSystemError } from '../../../system/files/system-error.ts'
import { checkComplete, readCompleteness } from './completeness.ts'
import { systemDisk, type Disk } from './disk.ts'
import { readEpoch } from './fencing-epoch.ts'
import { unreadableEvents } from '../events/event-log.ts'
import { highWaterFile, readHighWater } from './high-water.ts'
import { checkChain } from '../signals/recovery.ts'
import { sortSegments } from './segments.ts'
import { snapshotFile } from '../signals/snapshot.ts'

export function inspectStore(directory: string, disk: Disk = systemDisk): StoreFault[] {
  const blocked = blockedDirectories(directory)
  if (blocked.length === 0 && !fs.existsSync(directory)) return []
  const inspections = [
    () => inspectJournal(directory, disk),
    () => inspectWitnesses(directory, disk),
    () =>
      inspectQuarantine(path.join(directory, 'journal'), /\.(torn-\d+(-\d+)?|rejected|not-a-file.*)$|^lost-/),
    () => inspectQuarantine(path.join(directory, 'records', 'rejected'), /./),
    () => inspectEvents(path.join(directory, 'events')),
  ]
  // Paths below a blocked directory fail with ENOTDIR, which is reported already.
  const ignored = blocked.length > 0 ? 'ENOTDIR' : null
  return [...blocked, ...inspections.flatMap((inspect) => faultsOf(inspect, ignored))]
}

/** Reports entries that are not directories where the store needs one. */
function blockedDirectories(directory: string): StoreFault[] {
  const records = path.join(directory, 'records')
  const kinds = namesIn(records)
    .filter((name) => /^[a-z_]+$/.test(name))
    .map((name) => path.join(records, name))
  const folders = ['journal', 'snapshot', 'events', 'records'].map((name) => path.join(directory, name))
  const blocking = [...folders, ...kinds].flatMap((folder) => obstacleAt(folder) ?? [])
  return [...new Set(blocking)].map((file) => ({
    state: 'broken',
    detail: `${file} is not a directory`,
    hint: `Move it away: \`${moveAwayCommand(file)}\`. Restore the directory from a copy if there is one, then start the hub.`,
  }))
}

function namesIn(folder: string): string[] {
  try {
    return fs.readdirSync(folder)
  } catch {
    return []
  }
}

/** Reports missing or damaged parts of the journal. An empty store has no faults. */
function inspectJournal(directory: string, disk: Disk): StoreFault[] {
  const journal = path.join(directory, 'journal')
  const inspect = () => {
    checkComplete(disk, directory)
    checkChain(sortSegments(readCompleteness(disk, directory).segments).live)
    readEpoch(disk, journal)
  }
  try {
    inspect()
  } catch (error) {
    // A running hub may have compacted segments during the inspection, so it is repeated once.
    if (!(error instanceof TurnbellError)) throw error
    inspect()
  }
  return []
}

/** Reports faults of the high-water mark and the snapshot, without which the hub still runs. */
function inspectWitnesses(directory: string, disk: Disk): StoreFault[] {
  const files = [highWaterFile(directory), snapshotFile(path.join(directory, 'snapshot'))]
  const faults = files.flatMap((file) => notAFile(file))
  const [high_water = ''] = files
  if (faults.length === 0 && fs.existsSync(high_water) && readHighWater(disk, directory) === null) {
    faults.push({
      state: 'warning',
      detail: `${high_water} is damaged: a missing end of the journal could go unnoticed`,
      hint: 'Start or stop the hub, which rewrites it.',
    })
  }
  return faults
}

function inspectQuarantine(folder: string, names: RegExp): StoreFault[] {
  const files = filesBelow(folder).filter((file) => names.test(path.basename(file)))
  const [first] = files
  if (first === undefined) return []
  return [
    {
      state: 'warning',
      detail: `${files.length} quarantined ${files.length === 1 ? 'file' : 'files'} in ${folder}, such as ${path.basename(first)}`,
      hint: `Read them, then remove them: \`rm ${files.slice(0, 3).map(shellWord).join(' ')}\`${files.length > 3 ? ', and so on' : ''}.`,
    },
  ]
}

function inspectEvents(folder: string): StoreFault[] {
  return ['events.jsonl', 'events.1.jsonl'].flatMap((name): StoreFault[] => {
    const file = path.join(folder, name)
    const fault = notAFile(file)
    if (fault.length > 0 || !fs.existsSync(file)) return fault
    const count = unreadableEvents(file)
    if (count === 0) return []
    return [
      {
        state: 'warning',
        detail: `${count} lines of ${file} cannot be read; no signal is lost`,
        hint: `Stop the hub (\`turnbell down\`), \`mv ${shellWord(file)} ${shellWord(`${file}.old`)}\`, and start it again.`,
      },
    ]
  })
}

/** Reports a directory, a device or a broken link at the path of a file. */
function notAFile(file: string): StoreFault[] {
  if (fs.lstatSync(file, { throwIfNoEntry: false }) === undefined) return []
  if (fs.statSync(file, { throwIfNoEntry: false })?.isFile() === true) return []
  return [
    {
      state: 'broken',
      detail: `${file} is not a regular file`,
      hint: `Move it away: \`${moveAwayCommand(file)}\`; the hub writes a new one at its next start or stop.`,
    },
  ]
}

function filesBelow(folder: string): string[] {
  const files: string[] = []
  const folders = [folder]
  while (folders.length > 0 && files.length < LIMITS.records_page_max) {
    const one = folders.pop() as string
    if (!fs.existsSync(one)) continue
    for (const entry of fs.readdirSync(one, { withFileTypes: true })) {
      const at = path.join(one, entry.name)
      if (entry.isDirectory() && !entry.name.includes('.not-a-file')) folders.push(at)
      else files.push(at)
    }
  }
  return files
}

/** Runs an inspection and reports its errors as faults, except system errors with the ignored code. */
function faultsOf(inspect: () => StoreFault[], ignored: string | null): StoreFault[] {
  try {
    return inspect()
  } catch (error) {
    if (error instanceof TurnbellError) {
      const { detail, hint } = toProblem(error, '')
      return [{ state: 'broken', detail, hint }]
    }
    if (!isSystemError(error)) throw error
    if (error.code === ignored) return []
    return [{ state: 'broken', detail: error.message, hint: `${diskHint(error.code)}.` }]
  }
}
