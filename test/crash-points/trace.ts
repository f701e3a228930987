/**
 * The file calls of recorded processes, in the order in which they completed. Marks between them record requests to the
 * hub and its responses. One JSON object per line.
 */
import fs from 'node:fs'

/** Identifies an opened file across all processes. */
export type Handle = string

export type FileCall =
  | { do: 'open'; handle: Handle; path: string; made: boolean; emptied: boolean }
  | { do: 'write'; handle: Handle; at: number; base64: string; changed_at: number }
  | { do: 'truncate'; handle: Handle; to: number; changed_at: number }
  /** `meanwhile`: number of calls that completed while the sync was running; the sync does not cover them. */
  | { do: 'sync'; handle: Handle; meanwhile: number }
  | { do: 'rename'; from: string; to: string }
  | { do: 'link'; from: string; to: string }
  | { do: 'remove'; path: string }
  | { do: 'make_directory'; path: string }
  | { do: 'remove_directory'; path: string }

/** `asked`, and later `answered`: a request with this name. `now_ms`: the hub's clock. */
export type Mark = { mark: 'asked' | 'answered'; name: string; now_ms: number }

export type TraceLine = FileCall | Mark

export interface Trace {
  calls: FileCall[]
  /** `after`: number of calls before the mark. */
  marks: (Mark & { after: number })[]
}

export function readTrace(file: string): Trace {
  const trace: Trace = { calls: [], marks: [] }
  for (const text of fs.readFileSync(file, 'utf8').split('\n')) {
    if (text === '') continue
    const line = JSON.parse(text) as TraceLine
    if ('do' in line) trace.calls.push(line)
    else trace.marks.push({ ...line, after: trace.calls.length })
  }
  return trace
}

/** Adds a mark from outside of the recorded processes, while none of them writes. */
export function addMark(file: string, mark: Mark): void {
  fs.appendFileSync(file, `${JSON.stringify(mark)}\n`)
}
