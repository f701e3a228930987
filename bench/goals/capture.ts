/** Goal 17: what captured activity costs a sender of signals at the same hub. */
import { setInterval as everyMs } from 'node:timers'
import { ulid } from 'ulid'
import { post, type Hub } from '../hubs.ts'
import { busy, startLoad, type Sent } from '../load.ts'
import { figure, interleave, short, type Figure } from '../report/figures.ts'

const ROUNDS = 5
const SEND_MS = 4_000
const EVENTS_PER_S = 200
const REPORTS_PER_S = 10
/** The longest delay of a send's p99 that the goal allows. */
const DELAY_MS_MAX = 5
/** Text of an input and of an output, with the redaction that it needs. */
const TEXT = 'export PATH=/usr/bin; npm run build -- --mode production && echo "done in 12 s"\n'.repeat(12)

interface Round {
  quiet: Sent
  capturing: Sent
}

export async function capture(): Promise<Figure[]> {
  const load = await startLoad(1)
  const { hub, run } = load.durable
  try {
    const source = createSource(hub)
    // The thread and its rules are loaded before the measurement.
    await source.report()
    const rounds = await interleave<Round>(ROUNDS, {
      quiet: () => run(SEND_MS),
      capturing: () => source.during(() => run(SEND_MS)),
    })
    const pairs = rounds.map((round) => ({
      ...round,
      value: round.capturing.p99_us / 1_000,
      limit: round.quiet.p99_us / 1_000 + DELAY_MS_MAX,
    }))
    return [
      figure('capture-send', 'ms', '17: <= 1', pairs, ({ quiet, capturing }) => [
        `p99 of a durable send while ${EVENTS_PER_S} events a second are captured, each with ${TEXT.length} characters; one sender, the next send after the receipt`,
        `limit: the same without events (${short(quiet.p99_us / 1_000)} ms) + ${DELAY_MS_MAX} ms`,
        `${source.accepted()} events stored, ${source.dropped()} dropped; ${busy(capturing)}`,
      ]),
    ]
  } finally {
    await load.stop()
  }
}

interface Receipt {
  accepted: number
  dropped?: number
}

/** A session that calls tools. */
function createSource(hub: Hub) {
  const session_id = `bench-${ulid()}`
  const counts = { accepted: 0, dropped: 0 }
  let seq = 0

  const event = (kind: string, data: object) => {
    const at = new Date().toISOString()
    return { event_id: ulid(), agent_id: null, turn_seq: 1, seq: ++seq, at, source: 'mod', kind, data }
  }
  const callOf = (index: number) => {
    const action_id = `call-${seq}-${index}`
    return [
      event('action.started', { action_id, tool: 'Bash', input: { command: TEXT } }),
      event('action.ended', { action_id, output: TEXT, duration_ms: 5 }),
    ]
  }
  const report = async () => {
    const calls = EVENTS_PER_S / REPORTS_PER_S / 2
    const events = Array.from({ length: calls }, (_, index) => callOf(index)).flat()
    const body = { session_id, client: 'bench', identity: 'bench', events }
    const receipt = await post<Receipt>(hub, '/activity', body)
    counts.accepted += receipt.accepted
    counts.dropped += receipt.dropped ?? 0
  }

  return {
    report,
    accepted: () => counts.accepted,
    dropped: () => counts.dropped,
    async during<T>(work: () => Promise<T>): Promise<T> {
      const sent: Promise<void>[] = []
      const timer = everyMs(() => sent.push(report()), 1_000 / REPORTS_PER_S)
      try {
        return await work()
      } finally {
        clearInterval(timer)
        await Promise.all(sent)
      }
    },
  }
}
