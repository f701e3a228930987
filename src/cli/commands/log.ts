/** `turnbell log`: the history of signals, with time, sender, recipient, intent and stage. */
import { InvalidArgumentError, type Command } from 'commander'
import * as z from 'zod'
import { OPERATOR } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { SignalView } from '../../contracts/signal.ts'
import { type Cli, invocationOf, type Invocation, parseIdentity, parseWhole } from '../cli.ts'
import { parseDuration } from '../duration.ts'
import { follow } from '../hub/follow.ts'
import { write } from '../output.ts'
import { examples, table } from '../render.ts'
import { InboxPage } from './inbox.ts'

interface Options {
  persona?: string
  since?: (now_ms: number) => number
  follow?: boolean
  limit?: number
}

const LIMIT_DEFAULT = 50

/** One line of the history. It never contains a payload. */
export interface LogEntry {
  signal_id: string
  seq: number
  at: string
  from: string
  to: string
  intent: string
  priority: number
  in_reply_to?: string
  status: SignalView['status']
  /** Number of drains. */
  deliveries: number
  /** Latest stage since the signal last became pending, and its time. */
  stage: string
  stage_at: string
}

export function registerLog(program: Command, cli: Cli): void {
  const command = program
    .command('log')
    .description('history of signals: time, from, to, intent, stage')
    .option('--persona <name>', 'only signals from or to this persona', parseIdentity)
    .option('--since <time>', 'only signals sent after this time: 2h, 3d, or 2026-01-31T12:00', parseSince)
    .option(
      '--limit <n>',
      `at most this many of the newest signals (${LIMIT_DEFAULT}; no limit with --since)`,
      parseWhole(1, 100_000),
    )
    .option('-f, --follow', 'keep printing a line for each new signal and stage until Ctrl-C')
    .addHelpText(
      'after',
      examples([
        ['turnbell log --since 3d', 'signals of the last three days'],
        ['turnbell log --persona ada -f', 'signals from and to ada, as they are sent'],
      ]),
    )
  command.action(async (options: Options) => {
    const invocation = invocationOf(cli, command)
    const since_ms = options.since?.(cli.clock.now()) ?? null
    const limit = options.limit ?? (since_ms === null ? LIMIT_DEFAULT : Infinity)
    const { persona } = options
    let is_known = persona === undefined || persona === OPERATOR
    const look = async (at_most: number) => {
      const entries = await history(invocation, persona, { since_ms, limit: at_most })
      if (entries.length === 0 && persona !== undefined && !is_known)
        await requirePersona(invocation, persona)
      is_known = true
      return entries
    }
    if (options.follow === true) return followLog(invocation, look, limit)
    const entries = await look(limit)
    await invocation.out.result({ signals: entries }, () =>
      entries.length === 0 ? 'No signals.' : table(HEAD, entries.map(row)),
    )
  })
}

/** Throws `target_unknown` for a name that no persona has or had. */
async function requirePersona({ hub }: Invocation, persona: string): Promise<void> {
  await hub().ask('personas', 'get', { identity: persona }, z.unknown())
}

const HEAD = ['SENT', 'FROM', 'TO', 'INTENT', 'STAGE', 'SIGNAL']
const row = (entry: LogEntry) => {
  const { at, from, to, intent, signal_id } = entry
  return [at, from, to, intent, stageWords(entry), signal_id]
}

/** Returns `pending, deliveries 1` for a signal that was drained and became pending again. */
function stageWords({ stage, status, deliveries }: LogEntry): string {
  return status === 'pending' && deliveries > 0 ? `${stage}, deliveries ${deliveries}` : stage
}

/** Returns the history, oldest first. */
async function history(
  invocation: Invocation,
  persona: string | undefined,
  bounds: { since_ms: number | null; limit: number },
): Promise<LogEntry[]> {
  const queries = persona === undefined ? [{}] : [{ to: persona }, { from: persona }]
  const results = await Promise.all(queries.map((query) => newest(invocation, query, bounds)))
  const by_seq = new Map(results.flat().map((view) => [view.seq, view]))
  const views = [...by_seq.values()].sort((one, other) => one.seq - other.seq)
  return (Number.isFinite(bounds.limit) ? views.slice(-bounds.limit) : views).map(entryOf)
}

async function newest(
  { hub }: Invocation,
  query: { to?: string; from?: string },
  { since_ms, limit }: { since_ms: number | null; limit: number },
): Promise<SignalView[]> {
  const views: SignalView[] = []
  let before_seq: number | null = null
  for (;;) {
    const position = before_seq === null ? {} : { before_seq }
    const page: InboxPage = await hub().ask(
      'signals',
      'inbox',
      { ...query, ...position, limit: Math.min(limit, LIMITS.inbox_limit_max) },
      InboxPage,
    )
    for (const view of page.signals) {
      if (since_ms !== null && Date.parse(view.stages.created_at) < since_ms) return views
      views.push(view)
      if (views.length >= limit) return views
    }
    if (page.next === null) return views
    before_seq = page.next
  }
}

/** Prints one document per line with --json. The first poll prints what `log` prints, later ones what is new on their page. */
async function followLog(
  { cli, json, ...rest }: Invocation,
  look: (limit: number) => Promise<LogEntry[]>,
  limit: number,
): Promise<void> {
  const page = LIMITS.inbox_limit_max
  let stages: Map<string, string> | null = null
  // After finished signals are removed, a page contains signals that are older than those of the previous page.
  let oldest_seq = 0
  await follow({ cli, json, ...rest }, async () => {
    // The first poll also records the stages of older signals, so that a later page does not print them as new.
    const entries = await look(stages === null ? Math.max(limit, page) : page)
    const before = stages
    const changed = entries.filter((entry) => {
      const last_stage = before?.get(entry.signal_id)
      return last_stage === undefined ? entry.seq >= oldest_seq : last_stage !== stageWords(entry)
    })
    if (entries.length >= page) oldest_seq = Math.max(oldest_seq, entries[0]?.seq ?? 0)
    stages = new Map(entries.map((entry) => [entry.signal_id, stageWords(entry)]))
    for (const entry of before === null ? entries.slice(-limit) : changed)
      await write(cli.stdout, `${json ? JSON.stringify(entry) : lineOf(entry)}\n`)
  })
}

function lineOf(entry: LogEntry): string {
  const { stage_at, from, to, intent, signal_id } = entry
  return `${stage_at}  ${from} -> ${to}  ${intent}  ${stageWords(entry)}  ${signal_id}`
}

export function entryOf(view: SignalView): LogEntry {
  const { signal_id, seq, from, to, intent, priority, in_reply_to, status, deliveries, stages } = view
  const { stage, stage_at } = stageOf(view)
  return {
    signal_id,
    seq,
    at: stages.created_at,
    from,
    to,
    intent,
    priority,
    ...(in_reply_to === undefined ? {} : { in_reply_to }),
    status,
    deliveries,
    stage,
    stage_at,
  }
}

function stageOf({ status, deliveries, stages, expires_at }: SignalView): {
  stage: string
  stage_at: string
} {
  const { created_at, pushed_at, rung_at, seen_at, drained_at, confirmed_at, completed_at } = stages
  const at = (stage: string, time: string | null | undefined) => ({ stage, stage_at: time ?? created_at })
  switch (status) {
    case 'completed':
      return at('completed', completed_at)
    case 'cancelled':
      return at('cancelled', stages.cancelled_at)
    case 'expired':
      return at('expired', expires_at)
    case 'dead':
      return at('dead', drained_at)
    case 'acked':
      return confirmed_at === null ? at('drained', drained_at) : at('confirmed', confirmed_at)
    case 'pending':
      // It was drained and became pending again. Its stages are those of the first delivery; the time of the release is not stored.
      if (deliveries > 0) return at('pending', drained_at)
      if (seen_at !== null) return at('seen', seen_at)
      if (rung_at !== null) return at('rung', rung_at)
      return pushed_at === null ? at('pending', created_at) : at('pushed', pushed_at)
  }
}

/** Parses a time, or a duration before now. */
function parseSince(text: string): (now_ms: number) => number {
  if (/^\d{1,9}[smhd]$/.test(text)) {
    const ago_ms = parseDuration(text) * 1000
    return (now_ms) => now_ms - ago_ms
  }
  const at = /^\d{4}-/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at))
    throw new InvalidArgumentError('It must be a duration such as 2h, or a time such as 2026-01-31.')
  return () => at
}
