/** The module `activity`: what agents do, on top of the activity store. */
import type { CleanupStats, HourlyInput, SessionActivity } from '../../contracts/activity/views.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { SessionId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { ActivityStore } from '../../ports/activity-store.ts'
import { DAY_MS, timestamp, type Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Ids } from '../../ports/random.ts'
import type { Redactor } from '../../ports/redaction/redactor.ts'
import { denyGlobs } from './deny-globs.ts'
import { createEntries } from './entries.ts'
import { createDraft, foldEnd } from './event-rows.ts'
import { createHookIngest } from './hook-ingest.ts'
import { createHubNumbered } from './hub-numbered.ts'
import { createIngest } from './ingest.ts'
import { createProjectIds } from './project-ids.ts'
import { readTrack, toRow } from './session-track.ts'
import { createSessions, type Sessions } from './sessions.ts'
import { stateOf } from './session-state.ts'
import type { Activity, EndedSession } from './types.ts'
import { activeAgents, completenessOf, hierarchyOf, withState } from './views.ts'

export interface ActivitySettings {
  capture: 'full' | 'facts' | 'off'
  deny: readonly string[]
  retention_days: number
  bytes_max: number
}

export interface ActivityDeps {
  store: ActivityStore
  redactor: Redactor
  settings: ActivitySettings
  clock: Pick<Clock, 'now' | 'soon'>
  ids: Pick<Ids, 'next'>
  log: Log
}

export function createActivity(deps: ActivityDeps): Activity {
  const { store, redactor, settings, clock, ids } = deps
  const sessions = createSessions(store)
  const projects = createProjectIds(store, ids)
  const filter = { capture: settings.capture, deny: denyGlobs(settings.deny) }
  const ingest = createIngest({ sessions, projects, redactor, settings: filter, clock })
  const numbered = createHubNumbered({ sessions, ingest, ids })
  return {
    ingest,
    ingestHook: createHookIngest({ numbered, clock }),
    ...createEntries({ store, sessions, numbered, clock, ids }),
    ...queries(deps),
    ...aggregates(deps),
    ...sessionEnds(deps, sessions),

    async deleteSession({ session_id }) {
      const existed = await sessions.exclusive(session_id, async (held) => {
        held.forget()
        return store.deleteSession(session_id)
      })
      if (!existed) throw unknown(`session ${session_id}`)
      return { deleted: 1 }
    },
    async deleteProject(input) {
      const project = await store.project(input)
      if (project === null) throw unknownProject(input)
      await sessions.settled()
      projects.forget(project.path)
      sessions.forgetAll()
      return { deleted: await store.deleteProject(project.project_id) }
    },
    async deleteActions({ session_id }) {
      if ((await store.session(session_id)) === null) throw unknown(`session ${session_id}`)
      return { deleted: await store.deleteActions(session_id) }
    },
    ...retention(deps, sessions),
    async close() {
      await sessions.settled()
      await store.close()
    },
  }
}

function unknown(what: string): TurnbellError {
  return new TurnbellError('activity_unknown', { detail: `no activity is stored of the ${what}` })
}
function unknownProject({
  project_id,
  path,
}: {
  project_id?: string | undefined
  path?: string | undefined
}): TurnbellError {
  return unknown(`project ${path ?? project_id ?? '(none is named)'}`)
}

/** Returns a session with its counters. */
async function readSession({ store, clock }: ActivityDeps, session_id: SessionId): Promise<SessionActivity> {
  const { sessions } = await store.tree({ session_id, limit: 1 })
  const [session] = sessions
  if (session === undefined) throw unknown(`session ${session_id}`)
  return withState(session, clock.now())
}

type Queries = Pick<
  Activity,
  | 'hierarchy'
  | 'projects'
  | 'project'
  | 'sessions'
  | 'session'
  | 'requests'
  | 'tasks'
  | 'subtasks'
  | 'actions'
>

function queries(deps: ActivityDeps): Queries {
  const { store, clock } = deps
  return {
    async hierarchy(input) {
      const rows = await store.tree(input)
      if (rows.project === null && (input.project_id !== undefined || input.path !== undefined))
        throw unknownProject(input)
      if (rows.sessions.length === 0 && input.session_id !== undefined)
        throw unknown(`session ${input.session_id}`)
      return hierarchyOf(rows, clock.now())
    },
    projects: (input) => store.projects(input),
    async project(input) {
      const project = await store.project(input)
      if (project === null) throw unknownProject(input)
      return project
    },
    async sessions(input) {
      const { items, next_cursor } = await store.sessions(input)
      const now = clock.now()
      return { items: items.map((item) => withState(item, now)), next_cursor }
    },
    session: ({ session_id }) => readSession(deps, session_id),
    requests: (input) => store.requests(input),
    tasks: (input) => store.tasks(input),
    subtasks: (input) => store.subtasks(input),
    actions: (input) => store.actions(input),
  }
}

type Aggregates = Pick<Activity, 'active' | 'hourly' | 'toolsSummary' | 'kpis' | 'stats' | 'completeness'>

function aggregates({ store, clock }: ActivityDeps): Aggregates {
  const today = () => new Date(Math.floor(clock.now() / DAY_MS) * DAY_MS).toISOString()
  return {
    active: async () => activeAgents(await store.openSessions(), clock.now()),
    hourly: (input) => store.hourly(withDefaultTime(input, clock.now())),
    toolsSummary: (input) => store.toolsSummary(withDefaultTime(input, clock.now())),
    async kpis() {
      const counts = await store.counts(today())
      const { sessions, requests, actions, subtasks } = counts
      return {
        sessions: { open: sessions.open, today: sessions.since, total: sessions.total },
        requests: { running: requests.running, today: requests.since, total: requests.total },
        actions: { today: actions.since, total: actions.total, errors_today: actions.errors_since },
        subtasks,
        tools: { distinct: counts.distinct_tools },
        usage_today: counts.usage_since,
      }
    },
    async stats() {
      const [counts, bytes] = await Promise.all([store.counts(today()), store.bytes()])
      const { projects, tasks, oldest_at, schema_version } = counts
      return {
        projects,
        sessions: counts.sessions.total,
        requests: counts.requests.total,
        tasks,
        subtasks: counts.subtasks.total,
        actions: counts.actions.total,
        bytes,
        oldest_at,
        schema_version,
      }
    },
    async completeness({ session_id }) {
      if (session_id !== undefined) {
        const row = await store.session(session_id)
        if (row === null) throw unknown(`session ${session_id}`)
        return completenessOf([{ ...row, track: readTrack(row.track) }])
      }
      return completenessOf(await allTracks(store, clock))
    },
  }
}

/** Returns the input with the last 24 hours, or the 24 hours before `until`, if it has no beginning. */
function withDefaultTime(input: HourlyInput, now: number): HourlyInput {
  if (input.since !== undefined) return input
  const until = input.until === undefined ? now : Date.parse(input.until)
  return { ...input, since: new Date(until - DAY_MS).toISOString() }
}

/** Reads the tracks of all sessions in pages. Other calls run between two pages. */
async function allTracks(store: ActivityStore, clock: Pick<Clock, 'soon'>) {
  const found: Parameters<typeof completenessOf>[0][number][] = []
  let cursor: string | null | undefined
  do {
    const page = await store.sessions({
      limit: LIMITS.activity_page_max,
      ...(cursor == null ? {} : { cursor }),
    })
    for (const { ended_at, track } of page.items) found.push({ ended_at, track: readTrack(track) })
    cursor = page.next_cursor
    await new Promise<void>((resolve) => clock.soon(resolve))
  } while (cursor !== null)
  return found
}

type Ends = Pick<Activity, 'endSession' | 'openProcesses' | 'processesEnded'>

function sessionEnds(deps: ActivityDeps, sessions: Sessions): Ends {
  const { store, clock } = deps
  /** Processes as they were returned last. A session may be continued by another process since then. */
  let checked = new Map<SessionId, number>()

  /** Returns the session if that ended it. Rejects with `activity_unknown`. */
  const end = (session_id: SessionId, source: 'process' | 'person'): Promise<EndedSession | null> =>
    sessions.exclusive(session_id, async (held) => {
      const session = await held.read()
      if (session === null) throw unknown(`session ${session_id}`)
      const { state } = session.track
      if (state === null || session.row.ended_at !== null) return null
      if (source === 'process' && state.pid !== checked.get(session_id)) return null
      const draft = createDraft(session)
      foldEnd(draft, timestamp(clock), source)
      draft.rows.sessions.push(toRow(draft.session))
      await held.write(draft.session, draft.rows)
      const { identity, client } = draft.session.row
      const after = draft.session.track.state ?? state
      return { session_id, identity, client, state: stateOf(after, clock.now()) }
    })
  return {
    async endSession({ session_id }) {
      await end(session_id, 'person')
      return readSession(deps, session_id)
    },
    async openProcesses() {
      const open = await store.openSessions()
      const processes = open.flatMap(({ session_id, track }) => {
        const { pid = null, pid_started = null } = readTrack(track).state ?? {}
        return pid === null ? [] : [{ session_id, pid, pid_started }]
      })
      checked = new Map(processes.map(({ session_id, pid }) => [session_id, pid]))
      return processes
    },
    async processesEnded({ session_ids }) {
      const ended: EndedSession[] = []
      for (const session_id of session_ids) {
        // Its activity may have been deleted since the check.
        const one = await end(session_id, 'process').catch((error: unknown) => {
          if (error instanceof TurnbellError && error.code === 'activity_unknown') return null
          throw error
        })
        if (one !== null) ended.push(one)
      }
      return ended
    },
  }
}

function retention(
  { store, settings, clock, log }: ActivityDeps,
  sessions: Sessions,
): Pick<Activity, 'cleanUp' | 'cleanupStats'> {
  const { retention_days, bytes_max } = settings
  const done: Pick<CleanupStats, 'last_run_at' | 'deleted_sessions' | 'deleted_actions'> = {
    last_run_at: null,
    deleted_sessions: 0,
    deleted_actions: 0,
  }
  return {
    async cleanUp() {
      const before = new Date(clock.now() - retention_days * DAY_MS).toISOString()
      const total = { sessions: 0, actions: 0 }
      for (;;) {
        const step = await store.prune(before, bytes_max)
        total.sessions += step.sessions
        total.actions += step.actions
        if (!step.more) break
        await new Promise<void>((resolve) => clock.soon(resolve))
      }
      done.last_run_at = timestamp(clock)
      done.deleted_sessions += total.sessions
      done.deleted_actions += total.actions
      if (total.sessions === 0) return
      sessions.forgetAll()
      log.info({ ...total, retention_days, bytes_max }, 'old activity deleted')
    },
    cleanupStats: async () => ({ retention_days, bytes_max, bytes: await store.bytes(), ...done }),
  }
}
