/**
 * Program names that survive an upgrade. `process.execPath` is resolved: with Homebrew, nvm or mise it contains a
 * version, and stops working when that version is removed.
 */
import fs from 'node:fs'
import path from 'node:path'

/** Properties of the running Node.js; `process` itself fits. */
export interface RunningNode {
  execPath: string
  argv0: string
  platform: NodeJS.Platform
}

/**
 * Returns the stable name of this Node.js: the first absolute path, from PATH or the command line, that leads to it
 * without a version; otherwise `node`, if it is on PATH only in a versioned directory; otherwise its resolved path.
 */
export function nodeProgram(env: NodeJS.ProcessEnv, running: RunningNode = process): string {
  const { execPath, argv0, platform } = running
  const started_by = path.isAbsolute(argv0) ? [argv0] : []
  const names = [...onPath('node', env, platform), ...started_by].filter((file) => leadsTo(file, execPath))
  const lasting = names.find((file) => !namesVersion(file))
  if (lasting !== undefined) return lasting
  if (!namesVersion(execPath)) return execPath
  return names.some((file) => file !== argv0) ? 'node' : execPath
}

/** Returns the executables of this name on PATH, in order. Relative directories are skipped. */
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

/** Whether a parent directory is named by a version, such as `v20.1.0`, or lasts only as long as a shell. */
export function namesVersion(file: string): boolean {
  return /\d+\.\d+\.\d+|fnm_multishells/.test(path.dirname(file))
}

/** Version managers install a program in place of Node.js that starts the right version. */
const SHIMS = /[/\\](shims|\.volta[/\\]bin)$/

function leadsTo(file: string, execPath: string): boolean {
  if (SHIMS.test(path.dirname(file))) return true
  try {
    return fs.realpathSync(file) === fs.realpathSync(execPath)
  } catch {
    return false
  }
}

export function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK)
    return fs.statSync(file).isFile()
  } catch {
    return false
  }
}
