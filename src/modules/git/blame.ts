/** Who last changed the lines around one, as the file lies on disk. */
import { cut, textOf, timeOf, within } from './output.ts'
import type { Repository } from './repository.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { BlameAnswer, BlamedLine } from '../../contracts/git.ts'
import type { GitOutput } from '../../ports/git.ts'

export interface BlameInput {
  path: string
  line: number
  context: number
}

/** Throws `params_invalid` for a file that is not tracked, and for a line that it does not have. */
export async function blameContext(repository: Repository, input: BlameInput): Promise<BlameAnswer> {
  const path = repository.inside(input.path)
  const first = Math.max(1, input.line - input.context)
  const range = `${first},${input.line + input.context}`
  const args = ['blame', '--line-porcelain', '--encoding=UTF-8', '--no-textconv', '-L', range, '--', path]
  let output: GitOutput
  try {
    output = await repository.read(args)
  } catch (error) {
    throw unblamable(error, path)
  }
  const { kept, truncated } = within(readBlame(output), Infinity)
  // The lines before it may be there all the same.
  if (output.stopped === null && !kept.some(({ line }) => line === input.line) && !truncated) {
    throw new TurnbellError('params_invalid', {
      detail: `line: ${path} has no line ${input.line}; its last one is ${kept.at(-1)?.line ?? 0}.`,
    })
  }
  return { path, lines: kept, truncated: truncated || output.stopped !== null }
}

/** Git's complaints that are about what was asked for. */
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
    return new TurnbellError('params_invalid', {
      detail: `path: ${JSON.stringify(path)} is no file on disk that git has a history of.`,
      hint: 'Name a tracked file relative to the top of the work tree; `git status` shows what is untracked.',
      cause: error,
    })
  }
  return error
}

/** What `blame --line-porcelain` says: for every line a header, then the line itself after a tab. */
export function readBlame(output: Pick<GitOutput, 'stdout'>): BlamedLine[] {
  const lines: BlamedLine[] = []
  let sha = ''
  let line = 0
  let about: Record<string, string> = {}
  for (const told of textOf(output.stdout).split('\n').slice(0, -1)) {
    if (told.startsWith('\t')) {
      if (Number.isSafeInteger(line)) lines.push(blamed(sha, line, told.slice(1), about))
      ;[sha, about] = ['', {}]
      continue
    }
    const [word = '', ...rest] = told.split(' ')
    if (sha !== '') about[word] = rest.join(' ')
    else [sha, line] = [word, Number(rest[1])]
  }
  return lines
}

function blamed(sha: string, line: number, content: string, about: Record<string, string>): BlamedLine {
  const { text, cut: text_cut } = cut(content)
  const shown = { line, text, ...(text_cut ? { text_cut } : {}) }
  // What is not committed belongs to a commit of nothing but zeros.
  if (/^0+$/.test(sha)) return { ...shown, sha: null, author_name: null, committed_at: null, subject: null }
  return {
    ...shown,
    sha,
    author_name: about['author'] ?? '',
    committed_at: timeOf(about['committer-time'] ?? ''),
    subject: cut(about['summary'] ?? '').text,
  }
}
