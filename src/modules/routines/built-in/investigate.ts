/** Searches for a text in the history, in records, in the event stream and in the caller's signals. */
import { foldCase } from '../../../contracts/text/same-text.ts'
import { foundRecords, mentioning, recordsStep } from './records.ts'
import { briefly, entries, type Look } from './sections.ts'
import type { Json } from '../../../contracts/ids.ts'
import type { RecordKind } from '../../../contracts/memory/records.ts'
import type { GivenParams } from '../../../contracts/runs/routine.ts'

const QUERY = { $param: 'query' }
const COMMITS_LOOKED_AT = 100
const SIGNALS_LOOKED_AT = 100
const SHOWN_MAX = 10

export const investigate = (kinds: readonly RecordKind[]): Look => ({
  routine: 'workflow.investigate',
  steps: [
    {
      id: 'removals',
      step: 'call',
      with: { facade: 'git', action: 'find_removal', params: { text: QUERY, limit: 5 } },
    },
    {
      id: 'commits',
      step: 'call',
      with: { facade: 'git', action: 'log_recent', params: { limit: COMMITS_LOOKED_AT } },
    },
    ...recordsStep(kinds, () => mentioning, SHOWN_MAX),
    // Only failed calls contain what was tried; events of successful calls have no parameters.
    {
      id: 'events',
      step: 'events',
      with: {
        types: ['error', 'signal.', 'persona.', 'peer.', 'coordinator.', 'hook'],
        text: QUERY,
        limit: SHOWN_MAX,
      },
    },
    {
      id: 'signals',
      step: 'call',
      with: { facade: 'signals', action: 'inbox', params: { limit: SIGNALS_LOOKED_AT } },
    },
  ],
  shows: {
    commits: ({ commits }, params) => briefly(those(commits, params), COMMIT_FIELDS, SHOWN_MAX),
    records: (result) => foundRecords(result, SHOWN_MAX),
    signals: ({ signals }, params) => briefly(those(signals, params), SIGNAL_FIELDS, SHOWN_MAX),
    removals: ({ removals }) => removals ?? [],
    events: ({ events }) => events ?? [],
  },
})

const COMMIT_FIELDS = ['sha', 'short_sha', 'subject', 'author_name', 'committed_at']
const SIGNAL_FIELDS = ['signal_id', 'from', 'to', 'intent', 'topic', 'status', 'created_at']

function those(list: Json | undefined, { query }: GivenParams): Json {
  const words = typeof query === 'string' ? foldCase(query) : ''
  return entries(list).filter((entry) => hasText(entry, words))
}

function hasText(value: Json, words: string): boolean {
  if (typeof value === 'string') return foldCase(value).includes(words)
  return (
    typeof value === 'object' && value !== null && Object.values(value).some((one) => hasText(one, words))
  )
}
