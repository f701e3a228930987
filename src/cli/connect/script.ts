/** The lines of turnbell in a script that git runs: a marked block at the beginning, because a script may exit anywhere. */
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { blockIn, HASH_MARKS, putBlockFirst } from './edit/marked-block.ts'
import type { Draft } from './edit/text-edits.ts'
import { entryConflict } from './conflict-errors.ts'
import { isBlank, lineEnd } from './edit/text.ts'

const SHELLS: readonly string[] = ['sh', 'bash', 'dash', 'ash', 'ksh', 'zsh']
const HEAD = '#!/bin/sh\n'

/** Throws `config_invalid` for another language, and `connection_taken` if the script has lines of another home. */
export function putScript(file: string, text: string, body: string): Draft {
  if (blockIn(file, text, HASH_MARKS) !== null) throw entryConflict('entry', `${file}: turnbell's block`)
  const interpreter = interpreterOf(text)
  // Without such a first line, git runs the script with sh.
  if (interpreter === null || SHELLS.includes(interpreter))
    return putBlockFirst(text, { marks: HASH_MARKS, head: HEAD, body })
  throw new TurnbellError('config_invalid', {
    detail: `${file} is run by ${interpreter}, but turnbell needs a shell script.`,
    hint: `Rename your script and call it from a shell script at this path that begins with \`#!/bin/sh\`; then connect again. Nothing was changed.`,
  })
}

/** Returns true if the script has only its first line. */
export function isHollowScript(text: string): boolean {
  return isBlank(text.startsWith('#!') ? text.slice(lineEnd(text, 0)) : text)
}

function interpreterOf(text: string): string | null {
  const [, program, first = ''] = /^#![ \t]*(\S+)(?:[ \t]+(?:-S[ \t]+)?(\S+))?/.exec(text) ?? []
  if (program === undefined) return null
  const named = path.basename(program) === 'env' ? first : program
  return path.basename(named).replace(/\.exe$/, '')
}
