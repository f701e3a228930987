/**
 * Consumes spooled lines: lines written while the hub was down, and lines of hooks that do not wait for the hub.
 *
 * A hub that crashes after it processed a line and before it recorded that receives the line again. Everything that a
 * line creates can therefore be found by the line's id: the entry (also in the archive), the summary of an archive run,
 * the event. If it exists already, the line has no effect. A power failure may lose the newest events, as any other event.
 */
import { describeParams } from '../contracts/validation/describe-issues.ts'
import { TurnbellError } from '../contracts/errors/errors.ts'
import { hookFacts } from '../contracts/spool/hook.ts'
import type { ActivityReport } from '../contracts/activity/event.ts'
import { ANONYMOUS_AGENT, type Identity } from '../contracts/ids.ts'
import { parseJsonOrNull } from '../contracts/validation/json.ts'
import {
  Spooled,
  type SpooledActivity,
  type SpooledArchive,
  type SpooledHook,
  type SpooledPost,
} from '../contracts/spool/spool.ts'
import type { HookReport } from '../modules/activity/types.ts'
import type { Blackboard } from '../modules/blackboard/types.ts'
import type { MemoryCall } from '../modules/memory/memory-resolver.ts'
import type { EventLog } from '../ports/event-log.ts'
import type { Log } from '../ports/log.ts'
import type { Spool, LineOutcome } from '../ports/spool.ts'
import type { HubModule } from './hub-module.ts'

/** Takes the reports of shims that the hub did not answer. */
export interface SpooledActivityIntake {
  /**
   * Resolves when the events are stored; a repetition changes nothing. Rejects with `store_unavailable` if they cannot be
   * stored now, and with another TurnbellError if they never can.
   */
  reportSpooled(identity: Identity, report: ActivityReport): Promise<void>
  /** Stores the events of a hook; never rejects. */
  reportHook(hook: HookReport): Promise<void>
}

export interface SpoolConsumerDeps {
  spool: Spool
  /** Absent while the hub stores no activity: the lines are deferred. */
  activity?: SpooledActivityIntake | undefined
  blackboard: Pick<Blackboard, 'postSpooled' | 'archiveAfter'>
  events: Pick<EventLog, 'append' | 'read' | 'written'>
  log: Log
}

/** Resolves once every line that can be processed now is processed. */
export type ConsumeSpool = () => Promise<void>

export function createSpoolConsumer(deps: SpoolConsumerDeps): ConsumeSpool {
  const { spool, log } = deps
  return async () => {
    const pass: Pass = { ...deps, unwritable: new Map(), recorded_hooks: null }
    const { taken, refused } = await spool.consume((lines) => processLines(lines, pass))
    if (taken + refused > 0) log.info({ taken, refused }, 'spool processed')
  }
}

/** Consumes the spool when the hub starts and at every sweep. */
export function spoolPart(deps: SpoolConsumerDeps): HubModule {
  const consume = createSpoolConsumer(deps)
  const { spool, log } = deps
  return {
    name: 'spool',
    start: () => void consume().catch((err: unknown) => log.error({ err }, 'spool not processed')),
    sweep: consume,
    stop: () => spool.close(),
  }
}

/** State of one pass over the spool. */
interface Pass extends SpoolConsumerDeps {
  /** Root of each project that cannot be written now, with the reason. Further lines of that project are not tried. */
  unwritable: Map<string, string>
  /** Ids of the hook events in the event log; null until the first hook line. */
  recorded_hooks: Set<unknown> | null
}

const NO_OUTCOME: LineOutcome = { broke: 'processing returned no outcome' }

async function processLines(lines: readonly string[], pass: Pass): Promise<LineOutcome[]> {
  const outcomes = new Map<number, LineOutcome>()
  const parsed = lines.map(parseLine)
  for (const [index, line] of parsed.entries()) if ('refused' in line) outcomes.set(index, line)
  for (const group of groupsOf(parsed)) {
    const done = await processGroup(
      group.map(({ line }) => line),
      pass,
    )
    for (const [at, { index }] of group.entries()) outcomes.set(index, done[at] ?? NO_OUTCOME)
  }
  return lines.map((_, index) => outcomes.get(index) ?? NO_OUTCOME)
}

function parseLine(line: string): Spooled | { refused: string } {
  const value = parseJsonOrNull(line)
  const parsed = Spooled.safeParse(value)
  return parsed.success ? parsed.data : { refused: describeParams(Spooled, value, parsed.error, 'the line') }
}

type Group = { line: Spooled; index: number }[]

function keyOf(line: Spooled): string {
  switch (line.type) {
    case 'post':
      return JSON.stringify([line.root, line.identity])
    case 'activity':
      return JSON.stringify([line.type, line.report.session_id])
    default:
      return line.type
  }
}

/**
 * Groups lines that are processed together: hook lines, the activity of one session, and the posts of one persona in one
 * project. An archive line is processed after the posts before it in the spool, and before the posts after it.
 */
function groupsOf(parsed: readonly (Spooled | { refused: string })[]): Group[] {
  const groups: Group[] = []
  const open = new Map<string, Group>()
  for (const [index, line] of parsed.entries()) {
    if ('refused' in line) continue
    const key = keyOf(line)
    const group = line.type === 'archive' ? undefined : open.get(key)
    if (group !== undefined) group.push({ line, index })
    else {
      const started = [{ line, index }]
      groups.push(started)
      if (line.type === 'archive') open.clear()
      else open.set(key, started)
    }
  }
  return groups
}

async function processGroup(lines: readonly Spooled[], pass: Pass): Promise<LineOutcome[]> {
  const [first] = lines
  if (first === undefined) return []
  const later = 'root' in first ? pass.unwritable.get(first.root) : undefined
  if (later !== undefined) return lines.map(() => ({ later }))
  if (first.type === 'hook') return recordHooks(lines as SpooledHook[], pass)
  if (first.type === 'activity') return reportActivity(lines as SpooledActivity[], pass)
  return first.type === 'post' ? postEntries(lines as SpooledPost[], pass) : archiveEntries(first, pass)
}

async function recordHooks(hooks: readonly SpooledHook[], pass: Pass): Promise<LineOutcome[]> {
  const { events } = pass
  pass.recorded_hooks ??= recordedHookIds(events)
  for (const { id, client, identity, body, at } of hooks) {
    if (pass.recorded_hooks.has(id)) continue
    pass.recorded_hooks.add(id)
    events.append({ type: 'hook', agent_id: identity, data: { ...hookFacts(client, body), at, id } })
    await pass.activity?.reportHook({ identity, client, body, at })
  }
  await events.written()
  return hooks.map(() => 'taken')
}

function recordedHookIds(events: SpoolConsumerDeps['events']): Set<unknown> {
  return new Set(events.read({ type: 'hook', limit: Infinity }).events.map(({ data }) => data['id']))
}

/** Reports the activity of one session, in order: the lines after one that must wait also wait. */
async function reportActivity(lines: readonly SpooledActivity[], pass: Pass): Promise<LineOutcome[]> {
  const outcomes: LineOutcome[] = []
  let later: LineOutcome | null = null
  for (const line of lines) {
    const outcome: LineOutcome = later ?? (await activityOutcome(line, pass))
    if (typeof outcome === 'object' && 'later' in outcome) later = outcome
    outcomes.push(outcome)
  }
  return outcomes
}

async function activityOutcome({ id, identity, report }: SpooledActivity, pass: Pass): Promise<LineOutcome> {
  if (pass.activity === undefined) return { later: 'this hub stores no activity' }
  try {
    await pass.activity.reportSpooled(identity, report)
    return 'taken'
  } catch (error) {
    if (error instanceof TurnbellError)
      return error.code === 'store_unavailable' ? { later: error.detail } : { refused: error.detail }
    pass.log.error({ err: error, id }, 'spooled line not processed')
    return { broke: String(error) }
  }
}

/** Posts entries of one persona in one project. */
async function postEntries(posts: readonly SpooledPost[], pass: Pass): Promise<LineOutcome[]> {
  const [first] = posts
  if (first === undefined) return []
  const { root, identity } = first
  try {
    const outcomes = await pass.blackboard.postSpooled(operatorCall(root, identity), posts)
    return posts.map((post, at) => {
      const refusal = outcomes[at] ?? null
      return refusal === null ? 'taken' : outcomeOf(refusal, post, pass)
    })
  } catch (error) {
    return posts.map((post) => outcomeOf(error, post, pass))
  }
}

async function archiveEntries(line: SpooledArchive, pass: Pass): Promise<LineOutcome[]> {
  try {
    await pass.blackboard.archiveAfter(operatorCall(line.root), line, line)
    return ['taken']
  } catch (error) {
    return [outcomeOf(error, line, pass)]
  }
}

/** Returns `later` if the project of the line cannot be written now. */
function outcomeOf(error: unknown, { id, root }: SpooledPost | SpooledArchive, pass: Pass): LineOutcome {
  if (!(error instanceof TurnbellError)) {
    pass.log.error({ err: error, id }, 'spooled line not processed')
    return { broke: String(error) }
  }
  if (error.code !== 'store_unavailable') return { refused: error.detail }
  pass.unwritable.set(root, error.detail)
  return { later: error.detail }
}

/** Only the owner can write to the spool, so its lines have the operator's rights in every project. */
function operatorCall(root: string, identity?: Identity): MemoryCall {
  return {
    caller: { identity: identity ?? 'operator', kind: 'operator' },
    context: { agent_id: identity ?? ANONYMOUS_AGENT, scope: root },
  }
}
