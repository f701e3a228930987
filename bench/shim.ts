/** A surface shim inside the bench: attaches to surface.sock, accepts doorbells, reports turns. */
import { ReportAnswer, type SurfaceStatus } from '../src/contracts/control.ts'
import { Doorbell } from '../src/contracts/doorbell.ts'
import type { RpcParams } from '../src/ports/rpc.ts'
import { connectLocally } from '../src/system/ipc/unix-socket.ts'
import { micros } from './report/figures.ts'

const ANSWER_MS = 5_000

export interface Bell {
  doorbell: Doorbell
  /** Time on the clock that all processes of the machine share. */
  rung_at_us: number
}

export interface Shim {
  /** Resolves with the next doorbell. */
  bell(): Promise<Bell>
  /** Reports a turn that this doorbell began. */
  turnBegan(seen_doorbell_id: string): Promise<void>
  turnEnded(): Promise<void>
  close(): void
}

/** Attaches as an idle push shim. Resolves when the daemon knows it. */
export async function attachShim(surface_socket: string, session_id: string): Promise<Shim> {
  const status: SurfaceStatus = { surface: 'mcp', session_id, delivery: 'push', turn: 'idle', turn_seq: 0 }
  let onBell: (bell: Bell) => void = () => {}

  const answer = (method: string, params: RpcParams): RpcParams => {
    const rung_at_us = micros()
    if (method === 'status') return asParams(status)
    if (method === 'resume_surface') return {}
    onBell({ doorbell: Doorbell.parse(params['doorbell']), rung_at_us })
    return { accepted: true, proof: 'sent' }
  }
  const peer = await connectLocally(surface_socket, { onRequest: answer })
  const report = async (change: Partial<SurfaceStatus>) => {
    Object.assign(status, change)
    ReportAnswer.parse(await peer.request('status', asParams(status), ANSWER_MS))
  }

  await report({})
  return {
    bell: () => new Promise((resolve) => (onBell = resolve)),
    turnBegan: (seen_doorbell_id) =>
      report({ turn: 'busy', turn_seq: status.turn_seq + 1, seen_doorbell_id }),
    turnEnded: () => report({ turn: 'idle' }),
    close: () => peer.close(),
  }
}

const asParams = (status: SurfaceStatus) => ({ ...status }) as RpcParams

/** Calls one verb at the control socket; rejects if no process listens. */
export async function control<T>(control_socket: string, verb: string): Promise<T> {
  const peer = await connectLocally(control_socket)
  try {
    return (await peer.request(verb, {}, ANSWER_MS)) as T
  } finally {
    peer.close()
  }
}
