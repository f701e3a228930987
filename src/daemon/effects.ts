/** What the machine's named effects do. One line each: what there is to decide was decided before. */
import type { NotifyResult, RingResult } from '../contracts/control.ts'
import type { Doorbell } from '../contracts/doorbell.ts'
import type { ClientFrame } from '../contracts/frames.ts'
import type { Effect } from './events.ts'

export interface EffectPorts {
  connect(): void
  closeLink(): void
  send(frame: ClientFrame): void
  /** The result comes back to the machine as BELL_ANSWERED. */
  ring(doorbell: Doorbell): Promise<RingResult>
  onBellAnswered(doorbell: Doorbell, result: RingResult): void
  /** Asks the surface whether it still holds the last bell. */
  probe(probe_id: string): void
  answerReport(request: number, doorbell: Doorbell | null): void
  answerNotify(request: number, result: NotifyResult): void
  publishFacts(): void
  publishMetrics(): void
  resumeSurface(): void
  countError(error_class: string, detail: string): void
}

export function perform(effect: Effect, ports: EffectPorts): void {
  switch (effect.type) {
    case 'connect':
      return ports.connect()
    case 'closeLink':
      return ports.closeLink()
    case 'peek':
      return ports.send({ type: 'pending.peek', id: effect.params.peek_id, limit: effect.params.limit })
    case 'ring':
      return ring(effect.params.doorbell, effect.params.request, ports)
    case 'probe':
      return ports.probe(effect.params.probe_id)
    case 'answerReport':
      return ports.answerReport(effect.params.request, null)
    case 'answerNotify':
      return ports.answerNotify(effect.params.request, effect.params.result)
    case 'tellDoorbell':
      return ports.send({ type: 'doorbell', ...effect.params })
    case 'publishFacts':
      return ports.publishFacts()
    case 'publishMetrics':
      return ports.publishMetrics()
    case 'resumeSurface':
      return ports.resumeSurface()
    case 'countError':
      return ports.countError(effect.params.error_class, effect.params.detail)
  }
}

function ring(doorbell: Doorbell, request: number | null, ports: EffectPorts): void {
  if (request !== null) return ports.answerReport(request, doorbell)
  void ports.ring(doorbell).then((result) => ports.onBellAnswered(doorbell, result))
}
