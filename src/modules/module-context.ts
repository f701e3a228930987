/** What the hub passes to each module of the table in `modules.ts`. */
import type { Clock } from '../ports/clock.ts'
import type { EventLog } from '../ports/event-log.ts'
import type { Log } from '../ports/log.ts'
import type { Ids } from '../ports/random.ts'
import type { RecordStore } from '../ports/record-store.ts'
import type { Records } from './records/service.ts'
import type { PersonaRegistry } from './registry/personas.ts'
import type { Projects } from './registry/projects.ts'

export interface ModuleContext {
  /** The hub's own records. */
  hub_records: RecordStore
  /** Records of declared kinds, of the hub and of projects. */
  records: Records
  projects: Projects
  personas: PersonaRegistry
  events: EventLog
  clock: Clock
  ids: Ids
  log: Log
}

/** Creates a module. Called once, before the hub accepts a call. */
export type ModuleFactory = (context: ModuleContext) => unknown
