/** What an agent is told of its project: for a task, since a time, or to begin with. */
import { readArtifact, type ArtifactText } from './artifacts.ts'
import { assembled } from './assemble.ts'
import { renderBrief } from './brief.ts'
import { changesSince, summaryOf } from './changes.ts'
import { primerFor, type PrimerCall, type PrimerModules } from './primer-for.ts'
import { headlinesOf, type Headlines } from './headlines.ts'
import { pinsOf, type PinRecords } from './pins.ts'
import { sectionsOf } from './refresh.ts'
import { weightedSum } from './scorer.ts'
import {
  ARTIFACT_KIND,
  type AppendEventInput,
  type Assembled,
  type AssembleInput,
  type Brief,
  type MemorySummaryAnswer,
  type Pin,
  type PinInput,
  type Primer,
  type ReadArtifactInput,
  type RefreshInput,
  type UnpinInput,
  type WhatChanged,
  type WhatChangedInput,
} from '../../contracts/context.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import type { Identity } from '../../contracts/ids.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { EventLog } from '../../ports/event-log.ts'
import { checkEventData } from '../event-data.ts'
import { authorOf } from '../memory/author.ts'
import {
  inOneProject,
  nameOf,
  type MemoryCall,
  type MemoryPlace,
  type MemoryPlaces,
} from '../memory/place.ts'
import type { MemorySearch } from '../memory/ranking.ts'
import { shownTo } from '../signals/defang.ts'

/** Every call may throw `project_unknown` and `store_unavailable`. */
export interface ContextService {
  assemble(call: MemoryCall, input: AssembleInput): Promise<Assembled>
  summarize(call: MemoryCall, scope: string): Promise<MemorySummaryAnswer>
  whatChanged(call: MemoryCall, input: WhatChangedInput): Promise<WhatChanged>
  /** One of the same key is replaced. Throws `limit_reached`. */
  pin(call: MemoryCall, input: PinInput): Promise<Pin>
  /** Throws `record_unknown`, and `params_invalid` unless either is said. */
  unpin(call: MemoryCall, input: UnpinInput): Promise<Pin>
  pins(call: MemoryCall): Promise<Pin[]>
  /** What an agent has to know that begins, or has lost what it knew. */
  refresh(call: MemoryCall, input: RefreshInput): Promise<Brief>
  /**
   * Name of the project and the most important of its memory. A scope that the caller may not read is replaced by the
   * caller's own project.
   */
  headlines(call: MemoryCall): Promise<Headlines>
  /** See `primerFor`. */
  primer(call: PrimerCall, modules: PrimerModules, named: Identity | undefined): Promise<Primer>
  /** Throws `record_unknown`, `file_unreadable`. */
  readArtifact(call: MemoryCall, input: ReadArtifactInput): Promise<ArtifactText>
  /** Throws `params_invalid` for what is more than an event takes. */
  appendEvent(call: MemoryCall, input: AppendEventInput): { seq: number; timestamp: string }
}

export interface ContextNeeds {
  places: MemoryPlaces
  search: MemorySearch
  records: PinRecords
  events: Pick<EventLog, 'append'>
  clock: Pick<Clock, 'now'>
}

export function createContext({ places, search, records, events, clock }: ContextNeeds): ContextService {
  const pins = pinsOf(records)

  const remembered = async ({ library }: MemoryPlace) => ({
    entries: await library.entries.all(),
    decisions: await library.decisions.all(),
  })

  const placeToRead = (call: MemoryCall): { call: MemoryCall; place: MemoryPlace } => {
    try {
      return { call, place: places.toRead(call) }
    } catch (error) {
      if (!(error instanceof TurnbellError) || error.code !== 'project_unknown') throw error
      const own = { ...call, context: { ...call.context, scope: null } }
      return { call: own, place: places.toRead(own) }
    }
  }

  const headlines = async (call: MemoryCall): Promise<Headlines> => {
    const own = placeToRead(call)
    const { project } = own.place
    const known = { ...(await remembered(own.place)), pins: await pins.list(own.call) }
    return {
      project: project === null ? null : nameOf(own.place, await own.place.settings()),
      lines: headlinesOf(known),
    }
  }

  return {
    async assemble(call, input) {
      const place = places.toRead(call)
      const { task, scope, max_tokens } = place.here(input)
      const { library } = place
      const { context_assembly: assembly } = (await place.settings()).config
      const { entries, decisions } = await remembered(place)
      const sources = {
        ...{ entries, decisions },
        entities: await library.entities.all(),
        relations: await library.relations.all(),
        pins: await pins.list(call),
        of_entries: await search.rank(library, 'entry', entries, task),
        of_decisions: await search.rank(library, 'decision', decisions, task),
      }
      const score = weightedSum(assembly.priority_weights, assembly.recency_half_life_days)
      const shown = <T extends object>(view: T) => shownTo(call.caller, view)
      const budget = max_tokens ?? assembly.default_max_tokens
      return assembled(sources, { task, scope, max_tokens: budget, now: timestamp(clock), shown }, score)
    },

    async summarize(call, scope) {
      const place = places.toRead(call)
      return summaryOf(await remembered(place), place.here({ scope }).scope, clock.now())
    },

    async whatChanged(call, input) {
      const place = places.toRead(call)
      return shownTo(call.caller, changesSince(await remembered(place), place.here(input)))
    },

    pin: async (call, input) => shownTo(call.caller, await pins.add(call, input)),
    unpin: async (call, input) => shownTo(call.caller, await pins.remove(call, input)),
    pins: async (call) => shownTo(call.caller, await pins.list(call)),

    async refresh(call, input) {
      const place = places.toRead(call)
      const { scope, max_tokens } = place.here(input)
      const known = { ...(await remembered(place)), pins: await pins.list(call) }
      return renderBrief(shownTo(call.caller, sectionsOf(known, scope)), max_tokens)
    },

    headlines,
    primer: (call, modules, named) => primerFor(headlines, modules, call, named),

    async readArtifact(call, { id, max_bytes }) {
      const { project } = places.toRead(call)
      const artifact = await records.get(inOneProject(call), { kind: ARTIFACT_KIND.name, id })
      return shownTo(call.caller, await readArtifact(artifact, project, max_bytes))
    },

    appendEvent(call, { message, tags, data, agent_id }) {
      checkEventData(data)
      const { seq, timestamp: at } = events.append({
        type: 'context.event',
        agent_id: call.caller.identity,
        data: { message, tags, agent_id: authorOf(call, agent_id), ...(data === undefined ? {} : { data }) },
      })
      return { seq, timestamp: at }
    },
  }
}
