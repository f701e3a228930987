/**
 * Decisions of a project. The decision's file is the source of truth; the blackboard entry about it, the status of the
 * decision it supersedes and its part of the graph follow by propagation.
 */
import { createDecisionPropagation, type DecisionPropagation } from './decision-propagation.ts'
import { changeDecision, decisionIn, parseDecision } from './change.ts'
import { conflictsWith } from './conflicts.ts'
import { createDecisionFinder } from './find.ts'
import { overrideWithEntry, type PendingOverride } from './supersede.ts'
import { replacementFor } from './replacement.ts'
import { checkSize, saveDecision, saveEach } from './save-decision.ts'
import { createOutbox } from './outbox.ts'
import { confirm, flag } from './reconsider.ts'
import {
  createDecisionEntries,
  withOutbox,
  type DecisionEntries,
  type EntryFields,
} from './decision-entries.ts'
import type { DecisionDeps, DecisionInput, Decisions } from './types.ts'
import type {
  Conflict,
  Decision,
  OutboxEntry,
  Overridden,
  OverrideInput,
  Reconsidered,
  ReconsiderInput,
} from '../../contracts/memory/decision.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { timestamp } from '../../ports/clock.ts'
import { provenIdentity } from '../lib/calling-agent.ts'
import { authorOf, TURNBELL } from '../memory/author.ts'
import type { ProjectMemory } from '../memory/project-memory.ts'
import { isUnregistered, type MemoryCall, type MemoryLocation } from '../memory/memory-resolver.ts'
import type { PublishMemoryEvent } from '../memory/memory-events.ts'

interface DecisionParts extends DecisionDeps {
  decision_entries: DecisionEntries
  propagation: DecisionPropagation
}

interface Created {
  decision: Decision
  conflicting: Decision[]
  /** The decision that it overrides, where that was ended in the same change. */
  overridden: Decision[]
}

export function createDecisions(deps: DecisionDeps): Decisions {
  const { resolver, search, clock, ids, log } = deps
  const decision_entries = createDecisionEntries({ clock, ids })
  const outbox = createOutbox({ clock, ids, log })
  const propagation = createDecisionPropagation({ outbox, decision_entries, clock, ids, log })
  const parts: DecisionParts = { ...deps, decision_entries, propagation }

  /** Resolves the memory for a change and retries pending propagation first. */
  const openForWrite = async (call: MemoryCall): Promise<MemoryLocation> => {
    const location = await resolver.forWrite(call)
    publishChanged(parts, call, location, await propagation.retryPending(location.memory))
    return location
  }

  return {
    ...createDecisionFinder({ resolver, search }),
    async decide(call, input, fields) {
      const location = await openForWrite(call)
      const author = authorOf(call, input.agent_id)
      const attributed = { ...input, agent_id: author, ...provenIdentity(call.caller, author) }
      const created = await createDecision(parts, location, attributed, fields)
      await publishCreated(parts, call, location, created)
      const { outbox: _, ...decision } = created.decision
      const { id, timestamp: at, status, entry_id = '' } = decision
      const conflicts = created.conflicting.map((other, index): Conflict => ({
        decision_id: other.id,
        summary: other.summary,
        rationale: other.rationale,
        warning_id: decision.conflicts?.[index]?.warning_id ?? '',
      }))
      return { id, timestamp: at, status, conflicts, entry_id, decision }
    },

    reconsider: async (call, input) => reconsider(parts, call, await openForWrite(call), input),
    override: async (call, input) => override(parts, call, await openForWrite(call), input),

    async linkCommit(call, { decision_id, commit_hash }) {
      const { memory } = await openForWrite(call)
      const { after } = await changeDecision(memory, decision_id, timestamp(clock), (decision) =>
        withCommit(decision, commit_hash),
      )
      return { decision_id, commit_hashes: after.commit_hashes }
    },

    async sweep() {
      for (const location of resolver.opened()) {
        if (isUnregistered(location) || !propagation.isDue(location.memory)) continue
        const changed = await propagation.retryPending(location.memory)
        publishChanged(parts, { caller: { identity: TURNBELL } }, location, changed)
      }
    },
  }
}

function publishChanged(
  { publish }: DecisionParts,
  call: Parameters<PublishMemoryEvent>[0],
  location: MemoryLocation,
  changed: readonly Decision[],
): void {
  for (const { id, status } of changed) publish(call, location, 'memory.decision_changed', { id, status })
}

/** Propagates and publishes a new decision; returns the others whose status changed by it. */
async function publishCreated(
  parts: DecisionParts,
  call: MemoryCall,
  location: MemoryLocation,
  { decision, overridden }: Pick<Created, 'decision' | 'overridden'>,
): Promise<Decision[]> {
  const consequences = await parts.propagation.propagate(location.memory, [...overridden, decision])
  parts.search.learn(location.memory)
  const { id, status, scope, summary } = decision
  parts.publish(call, location, 'memory.decision_made', { id, status, scope, summary })
  publishChanged(parts, call, location, consequences)
  return consequences
}

/** Propagates and publishes a changed decision. */
async function publishUpdated(
  parts: DecisionParts,
  call: MemoryCall,
  location: MemoryLocation,
  decision: Decision,
): Promise<void> {
  const consequences = await parts.propagation.propagate(location.memory, [decision])
  publishChanged(parts, call, location, [decision, ...consequences])
}

async function reconsider(
  parts: DecisionParts,
  call: MemoryCall,
  location: MemoryLocation,
  { decision_id, new_context, stands, agent_id }: ReconsiderInput,
): Promise<Reconsidered> {
  const { decision_entries, ids, clock } = parts
  const now = timestamp(clock)
  const note = { agent_id: authorOf(call, agent_id), new_context }
  const context = { decision_entries, ids, now }
  const { before, after } = await changeDecision(location.memory, decision_id, now, (decision, all) =>
    stands ? confirm(decision, all, note, context) : flag(decision, note, context),
  )
  const { summary: decision_summary, status } = after
  if (after === before) return { flagged: false, decision_summary, status }
  await publishUpdated(parts, call, location, after)
  const warning_id = addedEntries(after, before).find(({ entry_type }) => entry_type === 'warning')?.id
  const flagged = warning_id === undefined ? { flagged: false } : { flagged: true, warning_id }
  return { ...flagged, decision_summary, status }
}

async function override(
  parts: DecisionParts,
  call: MemoryCall,
  location: MemoryLocation,
  { decision_id, reason, new_decision, overridden_by }: OverrideInput,
): Promise<Overridden> {
  const { memory } = location
  const override_reason = { reason, overridden_by }
  const pending = { ...override_reason, agent_id: authorOf(call) }
  const old = await decisionIn(memory, decision_id)
  const { summary: old_summary } = old
  if (new_decision === undefined) {
    const { after } = await changeDecision(memory, decision_id, timestamp(parts.clock), (decision) =>
      overrideDecision(parts, decision, pending),
    )
    await publishUpdated(parts, call, location, after)
    return { overridden: true, old_summary }
  }
  const input = replacementFor(old, new_decision, override_reason, await idsOf(memory))
  const created = await createDecision(parts, location, input, undefined, pending)
  publishChanged(parts, call, location, created.overridden)
  const consequences = await publishCreated(parts, call, location, created)
  const overridden = [...created.overridden, ...consequences].some(({ id }) => id === decision_id)
  return { overridden, old_summary, new_decision_id: created.decision.id }
}

/** Throws `limit_reached`. */
function withCommit(decision: Decision, commit_hash: string): Decision {
  const { id, commit_hashes } = decision
  if (commit_hashes.includes(commit_hash)) return decision
  if (commit_hashes.length < LIMITS.decision_lines_max)
    return { ...decision, commit_hashes: [...commit_hashes, commit_hash] }
  throw new TurnbellError('limit_reached', {
    detail: `Decision ${id} has ${commit_hashes.length} linked commits, the maximum.`,
  })
}

/**
 * Stores a new decision. With `pending_override` the decision it supersedes is overridden as well: the new decision
 * carries the override in its outbox until that is done, so a crash between the two files only delays it.
 */
async function createDecision(
  parts: DecisionParts,
  { memory, toProjectPaths }: MemoryLocation,
  given: DecisionInput & { agent_id: string },
  entry_fields?: EntryFields,
  pending_override?: PendingOverride,
): Promise<Created> {
  const { propagation } = parts
  const input = toProjectPaths(given)
  const { supersedes } = input
  for (const id of [...input.depends_on, ...(supersedes === undefined ? [] : [supersedes])]) {
    await decisionIn(memory, id)
  }
  return memory.decisions.exclusive(async (held) => {
    const all = await held.list()
    // Composed before the new one, because entries are posted in the order of their ids.
    const overridden =
      pending_override === undefined
        ? []
        : all
            .filter(({ id }) => id === supersedes)
            .map((old) => checkSize(overrideDecision(parts, old, pending_override)))
    const { decision, conflicting } = composeDecision(parts, input, all, entry_fields, pending_override)
    await saveDecision(held, decision)
    const saved = await saveEach(held, overridden, (error) => propagation.scheduleRetry(memory, error))
    return { decision, conflicting, overridden: saved }
  })
}

/** Composes a decision with the entries about it and about its conflicts; contested decisions are provisional. */
function composeDecision(
  { ids, clock, decision_entries }: DecisionParts,
  input: DecisionInput & { agent_id: string },
  all: readonly Decision[],
  entry_fields: EntryFields | undefined,
  pending_override: PendingOverride | undefined,
): { decision: Decision; conflicting: Decision[] } {
  const { status = 'active', ...fields } = input
  const [id, entry_id] = [ids.next(), ids.next()]
  const conflicting = conflictsWith(all, input).slice(0, LIMITS.conflict_warnings_max)
  const conflicts = conflicting.map((other) => ({ decision_id: other.id, warning_id: ids.next() }))
  const decision = parseDecision({
    context: '',
    rationale: '',
    ...fields,
    id,
    timestamp: timestamp(clock),
    entry_id,
    status: conflicts.length > 0 ? 'provisional' : status,
    ...(conflicts.length === 0 ? {} : { conflicts, ...(status === 'active' ? {} : { proposed: true }) }),
    outbox: {
      entries: [],
      graph: true,
      ...(pending_override === undefined ? {} : { takes_back: pending_override }),
    },
  })
  const entries = [
    decision_entries.created({ ...decision, entry_id }, entry_fields),
    ...decision_entries.contested(decision, conflicting),
  ]
  return { decision: withOutbox(decision, ...entries), conflicting }
}

function overrideDecision(
  { clock, decision_entries }: DecisionParts,
  old: Decision,
  pending_override: PendingOverride,
): Decision {
  return parseDecision(overrideWithEntry(old, pending_override, { now: timestamp(clock), decision_entries }))
}

async function idsOf({ decisions }: ProjectMemory): Promise<Set<string>> {
  return new Set((await decisions.list()).map(({ id }) => id))
}

/** Entries that a change added to the outbox. */
function addedEntries(after: Decision, before: Decision): readonly OutboxEntry[] {
  return after.outbox?.entries.slice(before.outbox?.entries.length ?? 0) ?? []
}
