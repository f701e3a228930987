/** Where things stand, for whoever begins: the repository, the others, what waits, what is open, what ran. */
import { briefly, entries, only, type Look } from './sections.ts'
import { URGENT_PRIORITY } from './preflight.ts'

const WAITING_MAX = 50
const SHOWN_MAX = 5

export const status: Look = {
  routine: 'workflow.status',
  steps: [
    { id: 'git', step: 'call', with: { facade: 'git', action: 'status' } },
    { id: 'coordinator', step: 'call', with: { facade: 'coordinator', action: 'status' } },
    {
      id: 'waiting',
      step: 'call',
      with: { facade: 'signals', action: 'inbox', params: { status: ['pending'], limit: WAITING_MAX } },
    },
    {
      id: 'records',
      step: 'call',
      with: {
        facade: 'store',
        action: 'query',
        params: { kind: 'issue', filter: { status: 'open' }, limit: SHOWN_MAX },
      },
    },
    {
      id: 'reports',
      step: 'call',
      with: { facade: 'routine', action: 'report', params: { limit: SHOWN_MAX } },
    },
  ],
  shows: {
    git: (result) => only(result, ['branch', 'head', 'upstream', 'ahead', 'behind', 'clean', 'counts']),
    waiting({ signals }) {
      const priority = (signal: { priority?: unknown }) => Number(signal.priority ?? 0)
      const waiting = entries(signals).toSorted((a, b) => priority(b) - priority(a))
      return {
        count: waiting.length,
        more: waiting.length === WAITING_MAX,
        urgent: waiting.filter((signal) => priority(signal) >= URGENT_PRIORITY).length,
        signals: briefly(waiting, ['signal_id', 'from', 'intent', 'priority', 'created_at'], SHOWN_MAX),
      }
    },
    records: ({ records, total }) => ({
      ...(total === undefined ? {} : { total }),
      records: briefly(records, ['id', 'kind', 'title', 'status', 'scope', 'updated_at'], SHOWN_MAX),
    }),
    reports: ({ reports }) =>
      briefly(reports, ['report_id', 'routine', 'generation', 'ok', 'failures', 'started_at'], SHOWN_MAX),
  },
}
