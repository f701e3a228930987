/** Tags, newest first. */
import { fieldsOf, subjectOf, timeOf, within } from './output.ts'
import type { Repository } from './repository.ts'
import type { Tag, TagsAnswer } from '../../contracts/git.ts'
import type { GitOutput } from '../../ports/git.ts'

export interface TagsInput {
  limit: number
  /** A name, a directory of names, or a glob whose `*` does not match a slash. */
  pattern?: string | undefined
}

export async function tags(repository: Repository, { limit, pattern = '' }: TagsInput): Promise<TagsAnswer> {
  const output = await repository.read([
    ...['for-each-ref', '--sort=-creatordate', `--count=${limit + 1}`, `--format=${FORMAT}`],
    `refs/tags/${pattern}`,
  ])
  const { kept, truncated } = within(readTags(output), limit)
  return { tags: kept, truncated: truncated || output.stopped !== null }
}

const FORMAT = [
  '%(refname:strip=2)',
  '%(objectname)',
  '%(*objectname)',
  '%(creatordate:unix)',
  '%(contents:subject)',
  '',
].join('%00')
const FIELDS = 5

export function readTags(output: Pick<GitOutput, 'stdout'>): Tag[] {
  const fields = fieldsOf(output)
  const found: Tag[] = []
  for (let at = 0; at + FIELDS <= fields.length; at += FIELDS) {
    const [name = '', own = '', meant = '', seconds = '', subject = ''] = fields.slice(at, at + FIELDS)
    found.push({
      // Starts with the line feed of the previous tag.
      name: name.replace(/^\n/, ''),
      sha: meant === '' ? own : meant,
      tagged_at: seconds === '' ? null : timeOf(seconds),
      ...subjectOf(subject),
    })
  }
  return found
}
