/** Goal 6: the time from one agent's send to another agent's doorbell, through three processes. */
import type { DaemonStatus } from '../../src/contracts/control.ts'
import type { DrainResult } from '../../src/contracts/signal.ts'
import { figure, interleave, median, percentile, short, type Figure } from '../report/figures.ts'
import { rawAppend } from '../limits.ts'
import { warmUp } from '../load.ts'
import {
  addPersonas,
  agentToken,
  daemonArgs,
  meanSignalLine,
  post,
  socketsOf,
  startHub,
  type Hub,
} from '../hubs.ts'
import { pause, startNode, until } from '../processes.ts'
import { startRemote, type Remote } from '../remote.ts'
import type { SenderHandlers } from '../programs/sender.ts'
import { attachShim, control, type Bell } from '../shim.ts'

const ROUNDS = 5
const BELLS = 120
const WARM_UP_BELLS = 200
const RAW_MS = 300
const BELL_MAX_MS = 5_000
const TURN_MS = 5
const PERSONA = 'listener'
const SESSION = 'listener-session'

export interface Rung {
  p50_us: number
  p99_us: number
  /** p50 of the receipts of the same sends, in microseconds. */
  receipt_us: number
}

export interface Path {
  hub: Hub
  ring(bells: number): Promise<Rung>
  stop(): Promise<void>
}

interface Round {
  durable: Rung
  syncOff: Rung
  raw_us: number
}

export async function doorbell(): Promise<Figure[]> {
  const sender = await startRemote<SenderHandlers>('sender')
  const durable = await startPath(sender.call, await startHub('durable'))
  const syncOff = await startPath(sender.call, await startHub('sync off'))
  try {
    await durable.ring(WARM_UP_BELLS)
    await syncOff.ring(WARM_UP_BELLS)
    const { home } = durable.hub
    const line_bytes = meanSignalLine(durable.hub.journal)
    const rounds = await interleave<Round>(ROUNDS, {
      durable: () => durable.ring(BELLS),
      syncOff: () => syncOff.ring(BELLS),
      raw_us: async () => rawAppend(home, line_bytes, RAW_MS).p50_us,
    })
    const pairs = rounds.map((round) => ({
      ...round,
      value: round.durable.p50_us,
      limit: round.syncOff.p50_us + round.raw_us,
    }))
    return [
      figure('doorbell', 'us', '6: <= 1.35', pairs, (round) => [
        `p50 from send in one process over hub and daemon to notify_surface at a shim, ${BELLS} signals a round, each into an idle surface that then begins a turn, drains, confirms and ends it after ${TURN_MS} ms`,
        `p99 ${short(round.durable.p99_us)} us, receipt p50 ${short(round.durable.receipt_us)} us`,
        `limit: p50 of the same path over a hub with its fdatasync left out (${short(round.syncOff.p50_us)} us) + p50 of a raw writeSync + fdatasyncSync of ${line_bytes} bytes (${short(round.raw_us)} us)`,
      ]),
    ]
  } finally {
    await Promise.all([sender.stop(), durable.stop(), syncOff.stop()])
  }
}

/** Starts a sender, a daemon and an attached shim on one warm hub. Stopping the path stops the hub, too. */
export async function startPath(sender: Remote<SenderHandlers>, hub: Hub): Promise<Path> {
  await warmUp(sender, hub)
  await addPersonas(hub, [PERSONA])
  const senders = [{ identity: 'sender', token: await agentToken(hub, 'sender') }]
  const { group } = await sender.connect({ url: hub.url, senders, to: [PERSONA] })
  const daemon = await startNode(daemonArgs(hub.home, PERSONA), { ready: /^turnbell daemon ready / })
  const sockets = socketsOf(hub.home, PERSONA)
  const shim = await attachShim(sockets.surface, SESSION)
  await until(`${PERSONA}'s daemon is connected`, async () => {
    const { state, surface } = await control<DaemonStatus>(sockets.control, 'status')
    return state === 'CONNECTED' && surface.attached
  })
  const token = await agentToken(hub, PERSONA, SESSION)

  /** Sends one signal, waits for its doorbell, and runs the turn that drains it. */
  const one = async () => {
    const bell = within(BELL_MAX_MS, shim.bell())
    const sent = await sender.sendOnce({ group })
    const { doorbell, rung_at_us } = await bell
    if (doorbell.signal_id !== sent.signal_id) {
      throw new Error(`sent ${sent.signal_id}, rung for ${doorbell.signal_id}`)
    }
    await shim.turnBegan(doorbell.doorbell_id)
    const { signals, drain_id } = await post<DrainResult>(hub, '/api/signals/pending', {}, token)
    if (signals.length !== 1) throw new Error(`drained ${signals.length} signals for one doorbell`)
    // Confirms like turnbell's own bridge. Otherwise the next signal would wait for the sync of this confirmation.
    await post(hub, '/api/signals/pending', { peek: true, limit: 1, confirm: drain_id }, token)
    await pause(TURN_MS)
    await shim.turnEnded()
    return { bell_us: rung_at_us - sent.sent_at_us, receipt_us: sent.receipt_us }
  }

  return {
    hub,
    async ring(bells) {
      const rung = []
      while (rung.length < bells) rung.push(await one())
      const latencies = rung.map(({ bell_us }) => bell_us)
      return {
        p50_us: median(latencies),
        p99_us: percentile(latencies, 0.99),
        receipt_us: median(rung.map(({ receipt_us }) => receipt_us)),
      }
    },
    async stop() {
      shim.close()
      await daemon.stop()
      await hub.stop()
    },
  }
}

/** A missing doorbell must not hang the benchmark. */
async function within(ms: number, bell: Promise<Bell>): Promise<Bell> {
  const timeout = new AbortController()
  const late = pause(ms, undefined, { signal: timeout.signal }).then(() => {
    throw new Error(`no doorbell within ${ms} ms`)
  })
  try {
    return await Promise.race([bell, late])
  } finally {
    timeout.abort()
    late.catch(() => {})
  }
}
