/** turnbell's lines in a script that git runs: a marked block at its beginning, since a script may end anywhere. */
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors.ts'
import { blockIn, HASH_MARKS, putBlockFirst } from './marked-block.ts'
import type { Draft } from './splices.ts'
import { isTaken } from './taken.ts'
import { isBlank, lineEnd } from './text.ts'

const SHELLS: readonly string[] = ['sh', 'bash', 'dash', 'ash', 'ksh', 'zsh']
const HEAD = '#!/bin/sh\n'

/** @throws `config_invalid` for another language, `connection_taken` where another home's lines stand there. */
export function putScript(file: string, text: string, body: string): Draft {
  if (blockIn(file, text, HASH_MARKS) !== null) throw isTaken('entry', `${file}: turnbell's block`)
  const interpreter = interpreterOf(text)
  // Without a first line of this kind git has sh run it.
  if (interpreter === null || SHELLS.includes(interpreter))
    return putBlockFirst(text, { marks: HASH_MARKS, head: HEAD, body })
  throw new TurnbellError('config_invalid', {
    detail: `${file} is run by ${interpreter}, and the line that turnbell needs in it is for a shell`,
    hint: `Let it be a shell script that starts yours: move yours aside, write \`#!/bin/sh\` and a line that calls it; then connect again. Nothing was changed.`,
  })
}

/** Nothing but the line that says what runs it. */
export function isHollowScript(text: string): boolean {
  return isBlank(text.startsWith('#!') ? text.slice(lineEnd(text, 0)) : text)
}

function interpreterOf(text: string): string | null {
  const [, program, first = ''] = /^#![ \t]*(\S+)(?:[ \t]+(?:-S[ \t]+)?(\S+))?/.exec(text) ?? []
  if (program === undefined) return null
  const named = path.basename(program) === 'env' ? first : program
  return path.basename(named).replace(/\.exe$/, '')
}
