/**
 * Which persons sit at the agent that a persona's daemon keeps: one file for each, named after the process of
 * `turnbell run`, in the persona's run directory. While one is there, what the agent asks is theirs to answer.
 */
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { processStartTime } from './processes.ts'
import { programAlive } from './program.ts'
import { readText } from './watch-text.ts'
import type { ClientKind } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits.ts'

export interface Joined {
  /** A person's client joins, for as long as the process lives. */
  join(pid: number): void
  leave(pid: number): void
  /** Whether any that joined still lives. */
  isJoined(): boolean
  /** Resolves once none does. */
  untilAlone(): Promise<void>
  /** Calls whenever the last of those that were seen here is gone. The handle ends it. */
  onAllLeft(call: () => void): { close(): void }
  /** Calls whenever `isJoined` changes, within `look_ms`. The handle ends it. */
  onChange(call: () => void): { close(): void }
  /** Process ids of the clients that are joined. */
  pids(): number[]
}

/** `look_ms` is how often it is looked who is there. */
export function joined(run_dir: string, client: ClientKind, look_ms: number = LIMITS.joined_look_ms): Joined {
  const directory = path.join(run_dir, `${client}-joined`)
  const fileOf = (pid: number | string) => path.join(directory, String(pid))
  const isThere = (pid: string) => programAlive(Number(pid), readText(fileOf(pid)) || null)
  /** Also of one who came and left between two looks: something may have been left open for them. */
  let sightings = 0
  function isJoined(): boolean {
    const is = namesIn(directory).some(isThere)
    if (is) sightings += 1
    return is
  }
  /** However many wait, one looks. */
  let leaving: Promise<void> | null = null
  async function untilNobodyIs(): Promise<void> {
    while (isJoined()) await setTimeout(look_ms, undefined, { ref: false })
  }

  return {
    join(pid) {
      fs.mkdirSync(directory, { recursive: true, mode: 0o700 })
      // Who was killed could not take its file away.
      for (const other of namesIn(directory)) if (!isThere(other)) fs.rmSync(fileOf(other), { force: true })
      fs.writeFileSync(fileOf(pid), processStartTime(pid) ?? '', { mode: 0o600 })
    },
    leave: (pid) => fs.rmSync(fileOf(pid), { force: true }),
    isJoined,
    untilAlone: () => (leaving ??= untilNobodyIs().finally(() => (leaving = null))),
    onAllLeft(call) {
      let told_of = sightings
      isJoined()
      const timer = setInterval(() => {
        if (isJoined() || sightings === told_of) return
        told_of = sightings
        call()
      }, look_ms)
      timer.unref()
      return { close: () => clearInterval(timer) }
    },
    onChange(call) {
      let last = isJoined()
      const timer = setInterval(() => {
        const is = isJoined()
        if (is === last) return
        last = is
        call()
      }, look_ms)
      timer.unref()
      return { close: () => clearInterval(timer) }
    },
    pids: () => namesIn(directory).filter(isThere).map(Number),
  }
}

function namesIn(directory: string): string[] {
  try {
    return fs.readdirSync(directory)
  } catch {
    return []
  }
}
