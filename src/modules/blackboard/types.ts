/** The blackboard of a project: entries that agents share with each other, some of which wait for an answer. */
import type {
  Archived,
  ArchiveInput,
  Exported,
  ExportInput,
  MemoryStatus,
  Posted,
  PostInput,
  QueryAnswer,
  QueryInput,
  ReadAnswer,
  ReadInput,
  RecentInput,
} from '../../contracts/memory/blackboard.ts'
import type { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Entry } from '../../contracts/memory/entry.ts'
import type { ArchiveTrigger } from '../../contracts/spool/spool.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Ids } from '../../ports/random.ts'
import type { Decisions } from '../decisions/types.ts'
import type { PublishMemoryEvent } from '../memory/memory-events.ts'
import type { MemoryCall, MemoryResolver } from '../memory/memory-resolver.ts'
import type { MemorySearch } from '../memory/ranking.ts'

/** Every method may throw `project_unknown` and `store_unavailable`. */
export interface Blackboard {
  /**
   * An entry of the type decision requires its reasons and is recorded as a decision. Throws `params_invalid` and
   * `record_too_large`.
   */
  post(call: MemoryCall, input: PostInput): Promise<Posted>
  /**
   * Posts spooled entries. An id that is already posted or archived changes nothing. Returns the error of each
   * post, in order: `params_invalid` for a decision, `record_too_large`, or null.
   */
  postSpooled(call: MemoryCall, posts: readonly SpooledEntry[]): Promise<readonly (TurnbellError | null)[]>
  read(call: MemoryCall, input: ReadInput): Promise<ReadAnswer>
  query(call: MemoryCall, input: QueryInput): Promise<QueryAnswer>
  recent(call: MemoryCall, input: RecentInput): Promise<{ entries: Entry[] }>
  archive(call: MemoryCall, input: ArchiveInput): Promise<Archived>
  /**
   * Archives closed entries older than a commit or the end of a piece of work. Returns null if the project's
   * settings disable this trigger. The same request again only finishes an interrupted archiving.
   */
  archiveAfter(
    call: MemoryCall,
    wish: { trigger: ArchiveTrigger; before: string },
    origin: SpoolOrigin,
  ): Promise<Archived | null>
  /** Archives the older half of every opened project that has too many entries. */
  sweep(): Promise<void>
  status(call: MemoryCall): Promise<MemoryStatus>
  export(call: MemoryCall, input: ExportInput): Promise<Exported>
}

/** Id and time of a spooled request. */
export interface SpoolOrigin {
  id: string
  at: string
}

export interface SpooledEntry extends SpoolOrigin {
  entry: PostInput
}

export interface BlackboardDeps {
  resolver: MemoryResolver
  decisions: Pick<Decisions, 'decide'>
  search: MemorySearch
  publish: PublishMemoryEvent
  clock: Clock
  ids: Ids
  log: Pick<Log, 'warn'>
}
