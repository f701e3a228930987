/** Results, statuses and texts that the surfaces of this folder share. */
import type { RingResult, SurfaceStatus } from '../src/contracts/control.ts'
import type { DoorbellId, InstanceId, SessionId, SurfaceKind } from '../src/contracts/ids.ts'
import type { Turn } from '../src/contracts/registry.ts'

export const DEFERRED: RingResult = { accepted: false, proof: 'deferred' }
export const UNAVAILABLE: RingResult = { accepted: false, proof: 'unavailable' }
export const FAILED: RingResult = { accepted: false, proof: 'failed' }

interface TurnFacts {
  turn: Turn
  turn_seq: number
  seen_doorbell_id: DoorbellId | null
  /** The doorbell whose prompt is stored, queued or shown, before a turn has begun with it. */
  outstanding_doorbell_id?: DoorbellId | null
  /** A person interrupted the last turn and has sent nothing since. */
  interrupted?: boolean
  /** False if no window shows the session. */
  window?: boolean
  /** The process that runs the session's turns; null if unknown. */
  instance_id?: InstanceId | null
}

/** Returns the status of a surface that can be rung at any time. `is_there`: an agent is present to be rung. */
export function pushStatus(
  surface: SurfaceKind,
  session_id: SessionId | null,
  { turn, turn_seq, seen_doorbell_id, outstanding_doorbell_id, interrupted, window, instance_id }: TurnFacts,
  is_there = true,
): SurfaceStatus {
  return {
    surface,
    session_id,
    delivery: 'push',
    turn,
    turn_seq,
    ...(seen_doorbell_id !== null && { seen_doorbell_id }),
    ...(outstanding_doorbell_id != null && { outstanding_doorbell_id }),
    ...(interrupted === true && { interrupted }),
    ...(window === false && { window }),
    ...(instance_id != null && { instance_id }),
    ...(!is_there && { absent: true }),
  }
}

/** Whether the two statuses differ in a field that the daemon uses. */
export function statusDiffers(before: SurfaceStatus, after: SurfaceStatus): boolean {
  return (
    before.turn !== after.turn ||
    before.turn_seq !== after.turn_seq ||
    before.session_id !== after.session_id ||
    before.absent !== after.absent ||
    before.window !== after.window ||
    before.instance_id !== after.instance_id ||
    before.interrupted !== after.interrupted ||
    before.via !== after.via ||
    before.seen_doorbell_id !== after.seen_doorbell_id ||
    before.outstanding_doorbell_id !== after.outstanding_doorbell_id
  )
}

/** Sent to a headless agent whose permission request is denied: without a text some clients end the turn. */
export const PERMISSION_DENIED_TEXT = 'No person is present to permit this. Continue without it.'
