/**
 * The app-server that plain `codex` starts once for each CODEX_HOME, for all its terminals. Paths measured with Codex
 * 0.169.0.
 */
import path from 'node:path'
import type { InstanceId } from '../contracts/ids.ts'
import { processInstance, readPidFile } from './processes.ts'

export function sharedSocket(codex_home: string): string {
  return path.join(codex_home, 'app-server-control', 'app-server-control.sock')
}

/** Its process; null where its pid file is missing or names none that lives. */
export function sharedInstance(codex_home: string): InstanceId | null {
  const pid = readPidFile(path.join(codex_home, 'app-server-daemon', 'daemon.pid'))
  return pid === null ? null : processInstance(pid)
}
