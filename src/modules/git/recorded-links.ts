/** Links as records of the project. */
import type { Asking, CommitLinks } from './needs.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { CommitLink, COMMIT_LINK } from '../../contracts/git.ts'
import { Ulid } from '../../contracts/ids.ts'
import { everyRecord } from '../records/every.ts'
import type { Records } from '../records/service.ts'

const kind = COMMIT_LINK.name
/** The kind of record that an issue named by a ULID is. */
const ISSUE = 'issue'

type NeededRecords = Pick<Records, 'put' | 'query' | 'addTo' | 'requireOne' | 'kinds'>

export function recordedLinks(records: NeededRecords, asking: Asking): CommitLinks {
  /** The issue knows its commits, if it is a record. Other trackers' issues, and those that are gone, are only named. */
  async function tellIssue({ sha, issue }: Pick<CommitLink, 'sha' | 'issue'>): Promise<void> {
    try {
      await records.addTo(asking, { kind: ISSUE, id: issue, field: 'commits', value: sha })
    } catch (error) {
      const gone = error instanceof TurnbellError && error.code === 'record_unknown'
      if (!gone) throw error
    }
  }

  return {
    async add(link) {
      const { sha, issue, note, ...others } = link
      const is_record =
        Ulid.safeParse(issue).success && records.kinds.list().some((one) => one.kind.name === ISSUE)
      // A message that names a ULID may mean anything; whoever links by hand means an issue.
      if (is_record && link.relation === null)
        await records.requireOne(asking, { kind: ISSUE, id: issue, field: 'issue' })
      if (is_record) await tellIssue(link)
      const found = await records.query(asking, { kind, filter: { sha, issue }, limit: 1 })
      if (found.total > 0) return 'already'
      const record = { sha, issue, ...(note === undefined ? {} : { note }), ...others }
      await records.put(asking, { kind, record })
      return 'added'
    },
    async list(filter) {
      const found = await everyRecord(records, asking, { kind, filter, sort: '-generation' })
      return found.map((record) => CommitLink.parse(record))
    },
  }
}
