/**
 * Events between the parts of a hub. Parts emit events and subscribe to them, so that they do not depend on each other. Listeners run synchronously, in the order in which they were added.
 */
import type { LeaveReason, Persona, Registration } from '../contracts/registry.ts'
import type { Caller } from '../contracts/token.ts'
import type { DispatchLine } from '../kernel/dispatch.ts'
import type { SignalEvents } from '../modules/signals/types.ts'
import type { QuotaKind } from '../transports/quotas.ts'

export interface HubEvents extends SignalEvents {
  rowJoined(row: Registration): void
  rowLeft(row: Registration, reason: LeaveReason): void
  personaChanged(persona: Persona): void
  /** An authenticated call arrived; it shows that its session is alive. */
  callerSeen(caller: Caller): void
  callFinished(line: DispatchLine): void
  /** A call was rejected because its caller has used up a quota. */
  quotaRefused(quota: QuotaKind): void
}

export type HubListener = Partial<HubEvents>

export interface Bus {
  emit: HubEvents
  listen(listener: HubListener): void
}

const EVENTS: Record<keyof HubEvents, true> = {
  pushed: true,
  repeated: true,
  drained: true,
  confirmed: true,
  released: true,
  freed: true,
  replayed: true,
  completed: true,
  expired: true,
  cancelled: true,
  dead: true,
  replyRefused: true,
  rung: true,
  rowJoined: true,
  rowLeft: true,
  personaChanged: true,
  callerSeen: true,
  callFinished: true,
  quotaRefused: true,
}

type Callback = (...args: unknown[]) => void

export function createBus(): Bus {
  const listeners = new Map<string, Callback[]>()
  const emitter = (name: string): Callback => {
    const called: Callback[] = []
    listeners.set(name, called)
    return (...args) => {
      for (const listener of called) listener(...args)
    }
  }
  const emit = Object.fromEntries(Object.keys(EVENTS).map((name) => [name, emitter(name)]))
  return {
    emit: emit as unknown as HubEvents,
    listen(listener) {
      for (const [name, called] of Object.entries(listener)) listeners.get(name)?.push(called as Callback)
    },
  }
}
