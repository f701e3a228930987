/**
 * Fuzzes the texts of strangers in a repository, as git prints them: names, messages, paths and lines. Shortening texts
 * and searching them for issues is not checked here: the expected values are computed with the product's own functions.
 */
import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { MarkerWord, SearchedText } from '../../../../src/contracts/git.ts'
import { parseJsonAs } from '../../../../src/contracts/validation/json.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { cut, timeOf } from '../../../../src/modules/git/output.ts'
import { referencesIn } from '../../../../src/modules/git/references.ts'
import {
  answerOf,
  printsOf,
  textsOf,
  SAMPLE,
  tagOf,
  toldBy,
  type Prints,
  type Told,
} from '../../peers/fake-git.ts'
import { insist, type Target } from '../../target.ts'

export const gitTexts: Target = {
  name: 'git-texts',
  promise:
    'of commits, files and lines an answer says what git said of them, and no text of one becomes another one, however it ends',
  share: 0.5,
  words: [
    ...['# branch.head x', '1 .M N... 100644 100644 100644 f f a', '2 R. ', 'u UU ', '? ', 'boundary'],
    ...['staged', 'unstaged', 'untracked', 'conflicted', 'torn', 'marker', 'closes #1', '\r', '\t'],
    ...['constructor', 'toString', '__proto__'],
  ],

  open() {
    return {
      seeds: [
        ['{"torn":null,"marker":"TODO","sought":"closes"}', ...SAMPLE].join('\n'),
        ['{"torn":0.6,"marker":"later","sought":"I"}', ...SAMPLE].join('\n'),
        ...SAMPLE.map((line) => `{}\n${line}`),
      ],
      async attempt(input) {
        const [head = '', ...lines] = input.toString().split('\n')
        const asked = askedBy(head)
        const told = differing(lines.slice(0, TOLD_MAX).map(toldBy))
        const counts = []
        for (const judge of JUDGES) counts.push(Math.min(await judge(told, asked), 2))
        return `${asked.torn !== null} ${counts.join('')}`
      },
    }
  },
}

const TOLD_MAX = 60
/** A smaller result fits into any response. */
const SMALL_BYTES = 30_000

interface Asked {
  /** Fraction of the output after which it ends; null for complete output. */
  torn: number | null
  marker: string
  sought: string
}

const Head = z.object({
  torn: z.number().min(0).max(1).nullable().catch(null),
  marker: MarkerWord.catch('TODO'),
  sought: SearchedText.catch('a'),
})

function askedBy(line: string): Asked {
  return parseJsonAs(Head, line) ?? { torn: null, marker: 'TODO', sought: 'a' }
}

/** Removes duplicates, because git lists a file once. */
function differing(told: readonly Told[]): Told[] {
  return told.filter(({ path }, at) => path === '' || told.findIndex((other) => other.path === path) === at)
}

/** Truncates the first output of any command. */
function tornAt(prints: Prints, torn: number | null): Prints {
  if (torn === null) return prints
  let is_first = true
  return (args, stdin) => {
    const output = prints(args, stdin)
    if (!is_first || args[0] === 'hash-object') return output
    is_first = false
    const end = Math.floor(output.stdout.length * torn)
    return { ...output, stdout: output.stdout.subarray(0, end), exit_code: null, stopped: 'output_full' }
  }
}

type Answer = Record<string, unknown> & { truncated?: boolean }

async function answerTo(name: string, params: object, told: readonly Told[], asked: Asked): Promise<Answer> {
  const prints = tornAt(printsOf(told), asked.torn)
  const answered = await answerOf(name, params, prints, 'agent', textsOf(told))
  insist('answer' in answered || asked.torn !== null || told.length === 0, () => `${name} is refused`)
  return 'answer' in answered ? (answered.answer as Answer) : {}
}

/** Returns whether the answer is a prefix of the list; a shorter answer must be marked as truncated. */
function isBeginning(
  what: string,
  answer: Answer,
  list: unknown,
  expected: readonly unknown[],
  asked: Asked,
): number {
  if (list === undefined) return 0
  const shown = list as unknown[]
  const differs = shown.findIndex((one, at) => !isDeepStrictEqual(one, expected[at]))
  insist(
    differs === -1,
    () =>
      `${what}: what is shown is not what git has said of it, ${JSON.stringify(shown[differs])}, ${JSON.stringify(expected[differs])}`,
  )
  const { truncated } = answer
  insist(
    truncated === true || shown.length === expected.length,
    () => `${what}: ${shown.length} of ${expected.length}`,
  )
  if (asked.torn === null)
    insist(truncated === false || sizeOf(expected) > SMALL_BYTES, () => `${what}: truncated for nothing`)
  else insist(truncated === true, () => `${what}: torn, and does not say so`)
  return shown.length
}

function sizeOf(list: readonly unknown[]): number {
  return Buffer.byteLength(JSON.stringify(list))
}

function subjectOf({ subject }: Told) {
  const shown = cut(subject)
  return { subject: shown.text, ...(shown.cut ? { subject_cut: true } : {}) }
}

function nameOf(told: Told) {
  return { sha: told.sha, short_sha: told.sha.slice(-8), ...subjectOf(told) }
}

function commitOf(told: Told) {
  return {
    ...nameOf(told),
    author_name: told.name,
    author_email: told.email,
    committed_at: timeOf(String(told.seconds)),
  }
}

const withPath = (told: readonly Told[]) => told.filter(({ path }) => path !== '')
const movedFrom = ({ old_path }: Told) => (old_path === '' ? {} : { old_path })
const statusOf = ({ old_path }: Told) => (old_path === '' ? 'modified' : 'renamed')

/** Each returns the number of shown items. */
const JUDGES: readonly ((told: readonly Told[], asked: Asked) => Promise<number>)[] = [
  async function log(told, asked) {
    const answer = await answerTo('log_recent', { limit: LIMITS.git_log_limit_max }, told, asked)
    const expected = told.map((one) => ({ ...commitOf(one), files_changed: one.path === '' ? 0 : 1 }))
    return isBeginning('commit', answer, answer['commits'], expected, asked)
  },

  async function issues(told, asked) {
    const named = told.map((one) => ({ ...nameOf(one), issues: referencesIn(one.body) }))
    const expected = named.filter(({ issues }) => issues.length > 0)
    const answer = await answerTo('find_linked_issues', { limit: LIMITS.git_scan_limit_max }, told, asked)
    return isBeginning('commit with issues', answer, answer['commits'], expected, asked)
  },

  async function links(told, asked) {
    const answer = await answerTo('auto_link', { limit: LIMITS.git_scan_limit_max }, told, asked)
    const found = (answer['linked'] ?? []) as { sha: string; issue: string; subject: string }[]
    for (const { sha, issue, subject } of found) {
      const one = told.find((commit) => commit.sha === sha)
      insist(one !== undefined && subject === subjectOf(one).subject, () => `${sha} says ${subject}`)
      insist(
        referencesIn(one.body).some((named) => named.issue === issue),
        () => `${sha} names no ${issue}`,
      )
    }
    return found.length
  },

  async function files(told, asked) {
    const answer = await answerTo('changed_files', {}, told, asked)
    const all = withPath(told)
    const counted = { insertions: 1, deletions: 2 }
    const expected = [
      ...all
        .filter(({ state }) => state !== 'untracked')
        .map((one) => ({
          path: one.path,
          status: one.state === 'conflicted' ? 'conflicted' : statusOf(one),
          ...movedFrom(one),
          ...counted,
        })),
      ...all.filter(({ state }) => state === 'untracked').map(({ path }) => ({ path, status: 'untracked' })),
    ]
    if (asked.torn === null) return isBeginning('file', answer, answer['files'], expected, asked)
    // Untracked and conflicting files are printed by a separate command, and counters come last.
    const shown = (answer['files'] ?? []) as { path: string }[]
    for (const file of shown) {
      const one = expected.find(({ path }) => path === file.path)
      insist(
        isDeepStrictEqual({ ...one, ...file }, one),
        () => `no file of the repository: ${JSON.stringify(file)}`,
      )
    }
    return shown.length
  },

  async function status(told, asked) {
    const answer = await answerTo('status', {}, told, asked)
    const of = (state: Told['state']) => withPath(told).filter((one) => one.state === state)
    const changed = (one: Told) => ({ path: one.path, status: statusOf(one), ...movedFrom(one) })
    const pathOf = ({ path }: Told) => path
    const { branch, upstream, ahead, behind } = answer
    insist(
      asked.torn !== null ||
        isDeepStrictEqual([branch, upstream, ahead, behind], ['main', 'origin/main', 1, 2]),
      () => `another branch: ${JSON.stringify(answer).slice(0, 200)}`,
    )
    return (
      isBeginning('staged', answer, answer['staged'], of('staged').map(changed), asked) +
      isBeginning('unstaged', answer, answer['unstaged'], of('unstaged').map(changed), asked) +
      isBeginning('untracked', answer, answer['untracked'], of('untracked').map(pathOf), asked) +
      isBeginning('conflicted', answer, answer['conflicted'], of('conflicted').map(pathOf), asked)
    )
  },

  async function blame(told, asked) {
    const context = LIMITS.git_blame_context_max
    const answer = await answerTo('blame_context', { path: 'a', line: 1, context }, told, asked)
    const expected = told.map((one, at) => {
      const shown = cut(one.text)
      return {
        line: at + 1,
        text: shown.text,
        ...(shown.cut ? { text_cut: true } : {}),
        sha: one.sha,
        author_name: one.name,
        committed_at: timeOf(String(one.seconds)),
        subject: subjectOf(one).subject,
      }
    })
    return isBeginning('line', answer, answer['lines'], expected, asked)
  },

  async function markers(told, asked) {
    const { marker } = asked
    const marked = told.map((one) => ({ ...one, text: `${marker} ${one.text}` }))
    const answer = await answerTo('scan', { markers: [marker], limit: LIMITS.git_markers_max }, marked, asked)
    const expected = withPath(marked).map(({ path, text }, at) => {
      const shown = cut(text.trim())
      const found = { file: path, line: at + 1, marker, text: shown.text }
      return { ...found, ...(shown.cut ? { text_cut: true } : {}) }
    })
    const found = isBeginning('marker', answer, answer['markers'], expected, asked)
    const counts = (answer['counts'] ?? {}) as Record<string, number>
    insist(found === 0 || (counts[marker] as number) >= found, () => `counted: ${JSON.stringify(counts)}`)
    return found
  },

  async function tags(told, asked) {
    const answer = await answerTo('tags', { limit: LIMITS.git_tags_limit_max }, told, asked)
    const expected = told.map((one) => ({
      name: tagOf(one),
      sha: one.sha,
      tagged_at: timeOf(String(one.seconds)),
      ...subjectOf(one),
    }))
    return isBeginning('tag', answer, answer['tags'], expected, asked)
  },

  async function removal(told, asked) {
    const { sought } = asked
    const params = { text: sought, limit: LIMITS.git_removals_max }
    const answer = await answerTo('find_removal', params, told, asked)
    const removed = withPath(told).filter(({ body }) => body.includes(sought))
    const removals = (answer['removals'] ?? []) as Removal[]
    for (const [at, { files, ...commit }] of removals.entries()) {
      const one = removed[at]
      insist(
        one !== undefined && isDeepStrictEqual(commit, commitOf(one)),
        () => `removal ${at}: ${commit.sha}`,
      )
      const [file] = files
      insist(
        files.length === 1 && file?.path === (one.old_path || one.path),
        () => `removal ${at}: ${file?.path}`,
      )
      insist(file.removed === one.body.split(sought).length - 1, () => `${file.removed} times less`)
      const before = one.body.split('\n')
      for (const { line, text } of file.lines)
        insist(before[line - 1]?.includes(text) === true, () => `line ${line} of ${file.path} is not ${text}`)
    }
    const all = Math.min(removed.length, LIMITS.git_removals_max)
    insist(
      answer.truncated !== false || removals.length === all,
      () => `${removals.length} removals of ${all}`,
    )
    return removals.length
  },
]

interface Removal {
  sha: string
  files: { path: string; removed: number; lines: { line: number; text: string }[] }[]
}
