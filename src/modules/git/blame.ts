/** The last changes of a line and its neighbours, for the file as it is on disk. */
import { cut, textOf, timeOf, within } from './output.ts'
import type { Repository } from './repository.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { BlameAnswer, BlamedLine } from '../../contracts/git.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { GitOutput } from '../../ports/git.ts'

export interface BlameInput {
  path: string
  line: number
  context: number
}

/** Throws `params_invalid` for an untracked file and for a missing line. */
export async function blameContext(repository: Repository, input: BlameInput): Promise<BlameAnswer> {
  const named = repository.inside(input.path)
  // The file is read here, because git would follow a link out of the project.
  const file = await repository.readFile(named, LIMITS.git_blamed_file_bytes_max)
  if ('reason' in file) throw notBlamable(named, file.reason)
  const { path } = file
  const first = Math.max(1, input.line - input.context)
  const range = `${first},${input.line + input.context}`
  const args = [
    ...['blame', '--line-porcelain', '--encoding=UTF-8', '--no-textconv'],
    ...['--contents', '-', '-L', range, '--', path],
  ]
  let output: GitOutput
  try {
    output = await repository.read(args, { input: file.bytes })
  } catch (error) {
    throw unblamable(error, path)
  }
  const { kept, truncated } = within(readBlame(output), Infinity)
  // Earlier lines of the range may exist.
  if (output.stopped === null && !kept.some(({ line }) => line === input.line) && !truncated) {
    throw new TurnbellError('params_invalid', {
      detail: `line: ${path} has no line ${input.line}; its last line is ${kept.at(-1)?.line ?? 0}.`,
    })
  }
  return { path, lines: kept, truncated: truncated || output.stopped !== null }
}

/** Returns an error for complaints of git about the input. */
function unblamable(error: unknown, path: string): unknown {
  if (!(error instanceof TurnbellError) || error.code !== 'git_failed') return error
  const [, lines] = /has only (\d+) lines?/.exec(error.detail) ?? []
  if (lines !== undefined) {
    return new TurnbellError('params_invalid', {
      detail: `line: ${path} has only ${lines} lines.`,
      cause: error,
    })
  }
  if (/no such path|no such ref: HEAD|Cannot lstat|unsupported file type|is outside/i.test(error.detail)) {
    return notBlamable(path, 'git has no history of it', error)
  }
  return error
}

function notBlamable(path: string, reason: string, cause?: unknown): TurnbellError {
  return new TurnbellError('params_invalid', {
    detail: `path: ${JSON.stringify(path)} cannot be blamed: ${reason}.`,
    hint: 'Pass a tracked file relative to the top of the work tree; list untracked files with `git status`.',
    cause,
  })
}

/** Parses `blame --line-porcelain`: a header for every line, then the line after a tab. */
export function readBlame(output: Pick<GitOutput, 'stdout'>): BlamedLine[] {
  const lines: BlamedLine[] = []
  let sha = ''
  let line = 0
  let about: Record<string, string> = {}
  for (const row of textOf(output.stdout).split('\n').slice(0, -1)) {
    if (row.startsWith('\t')) {
      if (Number.isSafeInteger(line)) lines.push(blamed(sha, line, row.slice(1), about))
      ;[sha, about] = ['', {}]
      continue
    }
    const [word = '', ...rest] = row.split(' ')
    if (sha !== '') about[word] = rest.join(' ')
    else [sha, line] = [word, Number(rest[1])]
  }
  return lines
}

function blamed(sha: string, line: number, content: string, about: Record<string, string>): BlamedLine {
  const { text, cut: text_cut } = cut(content)
  const shown = { line, text, ...(text_cut ? { text_cut } : {}) }
  // Uncommitted lines have an object name of zeros.
  if (/^0+$/.test(sha)) return { ...shown, sha: null, author_name: null, committed_at: null, subject: null }
  return {
    ...shown,
    sha,
    author_name: about['author'] ?? '',
    committed_at: timeOf(about['committer-time'] ?? ''),
    subject: cut(about['summary'] ?? '').text,
  }
}
