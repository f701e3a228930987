/** What is worth knowing for a task, best first, within a budget that is never exceeded. */
import { fill, tokensOf, type Piece } from './budget.ts'
import { surroundingsOf, type Surroundings } from './connectivity.ts'
import type { Scorer } from './scorer.ts'
import type {
  Assembled,
  AssembledDecision,
  AssembledEntity,
  AssembledEntry,
  Pin,
} from '../../contracts/context.ts'
import type { Decision } from '../../contracts/decision.ts'
import type { Entry, EntryType } from '../../contracts/entry.ts'
import type { Entity, Relation } from '../../contracts/graph.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { beginning } from '../../contracts/beginning.ts'
import { rounded, type Ranking } from '../memory/ranking.ts'
import { openSetOf, remembered } from '../memory/open.ts'
import { nearnessTo } from '../memory/scope.ts'

export interface Sources {
  entries: readonly Entry[]
  decisions: readonly Decision[]
  entities: readonly Entity[]
  relations: readonly Relation[]
  pins: readonly Pin[]
  /** How much each has to do with the task. */
  of_entries: Ranking
  of_decisions: Ranking
}

export interface Wanted {
  task: string
  scope: string
  max_tokens: number
  /** ISO 8601. */
  now: string
  /** How its reader is shown what others wrote. Before it is measured: text that is made harmless may grow by it. */
  shown: <T extends object>(view: T) => T
}

const LISTS = [
  'pinned',
  'active_decisions',
  'open_needs',
  'recent_findings',
  'active_warnings',
  'recent_questions',
  'related_entities',
] as const
type List = (typeof LISTS)[number]

/** Where an entry goes that is worth knowing. A constraint is as good as a warning; what answers is a finding. */
const LIST_OF: Partial<Record<EntryType, List>> = {
  need: 'open_needs',
  question: 'recent_questions',
  warning: 'active_warnings',
  constraint: 'active_warnings',
  finding: 'recent_findings',
  answer: 'recent_findings',
  artifact: 'recent_findings',
}
/** These wait for somebody, wherever they were posted, unless they are settled. */
const WAITING: ReadonlySet<EntryType> = new Set(['need', 'question', 'warning'])

/** What has less to do with the task than this, and lies elsewhere, is not worth knowing. */
const SIMILAR = 0.15
const ENTITIES_MAX = 30
const RELATIONS_SHOWN = 8
const ENTITY_WORTH = 0.3
/** What people have pinned is worth most. */
const PINNED = 2
/** Lengths of texts in full, in few words, and in very few. */
const LENGTHS = [1_200, 240, 80] as const

export function assembled(
  sources: Sources,
  { task, scope, max_tokens, now, shown }: Wanted,
  score: Scorer,
): Assembled {
  const around = surroundingsOf(sources.entities, sources.relations, scope)
  const at = { now: Date.parse(now), near: nearnessTo(scope), around, score }
  const pieces: Piece<List>[] = [
    ...sources.pins.map(({ key, text }) => pinPiece(key, text)),
    ...decisionPieces(sources, at),
    ...entryPieces(sources, at),
    ...entityPieces(around),
  ].sort((a, b) => b.score - a.score)

  const degraded = sources.of_entries.degraded || sources.of_decisions.degraded
  const frame = (said: { task: string; scope: string }): Assembled => ({
    ...{ assembled_at: now, ...said, token_estimate: max_tokens },
    ...{ pinned: [], active_decisions: [], open_needs: [], recent_findings: [] },
    ...{ active_warnings: [], recent_questions: [], related_entities: [] },
    ...{ left_out: pieces.length, degraded },
  })
  const budget = max_tokens * LIMITS.characters_per_token
  const empty = fittingFrame(frame, { task, scope }, budget)
  const { lists, left_out } = fill(
    LISTS,
    pieces,
    { characters: budget - JSON.stringify(empty).length, lengths: LENGTHS },
    shown,
  )
  const answer = { ...empty, ...lists, left_out } as unknown as Assembled
  // The frame was measured with the largest numbers that may stand in it.
  return { ...answer, token_estimate: tokensOf(JSON.stringify(answer)) }
}

interface At {
  now: number
  near: (scope: string) => number
  around: Surroundings
  score: Scorer
}

// Ten thousand entries pass through here for every answer, so nothing is made of one that need not be.
function decisionPieces({ decisions, of_decisions }: Sources, at: At): Piece<List>[] {
  const pieces: Piece<List>[] = []
  const times = timesOf(decisions)
  for (const [place, decision] of decisions.entries()) {
    const { id, status, scope, affected_files, affected_symbols, confidence } = decision
    if (status !== 'active' && status !== 'provisional') continue
    const similarity = of_decisions.scores.get(id) ?? 0
    let proximity = at.near(scope)
    for (const file of affected_files) proximity = Math.max(proximity, at.near(file))
    for (const symbol of affected_symbols) proximity = Math.max(proximity, at.near(symbol))
    const connectivity = at.around.connectivity(id)
    if (proximity === 0 && connectivity === 0 && similarity < SIMILAR) continue
    const age_ms = at.now - (times[place] ?? 0)
    const score = rounded(
      at.score({ similarity, age_ms, proximity, confidence, status, type: 'decision', connectivity }),
    )
    pieces.push({
      section: 'active_decisions',
      score,
      least: leastOfDecision(decision),
      write: (length) => decisionView(decision, score, length),
    })
  }
  return pieces
}

function entryPieces({ entries, of_entries }: Sources, at: At): Piece<List>[] {
  const pieces: Piece<List>[] = []
  const open = openSetOf(entries)
  const times = timesOf(entries)
  for (const [place, entry] of entries.entries()) {
    const { id, entry_type: type, scope, relates_to } = entry
    const section = LIST_OF[type]
    if (section === undefined || (WAITING.has(type) && !open.has(entry))) continue
    const similarity = of_entries.scores.get(id) ?? 0
    const proximity = at.near(scope)
    if (proximity === 0 && similarity < SIMILAR) continue
    let connectivity = at.around.connectivity(scope)
    for (const other of relates_to ?? []) connectivity = Math.max(connectivity, at.around.connectivity(other))
    const age_ms = at.now - (times[place] ?? 0)
    const score = rounded(
      at.score({ similarity, age_ms, proximity, confidence: null, status: null, type, connectivity }),
    )
    pieces.push({
      section,
      score,
      least: leastOfEntry(entry),
      write: (length) => entryView(entry, score, length),
    })
  }
  return pieces
}

const timesOf = remembered((items: readonly { timestamp: string }[]): readonly number[] =>
  items.map(({ timestamp }) => Date.parse(timestamp)),
)

/** The best connected of what the scope is about. */
function entityPieces(around: Surroundings): Piece<List>[] {
  return around.inside
    .map((entity) => ({ entity, relations: around.relationsOf(entity) }))
    .filter(({ relations }) => relations.length > 0)
    .sort((a, b) => b.relations.length - a.relations.length || (a.entity.id < b.entity.id ? 1 : -1))
    .slice(0, ENTITIES_MAX)
    .map(({ entity: { id, name, type }, relations }) => {
      const told = relations.map(({ source, target, type: how }) =>
        source === id ? `${how} > ${around.nameOf(target)}` : `< ${how} ${around.nameOf(source)}`,
      )
      const view = (shown: number): AssembledEntity => ({ name, type, relations: told.slice(0, shown) })
      const score = (ENTITY_WORTH * relations.length) / (relations.length + 1)
      return {
        section: 'related_entities',
        score,
        least: name.length,
        write: (length) => view(length === LENGTHS[0] ? RELATIONS_SHOWN : 2),
      }
    })
}

function pinPiece(key: string, text: string): Piece<List> {
  return {
    section: 'pinned',
    score: PINNED,
    least: key.length,
    write: (length) => ({ key, text: beginning(text, length) }),
  }
}

// How short the views below can be as JSON, reckoned without writing them. Escapes only make them longer; a character
// that would be cut in two may be missing from each text.
const ID = 26
const TIME = 24
const DECISION_FRAME =
  '{"id":"","summary":"","rationale":"","confidence":"","affected_files":[],"score":0}'.length + ID
const ENTRY_FRAME =
  '{"id":"","summary":"","scope":"","agent_id":"","timestamp":"","score":0}'.length + ID + TIME
const DETAIL_FRAME = ',"detail":""'.length
const [, , SHORTEST] = LENGTHS

function leastOfDecision({ summary, rationale, confidence }: Decision): number {
  const texts = cutLength(summary, LIMITS.memory_summary_length_max) + cutLength(rationale, SHORTEST)
  return DECISION_FRAME + texts + confidence.length
}

function leastOfEntry({ summary, detail, scope, agent_id }: Entry): number {
  const more = detail === '' ? 0 : DETAIL_FRAME + cutLength(detail, SHORTEST)
  const said = cutLength(summary, LIMITS.memory_summary_length_max) + scope.length + agent_id.length
  return ENTRY_FRAME + said + more
}

function cutLength({ length }: string, most: number): number {
  return length <= most ? length : most - 1
}

function decisionView(decision: Decision, score: number, length: number): AssembledDecision {
  const { id, summary, rationale, confidence, status, affected_files } = decision
  return {
    ...{ id, summary: beginning(summary, LIMITS.memory_summary_length_max) },
    ...{ rationale: beginning(rationale, length), confidence },
    ...(status === 'provisional' ? { status } : {}),
    ...{ affected_files: affected_files.slice(0, length === LENGTHS[0] ? 10 : 2), score },
  }
}

function entryView(entry: Entry, score: number, length: number): AssembledEntry {
  const { id, summary, detail, scope, agent_id, timestamp } = entry
  return {
    ...{ id, summary: beginning(summary, LIMITS.memory_summary_length_max) },
    ...(detail === '' ? {} : { detail: beginning(detail, length) }),
    ...{ scope, agent_id, timestamp, score },
  }
}

/** What is repeated of the question takes no more than a quarter of the answer. */
function fittingFrame(
  frame: (said: { task: string; scope: string }) => Assembled,
  said: { task: string; scope: string },
  budget: number,
): Assembled {
  const size = (text: string) => JSON.stringify(text).length
  const [room, least] = [Math.floor(budget / 4), JSON.stringify(frame({ task: '', scope: '' })).length]
  const spare = Math.max(Math.min(room, budget - least), 0)
  const scope = cut(said.scope, Math.floor(spare / 2), size)
  const task = cut(said.task, spare - size(scope) + 2, size)
  return frame({ task, scope })
}

/** As JSON, without its quotes, it has at most so many characters. */
function cut(text: string, length_max: number, size: (text: string) => number): string {
  let short = text
  while (short !== '' && size(short) - 2 > length_max) {
    short = beginning(short, Math.max(Math.min(short.length - 1, length_max), 1))
    if (short === '…') return ''
  }
  return short
}
