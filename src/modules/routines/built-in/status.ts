/** Status for an agent that starts: repository, other agents, waiting signals, open records and recent reports. */
import { foundRecords, recordsStep, stillOpen } from './records.ts'
import { briefly, entries, only, type Look } from './sections.ts'
import { URGENT_PRIORITY } from './preflight.ts'
import type { RecordKind } from '../../../contracts/memory/records.ts'

const WAITING_MAX = 50
const SHOWN_MAX = 5

export const status = (kinds: readonly RecordKind[]): Look => ({
  routine: 'workflow.status',
  steps: [
    { id: 'git', step: 'call', with: { facade: 'git', action: 'status' } },
    { id: 'coordinator', step: 'call', with: { facade: 'coordinator', action: 'status' } },
    {
      id: 'waiting',
      step: 'call',
      with: { facade: 'signals', action: 'inbox', params: { status: ['pending'], limit: WAITING_MAX } },
    },
    ...recordsStep(kinds, stillOpen, SHOWN_MAX),
    {
      id: 'reports',
      step: 'call',
      with: { facade: 'routine', action: 'report', params: { limit: SHOWN_MAX } },
    },
  ],
  shows: {
    git: (result) => only(result, ['branch', 'head', 'upstream', 'ahead', 'behind', 'clean', 'counts']),
    waiting({ signals, next }) {
      const priority = (signal: { priority?: unknown }) => Number(signal.priority ?? 0)
      const waiting = entries(signals).toSorted((a, b) => priority(b) - priority(a))
      return {
        count: waiting.length,
        more: typeof next === 'number',
        urgent: waiting.filter((signal) => priority(signal) >= URGENT_PRIORITY).length,
        signals: briefly(waiting, ['signal_id', 'from', 'intent', 'priority', 'created_at'], SHOWN_MAX),
      }
    },
    records: (result) => foundRecords(result, SHOWN_MAX),
    reports: ({ reports }) =>
      briefly(reports, ['report_id', 'routine', 'generation', 'ok', 'failures', 'started_at'], SHOWN_MAX),
  },
})
