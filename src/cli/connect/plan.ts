/** What connecting and disconnecting would do to each file. Reads, writes nothing. */
import { createTwoFilesPatch } from 'diff'
import { missingDirectories, readFile, realFile, sha256, type Change } from './files.ts'
import type { Connection, RecordedFile } from './record.ts'
import { holds, isHollow, leftOf, put, take, type Wanted } from './wanted.ts'

export interface PlannedFile extends Change {
  change: 'created' | 'changed' | 'unchanged' | 'restored' | 'removed' | 'kept'
  /** Null where nothing of ours is in the file. */
  recorded: RecordedFile | null
  /** What of ours still acts in it after a disconnect, and has to be removed by hand. */
  left?: string
}

export interface Plan {
  files: PlannedFile[]
  /** False where every file is as it should be already. */
  changed: boolean
}

/** `old` is what the same persona's earlier connection wrote. */
export function planConnect(wanted: readonly Wanted[], old: Connection | null): Plan {
  const files = wanted.map((one) => {
    const file = realFile(one.file)
    return connectedFile({ ...one, file }, old?.files.find((recorded) => recorded.file === file) ?? null)
  })
  const outdated = old?.files.filter((recorded) => files.every(({ file }) => file !== recorded.file)) ?? []
  return planOf([...files, ...outdated.map((recorded) => disconnectedFile(recorded))])
}

export function planDisconnect(connection: Connection, others: readonly Connection[]): Plan {
  return planOf(
    connection.files.map((recorded) => {
      if (heirOf(recorded, others) === undefined) return disconnectedFile(recorded)
      const before = readFile(recorded.file)
      return { file: recorded.file, before, after: before, change: 'kept' as const, recorded }
    }),
  )
}

/** Another connection that needs the same lines: two clients read one AGENTS.md, two work trees have one hook. */
export function heirOf(
  { file, written }: RecordedFile,
  others: readonly Connection[],
): Connection | undefined {
  if (written.form !== 'markdown' && written.form !== 'script') return undefined
  return others.find((other) => other.files.some((shared) => shared.file === file))
}

/** As `diff -u` would show it; empty where nothing changes. */
export function patchOf({ files }: Plan): string {
  return files
    .filter(({ before, after }) => before !== after)
    .map(({ file, before, after }) =>
      createTwoFilesPatch(
        before === null ? '/dev/null' : file,
        after === null ? '/dev/null' : file,
        before ?? '',
        after ?? '',
        undefined,
        undefined,
        { headerOptions: { includeIndex: false, includeUnderline: false, includeFileHeaders: true } },
      ),
    )
    .join('')
}

function planOf(files: PlannedFile[]): Plan {
  return { files, changed: files.some(({ before, after }) => before !== after) }
}

function connectedFile(wanted: Wanted, old: RecordedFile | null): PlannedFile {
  const { file } = wanted
  const before = readFile(file)
  if (before !== null && holds(wanted, before)) {
    return { file, before, after: before, change: 'unchanged', recorded: old ?? adopted(wanted, before) }
  }
  const base = old === null || before === null ? (before ?? '') : taken(old, before)
  const { text: after, written } = put(wanted, base)
  const created = before === null || (old?.created ?? false)
  const directories = old?.directories ?? (before === null ? missingDirectories(file) : [])
  const change = before === null ? 'created' : 'changed'
  const executable = wanted.form === 'script'
  return {
    file,
    before,
    after,
    executable,
    change,
    recorded: recordOf(file, after, created, directories, written),
  }
}

/**
 * Entries that name this turnbell, this home and this persona are ours, also where the record of them is lost
 * or says another place: the project was moved. They can be taken out by their names, not to the byte.
 */
function adopted(wanted: Wanted, text: string): RecordedFile {
  // What heads a new file may be a person's here.
  const { written } = put(wanted.form === 'jsonc' ? { ...wanted, head: [] } : wanted, '')
  if (wanted.form === 'whole') return recordOf(wanted.file, text, true, [], written)
  return { ...recordOf(wanted.file, text, false, [], written), sha256: UNKNOWN }
}

/** The hash of no text: it counts as edited. */
const UNKNOWN = ''

/** Whether it was recorded when the lines were written, so that they can be taken out to the byte. */
export const isExact = ({ sha256: hash }: RecordedFile) => hash !== UNKNOWN

function disconnectedFile(recorded: RecordedFile): PlannedFile {
  const { file, created, written } = recorded
  const before = readFile(file)
  if (before === null) return { file, before, after: null, change: 'unchanged', recorded: null }
  const rest = taken(recorded, before)
  const after = created && rest !== before && isHollow(file, rest, written) ? null : rest
  const mine = written.splices.length > 0 && after === before
  const change = after === null ? 'removed' : mine && written.form === 'whole' ? 'kept' : 'restored'
  const left = after === null ? null : leftOf(file, after, written)
  if (left !== null) return { file, before, after, change: 'kept', recorded, left }
  return {
    file,
    before,
    after,
    change: after === before && change === 'restored' ? 'unchanged' : change,
    recorded: null,
  }
}

const taken = (recorded: RecordedFile, text: string) =>
  take(recorded.file, text, recorded.written, sha256(text) === recorded.sha256)

function recordOf(
  file: string,
  text: string,
  created: boolean,
  directories: string[],
  written: RecordedFile['written'],
): RecordedFile {
  return { file, created, directories, sha256: sha256(text), written }
}
