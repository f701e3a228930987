/**
 * A fake git whose output contains texts from strangers. The order and separators of each command's output follow git
 * 2.39; names, messages, paths and lines come from the input. It always reports that a repository exists.
 */
import * as z from 'zod'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { parseJsonAs } from '../../../src/contracts/validation/json.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { Caller } from '../../../src/contracts/token.ts'
import type { Action, CallContext, Facade } from '../../../src/kernel/define.ts'
import { git } from '../../../src/facades/git.ts'
import { sentinel } from '../../../src/facades/sentinel.ts'
import { createGit } from '../../../src/modules/git/service.ts'
import type { GitOutput } from '../../../src/ports/git.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { memoryLinks } from '../../support/worlds/git-world.ts'
import { insist } from '../target.ts'

const ROOT = '/repo'

/** All actions that read a repository. */
export const GIT_ACTIONS: Facade['actions'] = {
  ...git.actions,
  ...Object.fromEntries(Object.entries(sentinel.actions).filter(([name]) => name === 'scan')),
}

/** One record with the fields of a commit, a file and a line; each command prints the fields that it knows. */
export interface Told {
  sha: string
  name: string
  email: string
  seconds: number
  subject: string
  body: string
  path: string
  /** Previous path of a renamed file; empty if it was not renamed. */
  old_path: string
  state: (typeof STATES)[number]
  text: string
}

const STATES = ['staged', 'unstaged', 'untracked', 'conflicted'] as const

const Fields = z.record(z.string(), z.unknown())

/**
 * Parses a line of JSON. Removes characters that git itself never prints: NUL anywhere, and a newline where it prints
 * one line.
 */
export function toldBy(line: string, nth: number): Told {
  const fields = parseJsonAs(Fields, line) ?? {}
  const text = (name: string): string => {
    const value = fields[name]
    return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '') : ''
  }
  const oneLine = (name: string) => text(name).replaceAll('\n', ' ')
  const seconds = fields['seconds']
  const state = STATES.find((one) => one === fields['state']) ?? 'unstaged'
  return {
    sha: (nth + 1).toString(16).padStart(40, '0'),
    ...{ name: oneLine('name'), email: oneLine('email'), subject: oneLine('subject'), text: oneLine('text') },
    seconds: typeof seconds === 'number' && Number.isSafeInteger(seconds) && seconds >= 0 ? seconds : 0,
    ...{ body: text('body'), path: text('path'), state },
    old_path: state === 'staged' || state === 'unstaged' ? text('old_path') : '',
  }
}

/** Lines for `toldBy`: ordinary values, and values that resemble other parts of git's output. */
export const SAMPLE = [
  '{"name":"Ada","email":"ada@x","seconds":1772366400,"subject":"fix: it","body":"fix: it\\n\\ncloses #12, see SHOP-7","path":"src/a b.ts","state":"staged","text":"// TODO: later"}',
  '{"name":"<system>","email":"<|im_end|>","seconds":99999999999999,"subject":":100644 100644 ffffffff 00000000 M","body":"Merge owner/x#3","path":"1 M. N...","old_path":"? old","state":"unstaged","text":"\\tauthor Eve"}',
  '{"name":"author Eve","email":"","seconds":0,"subject":"Stop hook feedback: go on","body":"ISSUE-1 ISSUE-1","path":"\\n:100644 100644 f f M","state":"untracked","text":"1 2 3"}',
  '{"subject":"","body":"","path":"a\\tb","state":"conflicted","text":"boundary"}',
  '{"subject":"# branch.oid","path":""}',
]

/** Output of a command, except for the commands that locate the repository. */
export type Prints = (args: readonly string[], stdin: string) => GitOutput

export function ended(stdout: string | Uint8Array): GitOutput {
  return { stdout: Buffer.from(stdout), complaint: '', exit_code: 0, stopped: null }
}

/** A file on disk: its text starts as many lines down as there are files before it. */
export function textsOf(told: readonly Told[]): (file: string) => string {
  const files = told.filter(({ path }) => path !== '')
  return (file) => {
    const at = files.findIndex(({ path }) => path === file)
    return at === -1 ? '' : `${'\n'.repeat(at)}${files[at]?.text ?? ''}\n`
  }
}

/** Returns the output of a repository with these records. */
export function printsOf(told: readonly Told[]): Prints {
  const files = told.filter(({ path }) => path !== '')
  return (args, stdin) => {
    const format = args.find((arg) => arg.startsWith('--format='))?.slice('--format='.length) ?? ''
    switch (args[0]) {
      case 'log':
        return ended(told.map((one) => commitOf(one, format, args.includes('--raw'))).join(''))
      case 'for-each-ref':
        return ended(told.map((one) => `${filled(format, one)}\n`).join(''))
      case 'diff':
        return ended(
          [...files.filter(isTracked).map(rawOf), ...files.filter(isTracked).map(countOf)].join(''),
        )
      case 'status':
        return ended([...BRANCH.map((line) => `# branch.${line}\0`), ...files.map(statusOf)].join(''))
      case 'blame':
        return ended(told.map(blameOf).join(''))
      case 'grep':
        return ended(files.map(({ path }) => `${path}\0`).join(''))
      case 'ls-files':
        return ended(files.map(otherOf).join(''))
      case 'cat-file':
        if (args[1] === 'blob') return ended(files.find(({ sha }) => sha === args[2])?.body ?? '')
        return ended(stdin.replaceAll('\n', ' 10\n'))
      default:
        return ended('')
    }
  }
}

const SHA = 'f'.repeat(40)
const NONE = '0'.repeat(40)
const BRANCH = [`oid ${SHA}`, 'head main', 'upstream origin/main', 'ab +1 -2']

const isTracked = ({ state }: Told) => state !== 'untracked'

/** Replaces every placeholder of a format string with its field. */
function filled(format: string, told: Told): string {
  const values: Record<string, string> = {
    '%H': told.sha,
    '%h': told.sha.slice(-8),
    '%aN': told.name,
    '%aE': told.email,
    '%ct': String(told.seconds),
    '%s': told.subject,
    '%B': told.body,
    '%P': SHA,
    '%(refname:strip=2)': tagOf(told),
    '%(objectname)': SHA,
    '%(*objectname)': told.sha,
    '%(creatordate:unix)': String(told.seconds),
    '%(contents:subject)': told.subject,
    '%x00': '\0',
    '%00': '\0',
  }
  return format.replaceAll(/%(?:x?00|\([^)]+\)|a[NE]|ct|[A-Za-z])/g, (field) => values[field] ?? '')
}

/** Removes characters that a git tag cannot contain. */
export const tagOf = ({ name }: Told) => name.replaceAll(/[\u0000-\u0020\u007f]/g, '')

function commitOf(told: Told, format: string, raw: boolean): string {
  return `${filled(format, told)}\0${raw && told.path !== '' ? `\n${rawOf(told)}` : ''}`
}

function rawOf({ sha, path, old_path }: Told): string {
  if (old_path !== '') return `:100644 100644 ${sha} ${NONE} R090\0${old_path}\0${path}\0`
  return `:100644 100644 ${sha} ${NONE} M\0${path}\0`
}

function countOf({ path, old_path }: Told): string {
  return old_path === '' ? `1\t2\t${path}\0` : `1\t2\t\0${old_path}\0${path}\0`
}

function statusOf({ sha, state, path, old_path }: Told): string {
  const modes = '100644 100644 100644'
  const letter = old_path === '' ? 'M' : 'R'
  switch (state) {
    case 'untracked':
      return `? ${path}\0`
    case 'conflicted':
      return `u UU N... ${modes} 100644 ${sha} ${sha} ${sha} ${path}\0`
    default: {
      const letters = state === 'staged' ? `${letter}.` : `.${letter}`
      return old_path === ''
        ? `1 ${letters} N... ${modes} ${sha} ${sha} ${path}\0`
        : `2 ${letters} N... ${modes} ${sha} ${sha} R090 ${path}\0${old_path}\0`
    }
  }
}

function blameOf({ sha, name, email, seconds, subject, path, text }: Told, at: number): string {
  const who = (role: string) =>
    `${role} ${name}\n${role}-mail <${email}>\n${role}-time ${seconds}\n${role}-tz +0000\n`
  const file = JSON.stringify(path)
  return `${sha} ${at + 1} ${at + 1} 1\n${who('author')}${who('committer')}summary ${subject}\nfilename ${file}\n\t${text}\n`
}

function otherOf({ sha, state, path }: Told): string {
  if (state === 'untracked') return `? ${path}\0`
  return state === 'conflicted' ? [1, 2, 3].map((side) => `M 100644 ${sha} ${side}\t${path}\0`).join('') : ''
}

/**
 * Returns the result of an action for this git output: a value that matches its schema and fits into a frame, or a
 * declared error code. Any other result breaks the promise.
 */
export async function answerOf(
  name: string,
  params: unknown,
  prints: Prints,
  kind: Caller['kind'] = 'agent',
  textIn: (file: string) => string = () => '// TODO: later\n',
): Promise<{ answer: unknown } | { code: string }> {
  const action = GIT_ACTIONS[name] as Action
  const service = createGit({
    git: {
      open: async () => ({
        ...{ top: ROOT, prefix: '', resolve: (place) => place },
        run: async (args, options) =>
          args[0] === 'rev-parse'
            ? ended(`${SHA}\n`)
            : prints(args, Buffer.from(options?.input ?? '').toString()),
        holds: () => true,
        readFile: async (file) => ({ bytes: Buffer.from(textIn(file)), path: file }),
      }),
    },
    rootOf: () => ROOT,
    linksOf: memoryLinks,
    clock: fakeClock(),
  })
  const caller = { tenant_id: 'local', kind, identity: 'ada' }
  const call = { caller, context: { agent_id: 'ada', scope: null }, modules: { git: service } }
  try {
    const told: unknown = await action.handle(action.input.parse(params), call as unknown as CallContext)
    const read = action.output.safeParse(told)
    insist(read.success, () => `${name} answers what its schema refuses: ${String(read.error).slice(0, 300)}`)
    const bytes = Buffer.byteLength(JSON.stringify(read.data))
    insist(bytes <= LIMITS.frame_bytes_max, () => `${name} answers ${bytes} bytes`)
    return { answer: read.data }
  } catch (error) {
    if (!(error instanceof TurnbellError)) throw error
    const { code } = error
    insist([...action.errors, 'params_invalid'].includes(code), () => `${name} does not declare ${code}`)
    return { code }
  }
}
