/** File that identifies a process, for later processes, even if the one that started it has ended. */
import * as z from 'zod'
import { parseJsonAs } from '../../contracts/validation/json.ts'
import { processStartTime } from './process-info.ts'
import { killGroup, programAlive, programIs } from './surface-command.ts'
import { writeFileAtomic } from '../files/atomic-write.ts'
import { readText } from '../files/watch-file.ts'

const PidFile = z.object({ pid: z.number().int().positive(), started: z.string().nullable() })

/** Throws if the file cannot be written. The process group is killed then, because it could not be found again. */
export function writePidFile(file: string, pid: number): void {
  try {
    writeFileAtomic(file, JSON.stringify({ pid, started: processStartTime(pid) }))
  } catch (error) {
    killGroup(pid)
    throw error
  }
}

/** Returns null if there is no file, or if its process has ended. */
export function livePid(file: string): number | null {
  const note = readNote(file)
  return note !== null && programAlive(note.pid, note.started) ? note.pid : null
}

/** Kills the identified process with its group. A process that may be a later one with the same pid is not killed. */
export function killByPidFile(file: string): void {
  const note = readNote(file)
  if (note !== null && programIs(note.pid, note.started)) killGroup(note.pid)
}

function readNote(file: string): z.infer<typeof PidFile> | null {
  return parseJsonAs(PidFile, readText(file))
}
