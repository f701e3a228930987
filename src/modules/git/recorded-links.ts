/** Links stored as records of the project. */
import type { Asking, CommitLinks } from './deps.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { CommitLink, COMMIT_LINK } from '../../contracts/git.ts'
import { Ulid } from '../../contracts/ids.ts'
import { everyRecord } from '../records/every.ts'
import type { Records } from '../records/service.ts'

const kind = COMMIT_LINK.name
/** Kind of issues with a ULID. */
const ISSUE = 'issue'

type NeededRecords = Pick<Records, 'put' | 'query' | 'addTo' | 'requireOne' | 'kinds'>

export function recordedLinks(records: NeededRecords, asking: Asking): CommitLinks {
  /** Adds the commit to the issue's record, if there is one. Issues of other trackers have no record. */
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
      // A ULID in a message may be anything, but a link made by hand must name an existing issue.
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
