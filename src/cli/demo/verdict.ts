/** Did all of it hold? Judged from what the agents wrote down, the daemons counted and the hub kept. Pure. */
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
      // The hub itself sent the answer to a question in its author's name.
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
  const { sent, agents, hub, kept, question } = run
  const turns = [...agents.ada.diary.turns, ...agents.bob.diary.turns]
  const drained = drainedBy(turns)
  const ids = new Set(drained.map(({ signal_id }) => signal_id))
  const known = new Set(sent.map(({ signal_id }) => signal_id))
  const replies = drained.filter(({ in_reply_to }) => in_reply_to === question)
  const uninvited = drained.filter(
    ({ signal_id, in_reply_to }) => !known.has(signal_id) && in_reply_to !== question,
  )
  const missing = sent.filter(({ signal_id }) => !ids.has(signal_id))
  const again = repeated(drained)
  const summaries = agentSummaries(run)
  const both = directions(run)
  const rung = turns.filter(({ started_by }) => started_by === 'doorbell')
  const hollow = rung.filter(
    (turn) => !turn.drained.some(({ signal_id }) => signal_id === turn.bells[0]?.signal_id),
  )
  const miscounted = summaries.filter(({ identity, doorbells }) => run.rung_by_daemon[identity] !== doorbells)
  const loose = kept.filter(({ status, stages }) => status !== 'completed' && stages.confirmed_at === null)
  const waiting = Object.values(run.pending_at_end).reduce((sum, number) => sum + number, 0)
  const mid_turn = sent.filter((one) => one.mid_turn).length
  const talkative = turns.flatMap(({ bells }) => bells).filter(({ text }) => saysAny(text, sent))

  return [
    check(
      'at least five signals each way',
      both.every((one) => one.sent >= SIGNALS_EACH_WAY_MIN),
      both.map((one) => `${one.from} to ${one.to}: ${one.sent}`).join(', '),
    ),
    check(
      'every signal was drained exactly once',
      missing.length === 0 && again.length === 0 && uninvited.length === 0,
      `${ids.size} drained; missing ${missing.length}, repeated ${again.length}, unknown ${uninvited.length}`,
    ),
    check(
      'no signal was handed out a second time',
      drained.every(({ deliveries }) => deliveries === 1),
      `highest delivery: ${Math.max(0, ...drained.map(({ deliveries }) => deliveries))}`,
    ),
    check(
      'in order, for each sender and priority',
      inOrder(agents.ada.diary.turns, run) && inOrder(agents.bob.diary.turns, run),
      `${drained.length} drained signals compared`,
    ),
    check(
      'exactly one doorbell a turn',
      rung.every(({ bells }) => bells.length === 1) && turns.every(({ bells }) => bells.length <= 1),
      summaries.map((one) => `${one.identity}: ${one.doorbells} in ${one.turns} turns`).join(', '),
    ),
    check(
      'no doorbell in the middle of a turn',
      summaries.every((one) => one.doorbells_mid_turn === 0) && mid_turn > 0,
      `${mid_turn} signals were sent into running turns, ${summaries.reduce((sum, one) => sum + one.doorbells_mid_turn, 0)} rang there`,
    ),
    check(
      'no doorbell without its signal',
      hollow.length === 0 && miscounted.length === 0,
      `${rung.length} doorbells, each named a signal that was then drained`,
    ),
    check(
      'no doorbell says what a signal says',
      talkative.length === 0,
      `${rung.length} texts looked through`,
    ),
    check(
      'the hub was killed and came back on the same home',
      hub.killed_by === 'SIGKILL' && hub.first_pid !== hub.second_pid,
      `process ${hub.first_pid}, then ${hub.second_pid}; away for ${hub.ready_again_ms - hub.killed_at_ms} ms`,
    ),
    check(
      'nothing accepted was lost by it',
      sameCounts(hub.pending_before, hub.pending_after) && hub.refused_while_down === 'hub_unreachable',
      `${sum(hub.pending_before)} waited before, ${sum(hub.pending_after)} after`,
    ),
    check(
      'the question was answered',
      replies.length === 1 && replies[0]?.from === 'bob',
      `${replies.length} reply with the result`,
    ),
    check(
      'nothing waits, every drain is final',
      waiting === 0 && loose.length === 0 && kept.length === sent.length + replies.length,
      `${kept.length} signals at the hub, ${waiting} pending, ${loose.length} not final`,
    ),
  ]
}

const check = (name: string, held: boolean, detail: string): Check => ({ name, held, detail })

const drainedBy = (turns: readonly Turn[]): DrainedSignal[] => turns.flatMap(({ drained }) => drained)

function repeated(signals: readonly DrainedSignal[]): SignalId[] {
  const ids = signals.map(({ signal_id }) => signal_id)
  return ids.filter((id, at) => ids.indexOf(id) !== at)
}

/** What one sender sent with one priority comes out as it went in. */
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

function saysAny(text: string, sent: Run['sent']): boolean {
  return sent.some(({ payload }) => typeof payload === 'string' && text.includes(payload))
}

const sum = (counts: Record<string, number>) => Object.values(counts).reduce((all, one) => all + one, 0)
const sameCounts = (a: Record<string, number>, b: Record<string, number>) =>
  sum(a) > 0 && Object.entries(a).every(([name, number]) => b[name] === number)
