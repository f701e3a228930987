/** The demo's checks, from the diaries of the agents, the counts of the daemons and the signals of the hub. Pure. */
import type { SignalId } from '../../contracts/ids.ts'
import type { DrainedSignal } from '../../contracts/signal.ts'
import type { Turn } from './agent.ts'
import type { Run } from './scenario.ts'

export interface Check {
  name: string
  held: boolean
  detail: string
}

export interface Direction {
  from: string
  to: string
  sent: number
  drained: number
  drained_twice: number
  sent_mid_turn: number
}

export interface AgentSummary {
  identity: string
  turns: number
  doorbells: number
  doorbells_mid_turn: number
  most_doorbells_in_a_turn: number
}

const SIGNALS_EACH_WAY_MIN = 5

export function directions({ sent, agents }: Run): Direction[] {
  const names = ['ada', 'bob'] as const
  return names.map((from) => {
    const to = from === 'ada' ? 'bob' : 'ada'
    const drained = drainedBy(agents[to].diary.turns).filter((signal) => signal.from === from)
    const own = sent.filter((one) => one.from === from)
    return {
      from,
      to,
      // The hub sent the answer to the question in the name of its author.
      sent: own.length + drained.filter((signal) => signal.in_reply_to !== undefined).length,
      drained: new Set(drained.map(({ signal_id }) => signal_id)).size,
      drained_twice: repeated(drained).length,
      sent_mid_turn: own.filter(({ mid_turn }) => mid_turn).length,
    }
  })
}

export function agentSummaries({ agents }: Run): AgentSummary[] {
  return Object.values(agents).map(({ identity, diary }) => ({
    identity,
    turns: diary.turns.length,
    doorbells: diary.turns.reduce((sum, { bells }) => sum + bells.length, 0) + diary.bells_mid_turn.length,
    doorbells_mid_turn: diary.bells_mid_turn.length,
    most_doorbells_in_a_turn: Math.max(0, ...diary.turns.map(({ bells }) => bells.length)),
  }))
}

export function judge(run: Run): Check[] {
  return [...deliveryChecks(run), ...doorbellChecks(run), ...hubChecks(run)]
}

function deliveryChecks(run: Run): Check[] {
  const { sent, agents, question } = run
  const drained = drainedBy(turnsOf(run))
  const ids = new Set(drained.map(({ signal_id }) => signal_id))
  const known = new Set(sent.map(({ signal_id }) => signal_id))
  const unknown = drained.filter(
    ({ signal_id, in_reply_to }) => !known.has(signal_id) && in_reply_to !== question,
  )
  const missing = sent.filter(({ signal_id }) => !ids.has(signal_id))
  const duplicates = repeated(drained)
  const both = directions(run)
  return [
    check(
      'at least five signals each way',
      both.every((one) => one.sent >= SIGNALS_EACH_WAY_MIN),
      both.map((one) => `${one.from} to ${one.to}: ${one.sent}`).join(', '),
    ),
    check(
      'every signal was drained exactly once',
      missing.length === 0 && duplicates.length === 0 && unknown.length === 0,
      `${ids.size} drained; missing ${missing.length}, repeated ${duplicates.length}, unknown ${unknown.length}`,
    ),
    check(
      'no signal was delivered twice',
      drained.every(({ deliveries }) => deliveries === 1),
      `highest delivery: ${Math.max(0, ...drained.map(({ deliveries }) => deliveries))}`,
    ),
    check(
      'signals of each sender and priority were drained in order',
      inOrder(agents.ada.diary.turns, run) && inOrder(agents.bob.diary.turns, run),
      `${drained.length} drained signals compared`,
    ),
  ]
}

function doorbellChecks(run: Run): Check[] {
  const { sent } = run
  const turns = turnsOf(run)
  const summaries = agentSummaries(run)
  const rung = turns.filter(({ started_by }) => started_by === 'doorbell')
  const without_signal = rung.filter(
    (turn) => !turn.drained.some(({ signal_id }) => signal_id === turn.bells[0]?.signal_id),
  )
  const miscounted = summaries.filter(({ identity, doorbells }) => run.rung_by_daemon[identity] !== doorbells)
  const mid_turn = sent.filter((one) => one.mid_turn).length
  const rung_mid_turn = summaries.reduce((total, one) => total + one.doorbells_mid_turn, 0)
  const with_payload = turns.flatMap(({ bells }) => bells).filter(({ text }) => containsPayload(text, sent))
  return [
    check(
      'at most one doorbell per turn',
      rung.every(({ bells }) => bells.length === 1) && turns.every(({ bells }) => bells.length <= 1),
      summaries.map((one) => `${one.identity}: ${one.doorbells} in ${one.turns} turns`).join(', '),
    ),
    check(
      'no doorbell rang in the middle of a turn',
      rung_mid_turn === 0 && mid_turn > 0,
      `${mid_turn} signals were sent during turns, ${rung_mid_turn} of them rang there`,
    ),
    check(
      'every doorbell was followed by a drain of its signal',
      without_signal.length === 0 && miscounted.length === 0,
      `${rung.length} doorbells, each named a signal that was then drained`,
    ),
    check('no doorbell contained a payload', with_payload.length === 0, `${rung.length} texts searched`),
  ]
}

function hubChecks(run: Run): Check[] {
  const { sent, hub, kept, question } = run
  const replies = drainedBy(turnsOf(run)).filter(({ in_reply_to }) => in_reply_to === question)
  const unconfirmed = kept.filter(
    ({ status, stages }) => status !== 'completed' && stages.confirmed_at === null,
  )
  const waiting = sum(run.pending_at_end)
  return [
    check(
      'the hub was killed and restarted on the same home',
      hub.killed_by === 'SIGKILL' && hub.first_pid !== hub.second_pid,
      `process ${hub.first_pid}, then ${hub.second_pid}; away for ${hub.ready_again_ms - hub.killed_at_ms} ms`,
    ),
    check(
      'no accepted signal was lost by the kill',
      sameCounts(hub.pending_before, hub.pending_after) && hub.refused_while_down === 'hub_unreachable',
      `${sum(hub.pending_before)} pending before, ${sum(hub.pending_after)} after`,
    ),
    check(
      'the question was answered',
      replies.length === 1 && replies[0]?.from === 'bob',
      `${replies.length} reply with the result`,
    ),
    check(
      'no signal is pending and every drain is final',
      waiting === 0 && unconfirmed.length === 0 && kept.length === sent.length + replies.length,
      `${kept.length} signals at the hub, ${waiting} pending, ${unconfirmed.length} not final`,
    ),
  ]
}

const turnsOf = ({ agents }: Run): Turn[] => [...agents.ada.diary.turns, ...agents.bob.diary.turns]

const check = (name: string, held: boolean, detail: string): Check => ({ name, held, detail })

const drainedBy = (turns: readonly Turn[]): DrainedSignal[] => turns.flatMap(({ drained }) => drained)

function repeated(signals: readonly DrainedSignal[]): SignalId[] {
  const ids = signals.map(({ signal_id }) => signal_id)
  return ids.filter((id, at) => ids.indexOf(id) !== at)
}

/** Returns true if signals of the same sender and priority were drained in the order of sending. */
function inOrder(turns: readonly Turn[], { sent }: Run): boolean {
  const seqOf = new Map(sent.map(({ signal_id, seq }) => [signal_id, seq]))
  const last = new Map<string, number>()
  return drainedBy(turns).every(({ signal_id, from, priority }) => {
    const seq = seqOf.get(signal_id)
    if (seq === undefined) return true
    const lane = `${from} ${priority}`
    const follows = seq > (last.get(lane) ?? 0)
    last.set(lane, seq)
    return follows
  })
}

function containsPayload(text: string, sent: Run['sent']): boolean {
  return sent.some(({ payload }) => typeof payload === 'string' && text.includes(payload))
}

const sum = (counts: Record<string, number>) => Object.values(counts).reduce((all, one) => all + one, 0)
const sameCounts = (a: Record<string, number>, b: Record<string, number>) =>
  sum(a) > 0 && Object.entries(a).every(([name, number]) => b[name] === number)
