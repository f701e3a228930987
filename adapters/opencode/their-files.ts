/** The configuration that a person keeps for their opencode in all directories. */
import path from 'node:path'
import { userDirectory } from '../../src/system/home.ts'
import { readText } from '../../src/system/watch-text.ts'

/** The texts of those files that are there. */
export function theirFiles(env: NodeJS.ProcessEnv): string[] {
  const { XDG_CONFIG_HOME, OPENCODE_CONFIG, OPENCODE_CONFIG_DIR } = env
  const usual = path.join(XDG_CONFIG_HOME || path.join(userDirectory(), '.config'), 'opencode')
  const files = [usual, ...(OPENCODE_CONFIG_DIR ? [OPENCODE_CONFIG_DIR] : [])].flatMap((folder) =>
    ['config.json', 'opencode.json', 'opencode.jsonc'].map((name) => path.join(folder, name)),
  )
  return [...files, ...(OPENCODE_CONFIG ? [OPENCODE_CONFIG] : [])].flatMap((file) => readText(file) ?? [])
}
