/** Runs a workload on recorded hubs, step by step, and records the state after each step. */
import fs from 'node:fs'
import type { SignalView } from '../../src/contracts/signal.ts'
import type { SpoolEntry } from '../../src/system/files/spool-writer.ts'
import { START } from '../support/fakes/fake-clock.ts'
import { leaveLine, startRecordedHub, tearFiles, type RecordedHub, type Recording } from './hub-process.ts'
import { observeRecords, seenSignals, type SeenSignals } from './observe.ts'
import { NAME_HEADER, type Order } from './orders.ts'
import { placesIn, type Places } from './setting.ts'
import type { Receipt, Told } from './story.ts'
import { addMark, type Mark } from './trace.ts'

type Body = Record<string, unknown>

/** The operations available to a step. */
export interface Hand {
  /** Sends `POST /api/FACADE/ACTION` as the operator, or with a token. */
  call: <T = Body>(action: string, params?: object, token?: string) => Promise<T>
  /** Sends a signal and records the receipt. */
  send: (params: SendParams) => Promise<string>
  /** Returns headers with the name of an additional request of the step. */
  named: () => Record<string, string>
  /** Runs work that no request represents; no request runs at the same time. */
  during: <T>(work: () => Promise<T>) => Promise<T>
}

export interface SendParams {
  to: string
  from?: string
  intent?: string
  payload?: unknown
  priority?: number
  ttl_s?: number
  reply_to?: string
  idempotency_key?: string
}

export interface Stage {
  places: Places
  url: () => string
  /** Runs one step; steps do not overlap. */
  step: <T>(what: string, work: (hand: Hand) => Promise<T>) => Promise<T>
  order: (order: Order) => Promise<void>
  start: () => Promise<void>
  /** Kills the hub during a write. */
  kill: () => Promise<void>
  leave: (left: SpoolEntry) => Promise<void>
  /** Returns a token of an agent with this persona. */
  token: (identity: string, session_id?: string) => Promise<string>
}

/** Longer than the delay for events, and than a second one for log lines. */
const MOMENT: Order = { do: 'advance', ms: 60 }

export class Refusal extends Error {}

export async function play(recording: Recording, workload: (stage: Stage) => Promise<void>): Promise<Told> {
  const { root, trace } = recording
  const places = placesIn(root)
  fs.mkdirSync(places.project, { recursive: true })
  const told: Told = { root, steps: [], receipts: [], operator_token: '', now_ms: START }
  let hub: RecordedHub | null = null
  let now_ms = START
  let requests = 0
  let event_seq = 0

  const running = (): RecordedHub => {
    if (hub === null) throw new Error('no hub runs')
    return hub
  }
  const operator = () => fs.readFileSync(places.home.operator_token, 'utf8').trim()
  const ask = async <T>(
    method: string,
    route: string,
    headers: Record<string, string>,
    body?: unknown,
  ): Promise<T> => {
    const response = await fetch(running().url + route, {
      method,
      headers: { authorization: `Bearer ${operator()}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const answer = (await response.json()) as T & { code?: string; detail?: string }
    if (!response.ok) throw new Refusal(`${route}: ${answer.code}: ${answer.detail}`)
    return answer
  }
  const mark = (said: Mark['mark'], name: string) => addMark(trace, { mark: said, name, now_ms })

  const signals = async (): Promise<SeenSignals> => {
    if (hub === null) return told.steps.at(-1)?.truth.signals ?? {}
    const { signals: views } = await ask<{ signals: SignalView[] }>(
      'GET',
      '/api/signals/inbox?limit=1000',
      {},
    )
    return seenSignals(views)
  }
  const shownEvents = async (): Promise<number> => {
    if (hub === null) return event_seq
    const { events } = await ask<{ events: { seq: number }[] }>('GET', '/events', {})
    return Math.max(event_seq, ...events.map(({ seq }) => seq))
  }

  const step = async <T>(what: string, work: (hand: Hand) => Promise<T>): Promise<T> => {
    const names: string[] = []
    const name = () => {
      const next = `${told.steps.length} ${what} ${(requests += 1)}`
      names.push(next)
      return next
    }
    const hand: Hand = {
      named: () => ({ [NAME_HEADER]: name() }),
      call: (action, params = {}, token) =>
        ask(
          'POST',
          `/api/${action}`,
          { ...hand.named(), ...(token === undefined ? {} : bearer(token)) },
          params,
        ),
      async send({ intent = 'test', ...params }) {
        const headers = hand.named()
        const receipt = await ask<Receipt>('POST', '/api/signals/send', headers, { intent, ...params })
        const { signal_id, seq } = receipt
        const { from = 'operator', idempotency_key: key } = params
        told.receipts.push({
          ...{ name: headers[NAME_HEADER] as string, signal_id, seq },
          ...(key === undefined ? {} : { key: { from, key } }),
        })
        return signal_id
      },
      async during(part) {
        const of = name()
        mark('asked', of)
        const result = await part()
        if (hub !== null) now_ms = await hub.order({ do: 'rest' })
        mark('answered', of)
        return result
      },
    }
    const result = await work(hand)
    if (hub !== null) now_ms = await hub.order({ do: 'rest' })
    event_seq = await shownEvents()
    if (told.operator_token === '') told.operator_token = operator()
    const truth = { signals: await signals(), records: await observeRecords(places) }
    told.steps.push({ what, names, truth, event_seq })
    return result
  }

  const stage: Stage = {
    places,
    url: () => running().url,
    async step(what, work) {
      const result = await step(what, work)
      // Buffered lines are written.
      if (hub !== null) await step('a moment goes by', ({ during }) => during(() => stage.order(MOMENT)))
      return result
    },
    async order(order) {
      now_ms = await running().order(order)
      if (order.do === 'stop') hub = null
    },
    async start() {
      hub = await startRecordedHub(recording, now_ms)
    },
    async kill() {
      await running().kill()
      hub = null
      await tearFiles(recording, now_ms)
    },
    leave: (left) => leaveLine(recording, now_ms, left),
    async token(identity, session_id) {
      const more = session_id === undefined ? {} : { session_id }
      return (await ask<{ token: string }>('POST', '/auth/token', {}, { identity, kind: 'agent', ...more }))
        .token
    },
  }
  try {
    await workload(stage)
  } finally {
    await (hub as RecordedHub | null)?.kill()
  }
  return told
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` }
}
