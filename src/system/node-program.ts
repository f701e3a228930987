/**
 * Names of programs that outlive an upgrade. `process.execPath` is resolved: below Homebrew, nvm or mise it names one
 * version, and what was written with it stops working once that version is removed.
 */
import fs from 'node:fs'
import path from 'node:path'

/** What is known of the running Node; `process` itself fits. */
export interface RunningNode {
  execPath: string
  argv0: string
  platform: NodeJS.Platform
}

/**
 * The name by which this Node is found again: the first absolute path, by PATH or by how it was started, that leads
 * to it and names no version; else `node`, where PATH has it only in a folder of its version; else its resolved path.
 */
export function nodeProgram(env: NodeJS.ProcessEnv, running: RunningNode = process): string {
  const { execPath, argv0, platform } = running
  const given = path.isAbsolute(argv0) ? [argv0] : []
  const found = [...onPath('node', env, platform), ...given].filter((file) => leadsTo(file, execPath))
  const lasting = found.find((file) => !namesVersion(file))
  if (lasting !== undefined) return lasting
  if (!namesVersion(execPath)) return execPath
  return found.some((file) => file !== argv0) ? 'node' : execPath
}

/** The executable files of this name in the folders of PATH, in their order. Relative folders are left out. */
export function onPath(
  name: string,
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): string[] {
  const names = platform === 'win32' ? [`${name}.exe`, `${name}.cmd`] : [name]
  return (env['PATH'] ?? '')
    .split(path.delimiter)
    .filter((folder) => path.isAbsolute(folder))
    .flatMap((folder) => names.map((one) => path.join(folder, one)))
    .filter(isExecutable)
}

/** A folder on the way to it is called by a version, as `v20.1.0`, or lasts only as long as a shell. */
export function namesVersion(file: string): boolean {
  return /\d+\.\d+\.\d+|fnm_multishells/.test(path.dirname(file))
}

/** Version managers put a program of their own in Node's place, which starts the right one. */
const SHIMS = /[/\\](shims|\.volta[/\\]bin)$/

function leadsTo(file: string, execPath: string): boolean {
  if (SHIMS.test(path.dirname(file))) return true
  try {
    return fs.realpathSync(file) === fs.realpathSync(execPath)
  } catch {
    return false
  }
}

function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK)
    return fs.statSync(file).isFile()
  } catch {
    return false
  }
}
