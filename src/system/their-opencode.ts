/** A person's own opencode, before it is started: which it is, and how they have configured it. */
import path from 'node:path'
import { cautionAbout } from '../contracts/client-versions.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { Log } from '../ports/log.ts'
import { askProgram } from './ask-program.ts'
import { settingsDirectory, userDirectory } from './home.ts'
import { readText } from './watch-text.ts'

/** Whether a command line, such as `opencode acp`, starts it by its own name. */
export function isOpencode(argv: readonly string[]): boolean {
  return path.parse(argv[0] ?? '').name === 'opencode'
}

/** As the program tells it, which takes a second or two; null where it does not. What an older one lacks is logged. */
export async function opencodeVersion(program: string, log: Pick<Log, 'warn'>): Promise<string | null> {
  const asked = await askProgram(program, ['--version'], LIMITS.client_version_ms).catch(() => null)
  const version = (asked?.code === 0 && /\d+\.\d+\.\d+[^\s)]*/.exec(asked.stdout)?.[0]) || null
  if (version === null) {
    log.warn({ program, why: asked?.stderr }, 'opencode does not tell its version; it may cut a long signal')
    return null
  }
  const caution = cautionAbout('opencode', version)
  // Of one that cannot be rung it is told where it is connected to.
  if (caution?.rings === true) log.warn({ version }, `this opencode is ${caution.what}`)
  return version
}

/** The texts of the files in which they configure it for all directories, as far as those are there. */
export function opencodeFiles(env: NodeJS.ProcessEnv): string[] {
  const { HOME, OPENCODE_CONFIG, OPENCODE_CONFIG_DIR } = env
  const usual = path.join(settingsDirectory(env), 'opencode')
  const folders = [
    usual,
    path.join(userDirectory(HOME), '.opencode'),
    ...(OPENCODE_CONFIG_DIR ? [OPENCODE_CONFIG_DIR] : []),
  ]
  const files = [
    path.join(usual, 'config.json'),
    ...folders.flatMap((folder) =>
      ['opencode.json', 'opencode.jsonc'].map((name) => path.join(folder, name)),
    ),
    ...(OPENCODE_CONFIG ? [OPENCODE_CONFIG] : []),
  ]
  return files.flatMap((file) => readText(file) ?? [])
}
