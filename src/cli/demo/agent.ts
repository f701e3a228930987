/**
 * A scripted agent that behaves like Claude Code with its plugin. It attaches to the daemon's surface.sock, begins a turn
 * when it is rung, drains through the hub with a token of its own, and reports the end of its turn. Its diary is the input
 * of the demo's checks.
 */
import type { SurfaceReport } from '../../contracts/control.ts'
import { ReportAnswer } from '../../contracts/control.ts'
import { Doorbell } from '../../contracts/doorbell.ts'
import type { Json, SessionId, SignalId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { type DrainedSignal, DrainResult, Receipt, type SendInput } from '../../contracts/signal.ts'
import type { RpcParams, RpcPeer } from '../../ports/rpc.ts'
import { connectLocally } from '../../system/ipc/unix-socket.ts'
import type { HubClient } from '../hub/client.ts'
import type { z } from 'zod'

export interface Turn {
  turn_seq: number
  /** Cause of the turn: a doorbell, or the agent itself, as if a person typed something. */
  started_by: 'doorbell' | 'itself'
  bells: Doorbell[]
  drained: DrainedSignal[]
}

export interface Diary {
  turns: Turn[]
  /** Doorbells that arrived in a running turn. The demo requires that there are none. */
  bells_mid_turn: Doorbell[]
}

export interface Agent {
  identity: string
  session_id: SessionId
  diary: Diary
  isBusy(): boolean
  /** Begins a turn without a doorbell. */
  beginTurn(): Promise<void>
  drain(): Promise<DrainedSignal[]>
  send(input: Omit<z.input<typeof SendInput>, 'from'>): Promise<Receipt>
  ack(signal_ids: SignalId[], result?: Json): Promise<void>
  /** Ends the turn. */
  endTurn(): Promise<void>
  leave(): void
}

export interface AgentDeps {
  identity: string
  session_id: SessionId
  surface_socket: string
  /** Returns a client with the agent's token, created for each call because a restarted hub may have another address. */
  hub: () => Promise<HubClient>
  /** Called when a doorbell has begun a turn. */
  onRung: (turn: Turn) => void
  onBroken: (error: unknown) => void
}

export async function startAgent(deps: AgentDeps): Promise<Agent> {
  const { identity, session_id } = deps
  const diary: Diary = { turns: [], bells_mid_turn: [] }
  let turn: Turn | null = null

  const status = (): SurfaceReport => {
    const bell = turn?.bells.at(-1)
    return {
      surface: 'mcp',
      session_id,
      delivery: 'push',
      turn: turn === null ? 'idle' : 'busy',
      turn_seq: diary.turns.length,
      ...(bell === undefined ? {} : { seen_doorbell_id: bell.doorbell_id }),
    }
  }
  const report = async (): Promise<void> => {
    const answer = await peer.request('status', status() as RpcParams, LIMITS.shim_answer_ms)
    ReportAnswer.parse(answer)
  }
  const begin = (started_by: Turn['started_by'], bells: Doorbell[]): Turn => {
    turn = { turn_seq: diary.turns.length + 1, started_by, bells, drained: [] }
    diary.turns.push(turn)
    return turn
  }

  const onRing = (params: RpcParams): Json => {
    const bell = Doorbell.parse(params['doorbell'])
    if (turn !== null) {
      diary.bells_mid_turn.push(bell)
      return { accepted: false, proof: 'deferred' }
    }
    const new_turn = begin('doorbell', [bell])
    // The report is sent after the answer: the doorbell is accepted first, and then seen in a turn.
    report().then(() => deps.onRung(new_turn), deps.onBroken)
    return { accepted: true, proof: 'sent' }
  }

  const peer: RpcPeer = await connectLocally(deps.surface_socket, {
    onRequest: (method, params) => {
      if (method === 'notify_surface') return onRing(params)
      return method === 'status' ? (status() as RpcParams) : {}
    },
  })
  await report()

  const call = async <T extends z.ZodType>(action: string, params: unknown, answer: T) =>
    (await deps.hub()).ask('signals', action, params, answer)

  return {
    identity,
    session_id,
    diary,
    isBusy: () => turn !== null,
    async beginTurn() {
      begin('itself', [])
      await report()
    },
    async drain() {
      const { signals, drain_id } = await call('pending', { limit: LIMITS.drain_limit_max }, DrainResult)
      turn?.drained.push(...signals)
      // Confirmed at once, as `turnbell mcp` does, because the end of a short turn may arrive before the drain is certain.
      if (drain_id !== null) await call('pending', { peek: true, limit: 1, confirm: drain_id }, DrainResult)
      return signals
    },
    send: (input) => call('send', input, Receipt),
    async ack(signal_ids, result) {
      await (
        await deps.hub()
      ).call('signals', 'ack', { signal_ids, ...(result === undefined ? {} : { result }) })
    },
    async endTurn() {
      turn = null
      await report()
    },
    leave: () => peer.close(),
  }
}
