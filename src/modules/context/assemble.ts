/** Assembles the most relevant records for a task within a token budget that is never exceeded. */
import { fill, tokensOf, type Piece } from './budget.ts'
import { surroundingsOf, type Surroundings } from './connectivity.ts'
import type { Scorer } from './scorer.ts'
import type {
  Assembled,
  AssembledDecision,
  AssembledEntity,
  AssembledEntry,
  Pin,
} from '../../contracts/memory/context.ts'
import type { Decision } from '../../contracts/memory/decision.ts'
import type { Entry, EntryType } from '../../contracts/memory/entry.ts'
import type { Entity, Relation } from '../../contracts/memory/graph.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { truncate } from '../../contracts/text/truncate.ts'
import { roundScore, type Ranking } from '../memory/ranking.ts'
import { openEntrySet } from '../memory/open-entries.ts'
import { memoizeByRef } from '../lib/memoize.ts'
import { nearnessTo } from '../memory/scope.ts'

export interface Sources {
  entries: readonly Entry[]
  decisions: readonly Decision[]
  entities: readonly Entity[]
  relations: readonly Relation[]
  pins: readonly Pin[]
  /** Relevance of entries and decisions to the task. */
  of_entries: Ranking
  of_decisions: Ranking
}

export interface Wanted {
  task: string
  scope: string
  max_tokens: number
  /** ISO 8601. */
  now: string
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

/** List of each type of entry. Constraints are listed with warnings, answers and artifacts with findings. */
const LIST_OF: Partial<Record<EntryType, List>> = {
  need: 'open_needs',
  question: 'recent_questions',
  warning: 'active_warnings',
  constraint: 'active_warnings',
  finding: 'recent_findings',
  answer: 'recent_findings',
  artifact: 'recent_findings',
}
/** Types that are only included while they are open. */
const OPEN_TYPES: ReadonlySet<EntryType> = new Set(['need', 'question', 'warning'])

/** Minimum similarity to the task for records outside the scope. */
const SIMILARITY_MIN = 0.15
const ENTITIES_MAX = 30
const RELATIONS_SHOWN = 8
/** Maximum score of an entity. */
const ENTITY_SCORE_MAX = 0.3
/** Score of pins, above any other. */
const PIN_SCORE = 2
/** Maximum lengths of a text in its full, short and shortest form, in characters. */
const LENGTHS = [1_200, 240, 80] as const

export function assembled(
  sources: Sources,
  { task, scope, max_tokens, now }: Wanted,
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
  const frame = (question: { task: string; scope: string }): Assembled => ({
    assembled_at: now,
    ...question,
    token_estimate: max_tokens,
    pinned: [],
    active_decisions: [],
    open_needs: [],
    recent_findings: [],
    active_warnings: [],
    recent_questions: [],
    related_entities: [],
    left_out: pieces.length,
    degraded,
  })
  const budget = max_tokens * LIMITS.characters_per_token
  const empty = fittingFrame(frame, { task, scope }, budget)
  const { lists, left_out } = fill(LISTS, pieces, {
    characters: budget - JSON.stringify(empty).length,
    lengths: LENGTHS,
  })
  const answer = { ...empty, ...lists, left_out } as unknown as Assembled
  // The frame was measured with the largest possible numbers.
  return { ...answer, token_estimate: tokensOf(JSON.stringify(answer)) }
}

interface At {
  now: number
  near: (scope: string) => number
  around: Surroundings
  score: Scorer
}

// Runs over ten thousand entries for every response, so allocations are avoided.
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
    if (proximity === 0 && connectivity === 0 && similarity < SIMILARITY_MIN) continue
    const age_ms = at.now - (times[place] ?? 0)
    const score = roundScore(
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
  const open = openEntrySet(entries)
  const times = timesOf(entries)
  for (const [place, entry] of entries.entries()) {
    const { id, entry_type: type, scope, relates_to } = entry
    const section = LIST_OF[type]
    if (section === undefined || (OPEN_TYPES.has(type) && !open.has(entry))) continue
    const similarity = of_entries.scores.get(id) ?? 0
    const proximity = at.near(scope)
    if (proximity === 0 && similarity < SIMILARITY_MIN) continue
    let connectivity = at.around.connectivity(scope)
    for (const other of relates_to ?? []) connectivity = Math.max(connectivity, at.around.connectivity(other))
    const age_ms = at.now - (times[place] ?? 0)
    const score = roundScore(
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

const timesOf = memoizeByRef((items: readonly { timestamp: string }[]): readonly number[] =>
  items.map(({ timestamp }) => Date.parse(timestamp)),
)

/** Returns the entities of the scope with the most relations. */
function entityPieces(around: Surroundings): Piece<List>[] {
  return around.inside
    .map((entity) => ({ entity, relations: around.relationsOf(entity) }))
    .filter(({ relations }) => relations.length > 0)
    .sort((a, b) => b.relations.length - a.relations.length || (a.entity.id < b.entity.id ? 1 : -1))
    .slice(0, ENTITIES_MAX)
    .map(({ entity: { id, name, type }, relations }) => {
      const texts = relations.map(({ source, target, type: how }) =>
        source === id ? `${how} > ${around.nameOf(target)}` : `< ${how} ${around.nameOf(source)}`,
      )
      const view = (shown: number): AssembledEntity => ({ name, type, relations: texts.slice(0, shown) })
      const score = (ENTITY_SCORE_MAX * relations.length) / (relations.length + 1)
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
    score: PIN_SCORE,
    least: key.length,
    write: (length) => ({ key, text: truncate(text, length) }),
  }
}

// Minimum lengths of the views below as JSON, computed without writing them. Escapes only make them longer; truncation may
// drop half of a character pair.
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
  const texts = cutLength(summary, LIMITS.memory_summary_length_max) + scope.length + agent_id.length
  return ENTRY_FRAME + texts + more
}

function cutLength({ length }: string, length_max: number): number {
  return length <= length_max ? length : length_max - 1
}

function decisionView(decision: Decision, score: number, length: number): AssembledDecision {
  const { id, summary, rationale, confidence, status, affected_files } = decision
  return {
    id,
    summary: truncate(summary, LIMITS.memory_summary_length_max),
    rationale: truncate(rationale, length),
    confidence,
    ...(status === 'provisional' ? { status } : {}),
    affected_files: affected_files.slice(0, length === LENGTHS[0] ? 10 : 2),
    score,
  }
}

function entryView(entry: Entry, score: number, length: number): AssembledEntry {
  const { id, summary, detail, scope, agent_id, timestamp } = entry
  return {
    id,
    summary: truncate(summary, LIMITS.memory_summary_length_max),
    ...(detail === '' ? {} : { detail: truncate(detail, length) }),
    scope,
    agent_id,
    timestamp,
    score,
  }
}

/** Returns the empty response; task and scope, which it repeats, take at most a quarter of the budget. */
function fittingFrame(
  frame: (question: { task: string; scope: string }) => Assembled,
  question: { task: string; scope: string },
  budget: number,
): Assembled {
  const size = (text: string) => JSON.stringify(text).length
  const [room, least] = [Math.floor(budget / 4), JSON.stringify(frame({ task: '', scope: '' })).length]
  const spare = Math.max(Math.min(room, budget - least), 0)
  const scope = cut(question.scope, Math.floor(spare / 2), size)
  const task = cut(question.task, spare - size(scope) + 2, size)
  return frame({ task, scope })
}

/** Truncates a text to `length_max` characters of JSON without its quotes. */
function cut(text: string, length_max: number, size: (text: string) => number): string {
  let short = text
  while (short !== '' && size(short) - 2 > length_max) {
    short = truncate(short, Math.max(Math.min(short.length - 1, length_max), 1))
    if (short === '…') return ''
  }
  return short
}
