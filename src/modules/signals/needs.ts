/** What the signals module is made of. The hub's composition root fills it; tests fill it with memory stores. */
import type { SignalEvents } from './events.ts'
import type { Identity, SessionId } from '../../contracts/ids.ts'
import type { Route } from '../../contracts/signal.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Ids } from '../../ports/random.ts'
import type { SignalStore } from '../../ports/signal-store.ts'
import type { PersonaRegistry } from '../registry/personas.ts'

/** Can somebody be rung for this persona now, and which sessions of it are there. */
export interface RouteResolver {
  resolve(identity: Identity): Route
  /** Surface and last heartbeat, as a sentence for the sender that asked for a live route. */
  describe(identity: Identity): string
  /** The sessions of this persona that hold a registration now. */
  sessions(identity: Identity): SessionId[]
}

export interface SignalNeeds {
  store: SignalStore
  personas: Pick<PersonaRegistry, 'get' | 'ensure' | 'list' | 'everybody'>
  routes: RouteResolver
  /** Who gets what is broadcast on a topic. */
  subscribers(topic: string): Identity[]
  events: SignalEvents
  /** Lifetime in seconds of what an agent sends without a `ttl_s`; the default where absent. */
  ttl_s?: number
  /**
   * Resolves once everything is heard that the persona's links had sent before they could know of this call; with false
   * where one of them has ended, or there is none, so that what was heard last may be long over.
   */
  caughtUp?(identity: Identity): Promise<boolean>
  clock: Clock
  ids: Ids
  log: Log
}

/** What its parts share beside that. */
export interface SignalParts extends SignalNeeds {
  /** The sessions that are there now, registered or heard of lately. What is addressed to one waits for it. */
  sessions(identity: Identity): SessionId[]
}
