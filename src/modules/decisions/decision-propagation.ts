/**
 * Propagates a made or changed decision: ends the decision it supersedes, resolves conflicts that no longer exist, and
 * delivers the outbox. The change itself is stored already, so no failure here reaches its caller: steps that fail now,
 * or that a crash interrupted, are retried with the next change or by the sweep.
 */
import { endSuperseded } from './supersede.ts'
import { nextBatch, withPendingOutbox, type BatchPosition, type Outbox } from './outbox.ts'
import { resolveConflicts } from './resolve-conflicts.ts'
import type { DecisionEntries } from './decision-entries.ts'
import type { Decision } from '../../contracts/memory/decision.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Ids } from '../../ports/random.ts'
import type { Log } from '../../ports/log.ts'
import type { ProjectMemory } from '../memory/project-memory.ts'

/** Methods log errors and schedule a retry; they never throw. */
export interface DecisionPropagation {
  /** Returns the decisions whose status changed as a consequence, without those that were superseded. */
  propagate(memory: ProjectMemory, changed: readonly Decision[]): Promise<Decision[]>
  /** Retries pending work; the first call for a memory scans all of it. Returns the same as `propagate`. */
  retryPending(memory: ProjectMemory): Promise<Decision[]>
  /** Whether a retry may have work to do now. Reads no file. */
  isDue(memory: ProjectMemory): boolean
  /** Logs the failure of a step that follows a change, and schedules a retry. */
  scheduleRetry(memory: ProjectMemory, error: unknown): void
}

interface PropagationDeps {
  outbox: Outbox
  decision_entries: DecisionEntries
  clock: Clock
  ids: Ids
  log: Log
}

/** Progress of the propagation in one memory. */
interface Progress {
  /** Whether the whole memory was scanned for pending work. */
  scanned: boolean
  retrying: boolean
  /** Whether the last batch left pending decisions. */
  has_more: boolean
  position: BatchPosition
  /** Time of the next retry after a failure. */
  retry_at: number | null
  /** Whether the current failure was logged. */
  failure_logged: boolean
  /** Ids of decisions that are being propagated. */
  in_flight: Set<string>
}

export function createDecisionPropagation(deps: PropagationDeps): DecisionPropagation {
  const progress_of = new WeakMap<ProjectMemory, Progress>()
  const progressOf = (memory: ProjectMemory): Progress => {
    const progress = progress_of.get(memory) ?? newProgress()
    progress_of.set(memory, progress)
    return progress
  }
  const mayRetry = ({ retry_at, retrying }: Progress): boolean =>
    !retrying && (retry_at === null || deps.clock.monotonic() >= retry_at)

  return {
    propagate: (memory, changed) => propagate(deps, memory, progressOf(memory), changed, { repeated: false }),
    async retryPending(memory) {
      const progress = progressOf(memory)
      if (!mayRetry(progress)) return []
      progress.retrying = true
      try {
        return await retry(deps, memory, progress)
      } catch (error) {
        scheduleRetry(deps, progress, error)
        return []
      } finally {
        progress.retrying = false
      }
    },
    isDue(memory) {
      const progress = progressOf(memory)
      const { scanned, has_more, retry_at } = progress
      return mayRetry(progress) && (!scanned || has_more || retry_at !== null)
    },
    scheduleRetry: (memory, error) => scheduleRetry(deps, progressOf(memory), error),
  }
}

function scheduleRetry(
  { clock, log }: Pick<PropagationDeps, 'clock' | 'log'>,
  progress: Progress,
  err: unknown,
): void {
  progress.retry_at = clock.monotonic() + LIMITS.outbox_retry_ms
  if (!(err instanceof TurnbellError)) {
    log.error({ err }, 'propagation of a decision failed; it will be retried')
    return
  }
  // Logged once, not at every retry.
  if (!progress.failure_logged)
    log.warn({ err }, 'propagation of a decision was rejected; it will be retried')
  progress.failure_logged = true
}

/** `repeated`: entries may have been posted by an earlier attempt. */
async function propagate(
  deps: PropagationDeps,
  memory: ProjectMemory,
  progress: Progress,
  changed: readonly Decision[],
  { repeated }: { repeated: boolean },
): Promise<Decision[]> {
  const { outbox, decision_entries, clock, ids } = deps
  const consequences: Decision[] = []
  const onError = (error: unknown) => scheduleRetry(deps, progress, error)
  for (const { id } of changed) progress.in_flight.add(id)
  try {
    let next = changed
    do {
      const context = { now: timestamp(clock), ids, decision_entries, onError }
      const ended = await endSuperseded(memory, next, context)
      consequences.push(...ended.filter(({ status }) => status === 'overridden'))
      await outbox.deliver(memory, withPendingOutbox([...next, ...ended]), { repeated, onError })
      const { confirmed, contested } = await resolveConflicts(memory, { ...context, now: timestamp(clock) })
      consequences.push(...confirmed)
      next = [...confirmed, ...contested]
    } while (next.length > 0)
  } catch (error) {
    onError(error)
  } finally {
    for (const { id } of changed) progress.in_flight.delete(id)
  }
  return consequences
}

async function retry(deps: PropagationDeps, memory: ProjectMemory, progress: Progress): Promise<Decision[]> {
  const all = await memory.decisions.list()
  const pending = withPendingOutbox(all).filter(({ id }) => !progress.in_flight.has(id))
  const full_scan = progress.retry_at !== null || !progress.scanned
  progress.has_more = false
  if (!full_scan && pending.length === 0) return []
  progress.scanned = true
  progress.retry_at = null
  // One batch at a time, because a caller waits for it.
  const batch = nextBatch(pending, progress.position)
  progress.has_more = batch.size < pending.length
  const without_rest = all.filter((decision) => !pending.includes(decision) || batch.has(decision))
  const changed = full_scan ? without_rest : [...batch]
  const consequences = await propagate(deps, memory, progress, changed, { repeated: true })
  if (progress.retry_at === null) progress.failure_logged = false
  return consequences
}

function newProgress(): Progress {
  return {
    scanned: false,
    retrying: false,
    has_more: false,
    position: {},
    retry_at: null,
    failure_logged: false,
    in_flight: new Set(),
  }
}
