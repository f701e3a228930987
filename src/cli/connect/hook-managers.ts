/**
 * Detects programs that write git's hooks: husky, lefthook, pre-commit, simple-git-hooks. Their next install would remove
 * a line of turnbell from the hook.
 */
import fs from 'node:fs'
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { parseJsonOrNull } from '../../contracts/validation/json.ts'
import { readText } from '../../system/files/watch-file.ts'

/**
 * Returns the user's script that husky runs for a hook; null without husky. Since version 9, husky writes git's hooks to
 * `.husky/_`, and each runs the script of the same name in the parent folder.
 */
export function huskyHook(folder: string, hook: string): string | null {
  if (path.basename(folder) !== '_') return null
  const above = path.dirname(folder)
  const known = path.basename(above) === '.husky' || fs.existsSync(path.join(folder, 'h'))
  return known ? path.join(above, hook) : null
}

/** Throws `connection_taken` for a hook that another program writes. The hint contains the lines for its configuration. */
export function requireNoManager(project: string, file: string, line: string): void {
  const hook = path.basename(file)
  const text = readText(file) ?? ''
  const config = (names: readonly string[]) =>
    names.map((name) => path.join(project, name)).find((at) => fs.existsSync(at))
  const lefthook = config(LEFTHOOK)
  if (/lefthook/i.test(text) || (lefthook !== undefined && hasKey(lefthook, hook))) {
    const lines = [`${hook}:`, '  jobs:', '    - name: turnbell', `      run: ${line}`]
    throw managed(file, 'lefthook', lefthook ?? path.join(project, 'lefthook.yml'), lines)
  }
  if (/pre-commit\.com|pre_commit/.test(text)) {
    throw managed(file, 'pre-commit', path.join(project, '.pre-commit-config.yaml'), [
      '- repo: local',
      '  hooks:',
      '    - id: turnbell',
      '      name: turnbell',
      `      entry: ${line}`,
      '      language: system',
      '      always_run: true',
      '      pass_filenames: false',
      `      stages: [${hook}]`,
    ])
  }
  const simple =
    config(SIMPLE) ??
    (inPackage(project, 'simple-git-hooks') ? path.join(project, 'package.json') : undefined)
  if (simple !== undefined)
    throw managed(file, 'simple-git-hooks', simple, [`"${hook}": ${JSON.stringify(`${line} || :`)}`])
}

const LEFTHOOK = ['lefthook', '.lefthook', '.config/lefthook'].flatMap((name) =>
  ['yml', 'yaml', 'json', 'jsonc', 'toml'].map((end) => `${name}.${end}`),
)
const SIMPLE = ['.simple-git-hooks', 'simple-git-hooks'].flatMap((name) =>
  ['json', 'js', 'cjs', 'mjs'].map((end) => `${name}.${end}`),
)

/** Returns true if the file configures this hook, in any of the formats. */
function hasKey(file: string, hook: string): boolean {
  return new RegExp(`^[ \\t[{,]*"?${hook}"?[.\\]: \\t]`, 'm').test(readText(file) ?? '')
}

function inPackage(project: string, key: string): boolean {
  const text = readText(path.join(project, 'package.json'))
  const value = text === null ? null : parseJsonOrNull(text)
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
}

function managed(file: string, manager: string, config: string, lines: readonly string[]): TurnbellError {
  return new TurnbellError('connection_taken', {
    detail: `${file} is written by ${manager}, and its next install would remove turnbell's line.`,
    hint: `Add this to ${config}:\n${lines.map((line) => `      ${line}`).join('\n')}`,
  })
}
