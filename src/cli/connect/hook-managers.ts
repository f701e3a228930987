/**
 * Programs that write git's hooks themselves: husky, lefthook, pre-commit, simple-git-hooks. A line of ours in a file of
 * theirs is gone with their next install.
 */
import fs from 'node:fs'
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors.ts'
import { jsonIn } from '../../contracts/json.ts'
import { readText } from '../../system/watch-text.ts'

/**
 * The script that husky runs for a hook, null where husky is not in use: since version 9 git's hooks are in `.husky/_`,
 * which husky writes, and each runs the script of its name one folder above, which is the user's.
 */
export function huskyHook(folder: string, hook: string): string | null {
  if (path.basename(folder) !== '_') return null
  const above = path.dirname(folder)
  const known = path.basename(above) === '.husky' || fs.existsSync(path.join(folder, 'h'))
  return known ? path.join(above, hook) : null
}

/** @throws `connection_taken` with what to add where, for a hook that another program writes. */
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

/** Whether it configures this hook, in any of the formats. */
function hasKey(file: string, hook: string): boolean {
  return new RegExp(`^[ \\t[{,]*"?${hook}"?[.\\]: \\t]`, 'm').test(readText(file) ?? '')
}

function inPackage(project: string, key: string): boolean {
  const text = readText(path.join(project, 'package.json'))
  const value = text === null ? null : jsonIn(text)
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
}

function managed(file: string, manager: string, config: string, lines: readonly string[]): TurnbellError {
  return new TurnbellError('connection_taken', {
    detail: `${file} is written by ${manager}, which would remove turnbell's line with its next install`,
    hint: `Add this to ${config}:\n${lines.map((one) => `      ${one}`).join('\n')}`,
  })
}
