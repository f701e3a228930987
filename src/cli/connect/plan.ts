/** Plans the changes of a connect or disconnect to each file. Writes nothing. */
import { createTwoFilesPatch } from 'diff'
import { missingDirectories, readFile, realFile, sha256, type Change } from './files.ts'
import type { Connection, RecordedFile } from './connection-record.ts'
import { holds, isHollow, leftOf, put, take, type DesiredFile } from './desired-config.ts'

export interface PlannedFile extends Change {
  change: 'created' | 'changed' | 'unchanged' | 'restored' | 'removed' | 'kept'
  /** Null if the file contains nothing of turnbell. */
  recorded: RecordedFile | null
  /** Active entry that remains after a disconnect and must be removed by hand. */
  left?: string
}

export interface Plan {
  files: PlannedFile[]
  /** False if every file already has the desired content. */
  changed: boolean
}

/** `old` is the record of the persona's previous connection. */
export function planConnect(desired: readonly DesiredFile[], old: Connection | null): Plan {
  const files = desired.map((content) => {
    const file = realFile(content.file)
    return connectedFile({ ...content, file }, old?.files.find((recorded) => recorded.file === file) ?? null)
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

/** Returns another connection that needs the same lines, because two clients share an AGENTS.md or two work trees a hook. */
export function heirOf(
  { file, written }: RecordedFile,
  others: readonly Connection[],
): Connection | undefined {
  if (written.form !== 'markdown' && written.form !== 'script') return undefined
  return others.find((other) => other.files.some((shared) => shared.file === file))
}

/** Returns the changes in the format of `diff -u`; empty if nothing changes. */
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

function connectedFile(desired: DesiredFile, old: RecordedFile | null): PlannedFile {
  const { file } = desired
  const before = readFile(file)
  if (before !== null && holds(desired, before)) {
    return { file, before, after: before, change: 'unchanged', recorded: old ?? adopted(desired, before) }
  }
  const base = old === null || before === null ? (before ?? '') : withoutWritten(old, before)
  const { text: after, written } = put(desired, base)
  const created = before === null || (old?.created ?? false)
  const directories = old?.directories ?? (before === null ? missingDirectories(file) : [])
  const change = before === null ? 'created' : 'changed'
  const executable = desired.form === 'script'
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
 * Returns a record for entries that name this turnbell, home and persona but have no record, for example after the
 * project was moved. They can be removed by their names, but not byte for byte.
 */
function adopted(desired: DesiredFile, text: string): RecordedFile {
  // Without `head`, because the person may have written it.
  const { written } = put(desired.form === 'jsonc' ? { ...desired, head: [] } : desired, '')
  if (desired.form === 'whole') return recordOf(desired.file, text, true, [], written)
  return { ...recordOf(desired.file, text, false, [], written), sha256: UNKNOWN }
}

/** Equals the hash of no text, so that the file counts as edited. */
const UNKNOWN = ''

/** Returns true if the record was made when the lines were written, so that they can be removed byte for byte. */
export const isExact = ({ sha256: hash }: RecordedFile) => hash !== UNKNOWN

function disconnectedFile(recorded: RecordedFile): PlannedFile {
  const { file, created, written } = recorded
  const before = readFile(file)
  if (before === null) return { file, before, after: null, change: 'unchanged', recorded: null }
  const rest = withoutWritten(recorded, before)
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

const withoutWritten = (recorded: RecordedFile, text: string) =>
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
