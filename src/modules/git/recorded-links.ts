/** Links as records of the project. */
import type { Asking, CommitLinks } from './needs.ts'
import { CommitLink, COMMIT_LINK } from '../../contracts/git.ts'
import { everyRecord } from '../records/every.ts'
import type { Records } from '../records/service.ts'

const kind = COMMIT_LINK.name

export function recordedLinks(records: Pick<Records, 'put' | 'query'>, asking: Asking): CommitLinks {
  return {
    async add(link) {
      const { sha, issue, note, ...others } = link
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
