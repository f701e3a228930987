/** Detection of the user's own opencode. */
import path from 'node:path'

/** Whether a command line, such as `opencode acp`, runs opencode by its own name. */
export function isOpencode(argv: readonly string[]): boolean {
  return path.parse(argv[0] ?? '').name === 'opencode'
}
