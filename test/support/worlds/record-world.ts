/** The record module over in-memory stores: one of the hub, and one for each project. */
import * as z from 'zod'
import type { HubEvent } from '../../../src/contracts/events.ts'
import type { RecordKind } from '../../../src/contracts/memory/records.ts'
import { openProjects, type Projects } from '../../../src/modules/registry/projects.ts'
import { createRecords, type Records } from '../../../src/modules/records/service.ts'
import type { RecordCall, RecordLocatorDeps } from '../../../src/modules/records/record-location.ts'
import type { EventLog } from '../../../src/ports/event-log.ts'
import { silentLog, type Log } from '../../../src/ports/log.ts'
import type { PathInspector } from '../../../src/ports/path-inspector.ts'
import type { Ids } from '../../../src/ports/random.ts'
import type { ProjectStore } from '../../../src/ports/project-store.ts'
import type { RecordStore } from '../../../src/ports/record-store.ts'
import { createMemoryEventLog } from '../../../src/storage/memory/event-log.ts'
import { createMemoryRecordStore } from '../../../src/storage/memory/record-store.ts'
import { createIds, systemRandom } from '../../../src/system/random.ts'
import { fakeClock, type FakeClock } from '../fakes/fake-clock.ts'
import { memoryProjects } from './memory-projects.ts'
import { AS_WRITTEN } from '../fakes/fake-path-inspector.ts'

/** Kinds: a list without statuses, a task list, a singleton, and a kind stored by the hub. */
export const KINDS = {
  note: {
    name: 'note',
    summary: 'Something worth knowing.',
    keeper: 'project',
    fields: z.strictObject({
      text: z.string().min(1).max(100_000),
      tags: z.array(z.string()).default([]),
      weight: z.number().optional(),
    }),
  },
  chore: {
    name: 'chore',
    summary: 'Something to be done.',
    keeper: 'project',
    fields: z.strictObject({
      title: z.string().min(1),
      count: z.number().int().min(0).max(5).default(1),
      owner: z.string().nullable().optional(),
    }),
    status: {
      initial: 'open',
      moves: { open: ['running', 'done'], running: ['open', 'done'] },
      closing: { to: 'done', fields: { result: z.string().min(1), grade: z.number().optional() } },
    },
  },
  mark: {
    name: 'mark',
    summary: 'Something that is there once under its name.',
    keeper: 'project',
    fields: z.strictObject({
      name: z.string(),
      page: z.number().default(1),
      color: z.string().default('red'),
    }),
    status: { initial: 'set', moves: { set: ['gone'] }, closing: { to: 'gone' } },
    unique: ['name', 'page'],
  },
  session: {
    name: 'session',
    summary: 'Something of the hub.',
    keeper: 'hub',
    fields: z.strictObject({ project_id: z.string().optional() }),
  },
} satisfies Record<string, RecordKind>

export interface RecordWorld {
  records: Records
  projects: Projects
  clock: FakeClock
  hub_records: RecordStore
  project(root: string): RecordStore
  /** Dependencies for another module over the same stores. */
  needs: RecordLocatorDeps & { events: EventLog; clock: FakeClock; ids: Ids; log: Log }
  /** Returns the events of the module, oldest first. */
  told(): HubEvent[]
  /** Returns a call context. ada has no project; bob's is /projects/bob; gil's directory does not exist. */
  as(identity: string, context?: Partial<RecordCall['context']>): RecordCall
}

export type RecordWorldKept = Partial<
  Pick<RecordLocatorDeps, 'hub_records' | 'openProject'> & { places: PathInspector; log: Log }
>

/**
 * `kept` is the state left by an earlier world, with the contents of its directories and the subscribers of its events.
 */
export async function recordWorld(
  kinds: readonly RecordKind[] = Object.values(KINDS),
  kept: RecordWorldKept = {},
): Promise<RecordWorld> {
  const clock = fakeClock()
  const ids = createIds(clock, systemRandom)
  const events = createMemoryEventLog(clock)
  const {
    hub_records = createMemoryRecordStore(),
    openProject = memoryProjects(),
    places = AS_WRITTEN,
    log = silentLog,
  } = kept
  const projects = await openProjects({ records: hub_records, places, clock, ids, log })
  const roots: Record<string, string> = { bob: '/projects/bob', gil: '/gone/gil' }
  const members = new Map<string, string>()
  for (const [identity, root] of Object.entries(roots)) {
    members.set(identity, (projects.find(root) ?? (await projects.at(root))).project_id)
  }
  const at = new Date(clock.now()).toISOString()
  const needs: RecordWorld['needs'] = {
    ...{ hub_records, openProject, projects, events, clock, ids, log },
    personas: {
      get(identity) {
        const project_id = members.get(identity)
        return {
          ...{ identity, surface: 'command', state: 'active', created_at: at, updated_at: at },
          ...(project_id === undefined ? {} : { project_id }),
        }
      },
    },
  }
  const records = createRecords({ ...needs, kinds })
  return {
    ...{ records, projects, clock, hub_records, needs },
    project: (root) => (openProject(root) as ProjectStore).records,
    told: () => events.read({ limit: 1_000 }).events,
    as: (identity, context = {}) => ({
      caller: { identity, kind: identity === 'operator' ? 'operator' : 'agent' },
      context: { agent_id: 'anonymous', scope: null, ...context },
    }),
  }
}
