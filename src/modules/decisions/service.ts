/**
 * Decisions of a project: made, asked after, doubted, taken back.
 *
 * The decision itself is kept first and is the truth. The entry that tells of it, the status of the one whose place
 * it takes and its part of the graph follow, and are made up for where that was refused or a crash came in between.
 */
import { createAftermath } from './aftermath.ts'
import { bounded, changeDecision, decisionIn, overridden, type Overriding } from './change.ts'
import { conflictsWith } from './conflicts.ts'
import { createDecisionFinder, type DecisionFinder } from './find.ts'
import { insteadOf } from './instead.ts'
import { doubted, looked } from './second-look.ts'
import { createTelling, RECONSIDER, warningsOf, type EntryWords } from './telling.ts'
import type {
  Conflict,
  DecideInput,
  Decided,
  Decision,
  LinkCommitInput,
  OverrideInput,
  Overridden,
  ReconsiderInput,
  Reconsidered,
} from '../../contracts/decision.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Ids } from '../../ports/random.ts'
import { authorOf } from '../memory/author.ts'
import type { Library } from '../memory/library.ts'
import type { MemoryCall, MemoryPlace, MemoryPlaces } from '../memory/place.ts'
import type { MemorySearch } from '../memory/ranking.ts'
import type { TellMemory } from '../memory/tell.ts'
import { shownTo } from '../signals/defang.ts'

/** What a decision is made from; an architecture decision record says it in other words. */
export interface DecisionWanted extends Omit<DecideInput, 'context' | 'rationale'> {
  context?: string | undefined
  rationale?: string | undefined
  decision?: string | undefined
  consequences?: string | undefined
  status?: 'active' | 'provisional'
}

/** Every call may throw `project_unknown` and `store_unavailable`; what takes an id also `record_unknown`. */
export interface Decisions extends DecisionFinder {
  /** Throws `record_unknown` for a decision that it rests on or takes the place of, and `record_too_large`. */
  decide(
    call: MemoryCall,
    input: DecisionWanted,
    entry?: EntryWords,
  ): Promise<Decided & { entry_id: string; decision: Decision }>
  reconsider(call: MemoryCall, input: ReconsiderInput): Promise<Reconsidered>
  /** Throws `transition_forbidden` for one that holds no more. */
  override(call: MemoryCall, input: OverrideInput): Promise<Overridden>
  linkCommit(
    call: MemoryCall,
    input: LinkCommitInput,
  ): Promise<{ decision_id: string; commit_hashes: string[] }>
}

export interface DecisionNeeds {
  places: MemoryPlaces
  search: MemorySearch
  tell: TellMemory
  clock: Clock
  ids: Ids
  log: Log
}

export function createDecisions({ places, search, tell, clock, ids, log }: DecisionNeeds): Decisions {
  const telling = createTelling({ clock, ids })
  const aftermath = createAftermath({ telling, clock, ids, log })

  const toWrite = async (call: MemoryCall): Promise<MemoryPlace> => {
    const place = await places.toWrite(call)
    await aftermath.mend(place.library)
    return place
  }

  /**
   * The one whose place it takes is overridden with it where `overriding` says why. A crash between the two leaves
   * it superseded, or, where the new one is in doubt, as it was.
   */
  const make = async (
    { library, here }: MemoryPlace,
    told: DecisionWanted & { agent_id: string },
    overriding?: Overriding,
  ): Promise<{ decision: Decision; conflicting: Decision[] }> => {
    const wanted = here(told)
    const { status = 'active', ...said } = wanted
    const { supersedes } = said
    for (const id of [...wanted.depends_on, ...(supersedes === undefined ? [] : [supersedes])]) {
      await decisionIn(library, id)
    }
    return library.decisions.exclusive(async (held) => {
      const all = await held.all()
      const now = timestamp(clock)
      const conflicting = conflictsWith(all, wanted).slice(0, LIMITS.conflicts_told_max)
      const conflicts = conflicting.map(({ id }) => ({ decision_id: id, warning_id: ids.next() }))
      const decision = bounded({
        ...{ context: '', rationale: '', ...said },
        ...{ id: ids.next(), timestamp: now },
        status: conflicts.length > 0 ? 'provisional' : status,
        entry_id: ids.next(),
        ...(conflicts.length === 0 ? {} : { conflicts, ...(status === 'active' ? {} : { proposed: true }) }),
      })
      const former = overriding && all.find(({ id }) => id === supersedes)
      const taken_back = former && overridden(former, overriding, now)
      await held.put(decision)
      if (taken_back !== undefined) await held.put(taken_back)
      return { decision, conflicting }
    })
  }

  const tellOf = async (
    call: MemoryCall,
    place: MemoryPlace,
    decision: Decision,
    words?: EntryWords,
  ): Promise<void> => {
    await aftermath.follow(place.library, decision, words)
    search.learn(place.library)
    const { id, status, scope, summary } = decision
    tell(call, place, 'memory.decision_made', { id, status, scope, summary })
    if (decision.supersedes !== undefined) await sortOut(call, place)
  }

  /** What contradicted only what holds no more is in doubt no more. */
  const sortOut = async (call: MemoryCall, place: MemoryPlace): Promise<void> => {
    for (const { id, status } of await aftermath.settle(place.library)) {
      tell(call, place, 'memory.decision_changed', { id, status })
    }
  }

  return {
    ...createDecisionFinder({ places, search }),
    async decide(call, input, words) {
      const place = await toWrite(call)
      const wanted = { ...input, agent_id: authorOf(call, input.agent_id) }
      const { decision, conflicting } = await make(place, wanted)
      await tellOf(call, place, decision, words)
      const { id, timestamp: at, status } = decision
      const conflicts = conflicting.map((other, index): Conflict => ({
        ...{ decision_id: other.id, summary: other.summary, rationale: other.rationale },
        warning_id: decision.conflicts?.[index]?.warning_id ?? '',
      }))
      const entry_id = decision.entry_id ?? ''
      return shownTo(call.caller, { id, timestamp: at, status, conflicts, entry_id, decision })
    },

    async reconsider(call, { decision_id, new_context, stands, agent_id }) {
      const place = await toWrite(call)
      const { library } = place
      const now = timestamp(clock)
      const { before, after } = await changeDecision(library, decision_id, now, (decision, all) =>
        stands ? looked(decision, all, now, ids) : doubted(decision, now),
      )
      const { summary: decision_summary, scope, domain, status } = after
      if (after === before) return shownTo(call.caller, { flagged: false, decision_summary, status })
      const about = { agent_id: authorOf(call, agent_id), tags: [RECONSIDER, domain], scope }
      tell(call, place, 'memory.decision_changed', { id: decision_id, status })
      if (stands && status === 'provisional') {
        const untold = (after.conflicts ?? []).slice(before.conflicts?.length ?? 0)
        await aftermath.orLater(library, () => telling.contested(library, { ...after, conflicts: untold }))
        const warning_id = untold[0]?.warning_id
        return shownTo(call.caller, { flagged: true, decision_summary, status, warning_id })
      }
      if (stands) {
        await aftermath.orLater(library, async () =>
          telling.post(library, {
            ...{ ...about, entry_type: 'answer', detail: new_context },
            // What warned of it is settled by this.
            relates_to: [decision_id, ...(await warningsOf(library, decision_id)).map(({ id }) => id)],
            summary: `Stands after a second look: ${decision_summary}`,
          }),
        )
        await aftermath.supersede(library, after)
        if (after.supersedes !== undefined) await sortOut(call, place)
        return shownTo(call.caller, { flagged: false, decision_summary, status })
      }
      const warning_id = await telling.post(library, {
        ...{ ...about, entry_type: 'warning', detail: new_context, relates_to: [decision_id] },
        summary: `Reconsideration flagged: ${decision_summary}`,
      })
      return shownTo(call.caller, { flagged: true, decision_summary, status, warning_id })
    },

    async override(call, { decision_id, reason, new_decision, overridden_by }) {
      const place = await toWrite(call)
      const { library } = place
      const overriding = { reason, overridden_by, entry_id: ids.next() }
      const former = await decisionIn(library, decision_id)
      const { summary: old_summary } = former
      const instead =
        new_decision === undefined
          ? null
          : await make(place, insteadOf(former, new_decision, overriding, await idsOf(library)), overriding)
      if (instead === null)
        await changeDecision(library, decision_id, timestamp(clock), (decision) =>
          overridden(decision, overriding, timestamp(clock)),
        )
      await aftermath.orLater(library, async () =>
        telling.takenBack(library, await decisionIn(library, decision_id), authorOf(call)),
      )
      tell(call, place, 'memory.decision_changed', { id: decision_id, status: 'overridden' })
      if (instead === null) {
        await sortOut(call, place)
        return shownTo(call.caller, { overridden: true, old_summary })
      }
      await tellOf(call, place, instead.decision)
      const { id: new_decision_id } = instead.decision
      return shownTo(call.caller, { overridden: true, old_summary, new_decision_id })
    },

    async linkCommit(call, { decision_id, commit_hash }) {
      const { library } = await toWrite(call)
      const { after } = await changeDecision(library, decision_id, timestamp(clock), (decision) => {
        const { commit_hashes } = decision
        if (commit_hashes.includes(commit_hash)) return decision
        if (commit_hashes.length < LIMITS.decision_lines_max)
          return { ...decision, commit_hashes: [...commit_hashes, commit_hash] }
        throw new TurnbellError('limit_reached', {
          detail: `The decision ${decision_id} has ${commit_hashes.length} commits, which is the most it may have.`,
        })
      })
      return { decision_id, commit_hashes: after.commit_hashes }
    },
  }
}

async function idsOf({ decisions }: Library): Promise<Set<string>> {
  return new Set((await decisions.all()).map(({ id }) => id))
}
