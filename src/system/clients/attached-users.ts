/**
 * People attached to a managed agent: one marker file for each `turnbell run` process, in the persona's run directory.
 * While one is attached, the agent's permission requests are theirs to answer.
 */
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { processStartTime } from '../process/process-info.ts'
import { programAlive } from '../process/surface-command.ts'
import { readText } from '../files/watch-file.ts'
import type { ClientKind } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'

export interface AttachedUsers {
  /** Attaches a user's client while the process lives. */
  attach(pid: number): void
  detach(pid: number): void
  /** Whether any attached process lives. */
  isAttached(): boolean
  /** Resolves when no attached process lives. */
  untilDetached(): Promise<void>
  /** Calls when the last attached process has ended. Closing the handle stops it. */
  onAllDetached(call: () => void): { close(): void }
  /** Calls when `isAttached` changes, within `look_ms`. Closing the handle stops it. */
  onChange(call: () => void): { close(): void }
  /** Process ids of the attached clients. */
  pids(): number[]
}

/** `look_ms` is the polling interval. */
export function attachedUsers(
  run_dir: string,
  client: ClientKind,
  look_ms: number = LIMITS.attached_look_ms,
): AttachedUsers {
  const directory = path.join(run_dir, `${client}-joined`)
  const fileOf = (pid: number | string) => path.join(directory, String(pid))
  const isAlive = (pid: string) => programAlive(Number(pid), readText(fileOf(pid)) || null)
  /** Also counts people who left between two checks, because they may have left something open. */
  let sightings = 0
  function isAttached(): boolean {
    const attached = namesIn(directory).some(isAlive)
    if (attached) sightings += 1
    return attached
  }
  /** Shared by all callers. */
  let waiting: Promise<void> | null = null
  async function waitUntilDetached(): Promise<void> {
    while (isAttached()) await setTimeout(look_ms, undefined, { ref: false })
  }

  return {
    attach(pid) {
      fs.mkdirSync(directory, { recursive: true, mode: 0o700 })
      // A killed process could not remove its file.
      for (const other of namesIn(directory)) if (!isAlive(other)) fs.rmSync(fileOf(other), { force: true })
      fs.writeFileSync(fileOf(pid), processStartTime(pid) ?? '', { mode: 0o600 })
    },
    detach: (pid) => fs.rmSync(fileOf(pid), { force: true }),
    isAttached: isAttached,
    untilDetached: () => (waiting ??= waitUntilDetached().finally(() => (waiting = null))),
    onAllDetached(call) {
      let reported = sightings
      isAttached()
      const timer = setInterval(() => {
        if (isAttached() || sightings === reported) return
        reported = sightings
        call()
      }, look_ms)
      timer.unref()
      return { close: () => clearInterval(timer) }
    },
    onChange(call) {
      let last = isAttached()
      const timer = setInterval(() => {
        const is = isAttached()
        if (is === last) return
        last = is
        call()
      }, look_ms)
      timer.unref()
      return { close: () => clearInterval(timer) }
    },
    pids: () => namesIn(directory).filter(isAlive).map(Number),
  }
}

function namesIn(directory: string): string[] {
  try {
    return fs.readdirSync(directory)
  } catch {
    return []
  }
}
