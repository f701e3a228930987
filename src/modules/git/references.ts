/** Issues named in a commit message. */
import { IssueRef, type IssueReference, type IssueRelation } from '../../contracts/git.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'

/** Words before an issue that state what the commit does to it. */
const CLOSES = /\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?)(?:\s*:\s*|\s+)$/i
const REFERS = /\b(?:refs?|references|see|relates to|part of|issues?)(?:\s*:\s*|\s+)$/i
const WORD_LENGTH_MAX = 24

/**
 * `#12` and `owner/repo#12`; a ULID, with a kind before it or without; `ISSUE-…`. A key such as `SHOP-12`
 * resembles other texts with a number (`UTF-8`, `SHA-256`) and counts only after one of the words.
 */
const ISSUE = new RegExp(
  [
    String.raw`(?<![\p{L}\p{N}_#&@/.-])(?:`,
    String.raw`(?<certain>(?:[A-Za-z0-9][\w.-]{0,99}\/[\w.-]{1,99})?#[1-9]\d{0,8}`,
    String.raw`|(?:[A-Za-z]{1,16}[_-])?[0-7][0-9A-HJKMNP-TV-Z]{25}`,
    String.raw`|(?:ISSUE|ISS|EPIC)-[A-Za-z0-9](?:[\w.-]{0,100}\w)?)`,
    String.raw`|(?<key>[A-Z][A-Z0-9]{1,15}-[1-9]\d{0,8})`,
    String.raw`)(?![\p{L}\p{N}_])`,
  ].join(''),
  'gu',
)

/** Returns each issue once with its strongest word, in the order of their first mention. */
export function referencesIn(message: string): IssueReference[] {
  const found = new Map<string, IssueRelation>()
  for (const match of message.matchAll(ISSUE)) {
    const issue = match[0]
    const relation = relationOf(message.slice(Math.max(0, match.index - WORD_LENGTH_MAX), match.index))
    if (relation === 'mentions' && match.groups?.['key'] !== undefined) continue
    if (!IssueRef.safeParse(issue).success) continue
    const known = found.get(issue)
    if (known === undefined && found.size === LIMITS.git_references_max) break
    found.set(issue, known === undefined ? relation : stronger(known, relation))
  }
  return [...found].map(([issue, relation]) => ({ issue, relation }))
}

function relationOf(before: string): IssueRelation {
  if (CLOSES.test(before)) return 'closes'
  return REFERS.test(before) ? 'refs' : 'mentions'
}

const STRENGTH: readonly IssueRelation[] = ['mentions', 'refs', 'closes']

function stronger(one: IssueRelation, other: IssueRelation): IssueRelation {
  return STRENGTH.indexOf(one) < STRENGTH.indexOf(other) ? other : one
}
