/** Links as records of the project. */
import type { Asking, CommitLinks } from './needs.ts'
import { CommitLink, COMMIT_LINK } from '../../contracts/git.ts'
import { LIMITS } from '../../contracts/limits.ts'
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
      const links: CommitLink[] = []
      for (let after: string | undefined, done = false; !done;) {
        const page = await records.query(asking, {
          ...{ kind, filter, sort: '-generation', limit: LIMITS.records_page_max },
          ...(after === undefined ? {} : { after }),
        })
        links.push(...page.records.map((record) => CommitLink.parse(record)))
        after = page.next ?? undefined
        done = page.next === null
      }
      return links
    },
  }
}
