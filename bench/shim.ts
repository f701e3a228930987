/** A surface shim inside the bench: attaches to surface.sock, takes doorbells, reports turns. */
import { ReportAnswer, type SurfaceStatus } from '../src/contracts/control.ts'
import { Doorbell } from '../src/contracts/doorbell.ts'
import type { RpcParams } from '../src/ports/rpc.ts'
import { connectLocally } from '../src/system/local-socket.ts'
import { micros } from './figures.ts'

const ANSWER_MS = 5_000

export interface Bell {
  doorbell: Doorbell
  /** On the clock that all processes of the machine share. */
  rung_at_us: number
}

export interface Shim {
  /** The next doorbell to come. */
  bell(): Promise<Bell>
  /** A turn began that saw this doorbell. */
  turnBegan(seen_doorbell_id: string): Promise<void>
  turnEnded(): Promise<void>
  close(): void
}

/** Attaches as an idle push shim. The daemon knows of it when this resolves. */
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

/** One verb on the control socket; rejects while nobody listens. */
export async function control<T>(control_socket: string, verb: string): Promise<T> {
  const peer = await connectLocally(control_socket)
  try {
    return (await peer.request(verb, {}, ANSWER_MS)) as T
  } finally {
    peer.close()
  }
}
