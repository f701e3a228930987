/** A note of a process in a file: whoever comes next finds it there, whatever became of the one that started it. */
import * as z from 'zod'
import { jsonAs } from '../contracts/json.ts'
import { processStartTime } from './processes.ts'
import { killGroup, programAlive, programIs } from './program.ts'
import { replaceFile } from './replace-file.ts'
import { readText } from './watch-text.ts'

const Note = z.object({ pid: z.number().int().positive(), started: z.string().nullable() })

/** Throws where the note cannot be written. The process group is killed then, because nobody would ever find it. */
export function noteProcess(file: string, pid: number): void {
  try {
    replaceFile(file, JSON.stringify({ pid, started: processStartTime(pid) }))
  } catch (error) {
    killGroup(pid)
    throw error
  }
}

/** Null where none is noted, or that process has ended. */
export function notedPid(file: string): number | null {
  const note = noted(file)
  return note !== null && programAlive(note.pid, note.started) ? note.pid : null
}

/** Kills the one that is noted, with its group. One that cannot be told from a later one is left alone. */
export function killNoted(file: string): void {
  const note = noted(file)
  if (note !== null && programIs(note.pid, note.started)) killGroup(note.pid)
}

function noted(file: string): z.infer<typeof Note> | null {
  return jsonAs(Note, readText(file))
}
