/**
 * Entries that a program without a shim makes of its own work. They become events, so capture settings, redaction and states
 * apply to them as to all others.
 */
import type { EndStatus } from '../../contracts/activity/event.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { OPERATOR, type Identity, type SessionId } from '../../contracts/ids.ts'
import type { ActivityStore } from '../../ports/activity-store.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import { defined } from '../lib/defined.ts'
import type { Fact, HubNumbered } from './hub-numbered.ts'
import type { Sessions } from './sessions.ts'
import type { Activity } from './types.ts'

export interface EntriesDeps {
  store: Pick<ActivityStore, 'write'>
  sessions: Pick<Sessions, 'exclusive'>
  numbered: HubNumbered
  clock: Pick<Clock, 'now'>
  ids: Pick<Ids, 'next'>
}

type Entries = Pick<Activity, 'logAction' | 'putRequest' | 'putTask' | 'putSubtask'>
/** Name of the client of a session that a program reports itself. */
const CLIENT = 'program'

export function createEntries(deps: EntriesDeps): Entries {
  const add = createRecorder(deps)
  return {
    async logAction(input) {
      const { session_id, action_id = deps.ids.next(), tool_name, agent_id, exit_code, duration_ms } = input
      const { error, output, status = error === undefined ? 'completed' : 'failed' } = input
      const facts: Fact[] = [
        {
          kind: 'action.started',
          data: { action_id, tool: tool_name, ...defined({ input: input.input }) },
          agent_id,
        },
      ]
      const ended = { action_id, ...defined({ exit_code, duration_ms }) }
      if (status === 'completed')
        facts.push({ kind: 'action.ended', data: { ...ended, ...defined({ output }) }, agent_id })
      else if (status !== 'running') {
        const denied = status === 'denied' || undefined
        facts.push({ kind: 'action.failed', data: { ...ended, ...defined({ error, denied }) }, agent_id })
      }
      await add(input, facts)
      return { action_id: `${session_id}.${action_id}` }
    },

    async putRequest(input) {
      const { session_id, prompt, prompt_type, status, error } = input
      const fact: Fact =
        status === 'running'
          ? { kind: 'request.started', data: defined({ prompt, prompt_type }), begins_turn: true }
          : { kind: 'request.ended', data: { status, ...defined({ error }) } }
      const turn_seq = await add(input, [fact])
      return { request_id: `${session_id}.${turn_seq}` }
    },

    async putTask({ session_id, request_id, wave_number, status }) {
      const task_id = `${request_id}.w${wave_number}`
      await deps.sessions.exclusive(session_id, async (held) => {
        if ((await held.read()) === null) throw unknown(session_id)
        await deps.store.write({
          ...NO_ROWS,
          tasks: [
            {
              ...{ task_id, request_id, session_id, wave_number },
              ...timesOf(status, timestamp(deps.clock)),
            },
          ],
        })
      })
      return { task_id }
    },

    async putSubtask(input) {
      const { session_id, agent_id: subtask_id, agent_type, description, status, result } = input
      const facts: Fact[] =
        status === 'running'
          ? [{ kind: 'subtask.started', data: { subtask_id, ...defined({ agent_type, description }) } }]
          : [{ kind: 'subtask.ended', data: { subtask_id, status, ...defined({ result }) } }]
      await add(input, facts)
      return { subtask_id: `${session_id}.${subtask_id}` }
    },
  }
}

const NO_ROWS = { projects: [], sessions: [], requests: [], tasks: [], subtasks: [], actions: [], usage: [] }

function timesOf(status: EndStatus | 'running', at: string) {
  return status === 'running' ? { started_at: at } : { started_at: at, ended_at: at, status }
}

interface EntrySession {
  session_id: SessionId
  identity?: Identity | undefined
  project?: string | undefined
}

/** Returns a function that stores facts of a session, and returns the number of their turn. */
function createRecorder({ numbered, clock }: EntriesDeps) {
  return async (
    { session_id, identity = OPERATOR, project }: EntrySession,
    facts: readonly Fact[],
  ): Promise<number> => {
    const of = { session_id, identity, client: CLIENT, source: 'plugin' as const, at: timestamp(clock) }
    const added = await numbered.add(of, (session) => {
      if (session === null) return [{ kind: 'session.started', data: defined({ project }) }, ...facts]
      if (session.track.numbered_by_hub) return facts
      throw new TurnbellError('session_reported', {
        detail: `The session ${session_id} is reported by ${session.row.client}.`,
      })
    })
    return added?.turn_seq ?? 0
  }
}

function unknown(session_id: SessionId): TurnbellError {
  return new TurnbellError('activity_unknown', {
    detail: `no activity is stored of the session ${session_id}`,
  })
}
