/** Context of an agent from the memory of its project: for a task, since a time, or at the start of a session. */
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
} from '../../contracts/memory/context.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Identity } from '../../contracts/ids.ts'
import { timestamp, type Clock } from '../../ports/clock.ts'
import type { EventLog } from '../../ports/event-log.ts'
import { checkEventData } from '../lib/event-data.ts'
import { authorOf } from '../memory/author.ts'
import {
  inOneProject,
  memoryName,
  type MemoryCall,
  type MemoryLocation,
  type MemoryResolver,
} from '../memory/memory-resolver.ts'
import type { MemorySearch } from '../memory/ranking.ts'

/** Every method may throw `project_unknown` and `store_unavailable`. */
export interface ContextService {
  assemble(call: MemoryCall, input: AssembleInput): Promise<Assembled>
  summarize(call: MemoryCall, scope: string): Promise<MemorySummaryAnswer>
  whatChanged(call: MemoryCall, input: WhatChangedInput): Promise<WhatChanged>
  /** Replaces a pin of the same key. Throws `limit_reached`. */
  pin(call: MemoryCall, input: PinInput): Promise<Pin>
  /** Throws `record_unknown`, and `params_invalid` unless exactly one of id and key is given. */
  unpin(call: MemoryCall, input: UnpinInput): Promise<Pin>
  pins(call: MemoryCall): Promise<Pin[]>
  /** Returns a brief for an agent that starts or has lost its context. */
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
  /** Throws `params_invalid` for data that is too large for an event. */
  appendEvent(call: MemoryCall, input: AppendEventInput): { seq: number; timestamp: string }
}

export interface ContextDeps {
  resolver: MemoryResolver
  search: MemorySearch
  records: PinRecords
  events: Pick<EventLog, 'append'>
  clock: Pick<Clock, 'now'>
}

export function createContext({ resolver, search, records, events, clock }: ContextDeps): ContextService {
  const pins = pinsOf(records)

  const headlines = async (call: MemoryCall): Promise<Headlines> => {
    const own = readable(resolver, call)
    const { project } = own.location
    const known = { ...(await recordsIn(own.location)), pins: await pins.list(own.call) }
    return {
      project: project === null ? null : memoryName(own.location, await own.location.settings()),
      lines: headlinesOf(known),
    }
  }

  return {
    async assemble(call, input) {
      const location = resolver.forRead(call)
      const { task, scope, max_tokens } = location.toProjectPaths(input)
      const { memory } = location
      const { context_assembly: assembly } = (await location.settings()).config
      const { entries, decisions } = await recordsIn(location)
      const sources = {
        entries,
        decisions,
        entities: await memory.entities.list(),
        relations: await memory.relations.list(),
        pins: await pins.list(call),
        of_entries: await search.rank(memory, 'entry', entries, task),
        of_decisions: await search.rank(memory, 'decision', decisions, task),
      }
      const score = weightedSum(assembly.priority_weights, assembly.recency_half_life_days)
      const budget = max_tokens ?? assembly.default_max_tokens
      return assembled(sources, { task, scope, max_tokens: budget, now: timestamp(clock) }, score)
    },

    async summarize(call, scope) {
      const location = resolver.forRead(call)
      return summaryOf(await recordsIn(location), location.toProjectPaths({ scope }).scope, clock.now())
    },

    async whatChanged(call, input) {
      const location = resolver.forRead(call)
      return changesSince(await recordsIn(location), location.toProjectPaths(input))
    },

    pin: async (call, input) => await pins.add(call, input),
    unpin: async (call, input) => await pins.remove(call, input),
    pins: async (call) => await pins.list(call),

    async refresh(call, input) {
      const location = resolver.forRead(call)
      const { scope, max_tokens } = location.toProjectPaths(input)
      const known = { ...(await recordsIn(location)), pins: await pins.list(call) }
      return renderBrief(sectionsOf(known, scope), max_tokens)
    },

    headlines,
    primer: (call, modules, named) => primerFor(headlines, modules, call, named),

    async readArtifact(call, { id, max_bytes }) {
      const { project } = resolver.forRead(call)
      const artifact = await records.get(inOneProject(call), { kind: ARTIFACT_KIND.name, id })
      return await readArtifact(artifact, project, max_bytes)
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

async function recordsIn({ memory }: MemoryLocation) {
  return { entries: await memory.entries.list(), decisions: await memory.decisions.list() }
}

/** Falls back to the caller's own project if the caller may not read the scope. */
function readable(
  resolver: MemoryResolver,
  call: MemoryCall,
): { call: MemoryCall; location: MemoryLocation } {
  try {
    return { call, location: resolver.forRead(call) }
  } catch (error) {
    if (!(error instanceof TurnbellError) || error.code !== 'project_unknown') throw error
    const own = { ...call, context: { ...call.context, scope: null } }
    return { call: own, location: resolver.forRead(own) }
  }
}
