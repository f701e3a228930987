/**
 * The app-server that unmanaged `codex` terminals share, one for each CODEX_HOME. Paths measured with Codex 0.169.0 and
 * 0.171.0.
 */
import path from 'node:path'
import type { InstanceId } from '../../contracts/ids.ts'
import { processInstance, readPidFile } from '../process/process-info.ts'

export function sharedSocket(codex_home: string): string {
  return path.join(codex_home, 'app-server-control', 'app-server-control.sock')
}

/** Returns its process, or null if the pid file is missing or its process has ended. */
export function sharedInstance(codex_home: string): InstanceId | null {
  const pid = readPidFile(path.join(codex_home, 'app-server-daemon', 'daemon.pid'))
  return pid === null ? null : processInstance(pid)
}
