/**
 * Decisions of a project: made, asked after, doubted, taken back.
 *
 * The decision itself is the truth, and is kept with what is to be said of it. The entry that tells of it, the status of
 * the one whose place it takes and its part of the graph follow.
 */
import { createAftermath } from './aftermath.ts'
import { bounded, changeDecision, decisionIn } from './change.ts'
import { conflictsWith } from './conflicts.ts'
import { createDecisionFinder, type DecisionFinder } from './find.ts'
import { takenBack, type TakesBack } from './formers.ts'
import { insteadOf } from './instead.ts'
import { fitting, keep, keepEach } from './keep.ts'
import { createOutbox } from './outbox.ts'
import { doubted, looked } from './second-look.ts'
import { createTelling, owing, type EntryWords } from './telling.ts'
import type {
  Conflict,
  DecideInput,
  Decided,
  Decision,
  LinkCommitInput,
  OverrideInput,
  Overridden,
  Owed,
  ReconsiderInput,
  Reconsidered,
} from '../../contracts/decision.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Ids } from '../../ports/random.ts'
import { authorOf, TURNBELL } from '../memory/author.ts'
import type { Library } from '../memory/library.ts'
import { isOnlySeen, type MemoryCall, type MemoryPlace, type MemoryPlaces } from '../memory/place.ts'
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
  /**
   * What is left to be done and said, of every project that was called since this process began; nobody waits for it.
   * Where nothing is left no file is looked at.
   */
  sweep(): Promise<void>
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
  const aftermath = createAftermath({ outbox: createOutbox({ clock, ids, log }), telling, clock, ids, log })

  const tellChanged = (
    call: Parameters<TellMemory>[0],
    place: MemoryPlace,
    changed: readonly Decision[],
  ): void => {
    for (const { id, status } of changed) tell(call, place, 'memory.decision_changed', { id, status })
  }

  const toWrite = async (call: MemoryCall): Promise<MemoryPlace> => {
    const place = await places.toWrite(call)
    tellChanged(call, place, await aftermath.mend(place.library))
    return place
  }

  /**
   * `former` was taken back with it. The new one says that this is to be done until it is, so whatever comes between the
   * two, also a crash, only delays it.
   */
  const make = async (
    { library, here }: MemoryPlace,
    told: DecisionWanted & { agent_id: string },
    words?: EntryWords,
    takes_back?: TakesBack,
  ): Promise<{ decision: Decision; conflicting: Decision[]; former: Decision[] }> => {
    const wanted = here(told)
    const { status = 'active', ...said } = wanted
    const { supersedes } = said
    for (const id of [...wanted.depends_on, ...(supersedes === undefined ? [] : [supersedes])]) {
      await decisionIn(library, id)
    }
    return library.decisions.exclusive(async (held) => {
      const all = await held.all()
      // Told of in the order of the ids: what is over, what holds now, what that contradicts.
      const before = takes_back === undefined ? [] : all.filter(({ id }) => id === supersedes)
      const former = before.map((one) => fitting(takeBack(one, takes_back as TakesBack)))
      const [id, entry_id] = [ids.next(), ids.next()]
      const conflicting = conflictsWith(all, wanted).slice(0, LIMITS.conflicts_told_max)
      const conflicts = conflicting.map((other) => ({ decision_id: other.id, warning_id: ids.next() }))
      const made = bounded({
        ...{ context: '', rationale: '', ...said },
        ...{ id, timestamp: timestamp(clock), entry_id },
        status: conflicts.length > 0 ? 'provisional' : status,
        ...(conflicts.length === 0 ? {} : { conflicts, ...(status === 'active' ? {} : { proposed: true }) }),
        outbox: { entries: [], graph: true, ...(takes_back === undefined ? {} : { takes_back }) },
      })
      const owed = [telling.made({ ...made, entry_id }, words), ...telling.contested(made, conflicting)]
      const decision = owing(made, ...owed)
      await keep(held, decision)
      const taken = await keepEach(held, former, (error) => aftermath.later(library, error))
      return { decision, conflicting, former: taken }
    })
  }

  const takeBack = (former: Decision, takes_back: TakesBack): Decision =>
    bounded(takenBack(former, takes_back, { now: timestamp(clock), telling }))

  /** Answers what has another status because of it. */
  const followMade = async (
    call: MemoryCall,
    place: MemoryPlace,
    decision: Decision,
    former: readonly Decision[] = [],
  ): Promise<Decision[]> => {
    const settled = await aftermath.follow(place.library, [...former, decision])
    search.learn(place.library)
    const { id, status, scope, summary } = decision
    tell(call, place, 'memory.decision_made', { id, status, scope, summary })
    tellChanged(call, place, settled)
    return settled
  }

  return {
    ...createDecisionFinder({ places, search }),
    async decide(call, input, words) {
      const place = await toWrite(call)
      const wanted = { ...input, agent_id: authorOf(call, input.agent_id) }
      const { decision: made, conflicting } = await make(place, wanted, words)
      await followMade(call, place, made)
      const { outbox: _, ...decision } = made
      const { id, timestamp: at, status, entry_id = '' } = decision
      const conflicts = conflicting.map((other, index): Conflict => ({
        ...{ decision_id: other.id, summary: other.summary, rationale: other.rationale },
        warning_id: decision.conflicts?.[index]?.warning_id ?? '',
      }))
      return shownTo(call.caller, { id, timestamp: at, status, conflicts, entry_id, decision })
    },

    async reconsider(call, { decision_id, new_context, stands, agent_id }) {
      const place = await toWrite(call)
      const { library } = place
      const now = timestamp(clock)
      const words = { agent_id: authorOf(call, agent_id), new_context }
      const looking = { telling, ids, now }
      const { before, after } = await changeDecision(library, decision_id, now, (decision, all) =>
        stands ? looked(decision, all, words, looking) : doubted(decision, words, looking),
      )
      const { summary: decision_summary, status } = after
      if (after === before) return shownTo(call.caller, { flagged: false, decision_summary, status })
      tellChanged(call, place, [after, ...(await aftermath.follow(library, [after]))])
      const warning_id = owedBy(after, before).find(({ entry_type }) => entry_type === 'warning')?.id
      const flagged = warning_id === undefined ? { flagged: false } : { flagged: true, warning_id }
      return shownTo(call.caller, { ...flagged, decision_summary, status })
    },

    async override(call, { decision_id, reason, new_decision, overridden_by }) {
      const place = await toWrite(call)
      const { library } = place
      const overriding = { reason, overridden_by }
      const takes_back = { ...overriding, agent_id: authorOf(call) }
      const former = await decisionIn(library, decision_id)
      const { summary: old_summary } = former
      if (new_decision === undefined) {
        const { after } = await changeDecision(library, decision_id, timestamp(clock), (decision) =>
          takeBack(decision, takes_back),
        )
        tellChanged(call, place, [after, ...(await aftermath.follow(library, [after]))])
        return shownTo(call.caller, { overridden: true, old_summary })
      }
      const wanted = insteadOf(former, new_decision, overriding, await idsOf(library))
      const { decision, former: taken_back } = await make(place, wanted, undefined, takes_back)
      tellChanged(call, place, taken_back)
      const settled = await followMade(call, place, decision, taken_back)
      const isOver = [...taken_back, ...settled].some(({ id }) => id === decision_id)
      return shownTo(call.caller, { overridden: isOver, old_summary, new_decision_id: decision.id })
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

    async sweep() {
      for (const place of places.opened()) {
        if (isOnlySeen(place) || !aftermath.isDue(place.library)) continue
        const changed = await aftermath.mend(place.library)
        tellChanged({ caller: { identity: TURNBELL } }, place, changed)
      }
    },
  }
}

async function idsOf({ decisions }: Library): Promise<Set<string>> {
  return new Set((await decisions.all()).map(({ id }) => id))
}

/** What came into its outbox with a change. */
function owedBy(after: Decision, before: Decision): readonly Owed[] {
  return after.outbox?.entries.slice(before.outbox?.entries.length ?? 0) ?? []
}
