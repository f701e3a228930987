/**
 * The worker's view of the module inside Claude Code: whether it lives, and the fate of the doorbell that it has. The
 * module reports exactly one outcome for each doorbell, unless it ends.
 */
import { createBellExchange, type BellExchange, type BellOutcome } from './bell-exchange.ts'
import type {
  Batch,
  ClientView,
  Hello,
  HelloAnswer,
  NumberedEvent,
  ViewUpdate,
  Wait,
  WaitAnswer,
} from '../mod/messages.ts'
import { PROTOCOL } from '../mod/protocol.ts'
import type { Doorbell } from '../../../src/contracts/doorbell.ts'
import type { DoorbellId } from '../../../src/contracts/ids.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { Clock, Timer } from '../../../src/ports/clock.ts'
import type { Log } from '../../../src/ports/log.ts'

/** Why hooks are used instead of the module. */
export type Absence =
  | 'never attached'
  | 'headless'
  | 'silent'
  | 'ended'
  | 'another protocol'
  | 'configured'
  | 'no socket'

export interface EventContext {
  /** The session in which the event happened. */
  session_id: string
  /** The event is older than the last greeting. */
  past: boolean
}

export interface ModLinkDeps {
  version: string
  /** False if the configuration switches the module off. */
  enabled: boolean
  /** Whether events need what people, models and tools wrote. Default: no. */
  content?: boolean
  /** Returns a new random id. */
  newEpoch: () => string
  clock: Pick<Clock, 'after'>
  log: Log
  onAttached(hello: Hello): void
  /** Called with every event once, in their order. */
  onEvent(event: NumberedEvent, of: EventContext): void
  /** Events after the greeting are missing: dropped by the module, or not readable. The following ones come after the gap. */
  onDropped(events: number): void
  onLost(why: Absence): void
}

export interface ModLink {
  hello(hello: Hello): HelloAnswer
  /** Returns false if the epoch is unknown; the module must greet again. */
  events(batch: Batch): boolean
  /** Resolves with null if the epoch is unknown. An aborted request gets no doorbell. */
  wait(wait: Wait, signal: AbortSignal): Promise<WaitAnswer | null>
  /** Null while no module is attached. */
  attached(): Hello | null
  absence(): Absence
  markUnavailable(why: Absence): void
  /** Hands a doorbell to the module; see `BellExchange`. Resolves with `untaken` without a module. */
  ring(doorbell: Doorbell): Promise<BellOutcome>
  /** Changes what the module shows in the client. `arrived` is shown once. */
  show(view: ClientView, arrived: ViewUpdate['arrived']): void
  /** The doorbell that the module or the client has and that has no outcome yet. */
  underWay(): DoorbellId | null
  close(): void
}

interface Attached {
  hello: Hello
  session_id: string
  epoch: string
  /** Sequence number of the last event. */
  seq: number
  /** A batch was received. */
  heard: boolean
}

export function createModLink(deps: ModLinkDeps): ModLink {
  const bells = createBellExchange(deps.clock)
  const attachment = createAttachment(deps, bells)

  const receive = (event: NumberedEvent, of: EventContext) => {
    deps.log.debug({ event: event.kind, past: of.past }, 'event of the module')
    deps.onEvent(event, of)
    if (event.kind === 'bell' && event.doorbell_id === bells.underWay())
      bells.resolve(event.dropped ?? 'entered')
  }

  return {
    hello: (hello) => attachment.greet(hello),

    events({ epoch, lost, events }) {
      const from = attachment.withEpoch(epoch)
      if (from === null) return false
      if (lost > 0) {
        deps.log.warn({ lost }, 'module in the client dropped events')
        // The first batch reports the gaps before the greeting, too.
        if (from.heard && from.seq >= from.hello.past) deps.onDropped(lost)
      }
      from.heard = true
      for (const event of events) {
        // A batch is repeated if its response was lost.
        if (event.seq <= from.seq) continue
        from.seq = event.seq
        if (event.kind === 'unknown') continue
        if (event.kind === 'unreadable') {
          deps.log.warn({ seq: event.seq }, 'event of the module cannot be read')
          deps.onDropped(1)
          continue
        }
        if (event.kind === 'session') from.session_id = event.session_id
        receive(event, { session_id: from.session_id, past: event.seq <= from.hello.past })
        if (event.kind === 'ended') attachment.lose('ended')
      }
      return true
    },

    wait: ({ epoch, ...wait }, signal) =>
      attachment.withEpoch(epoch) === null ? Promise.resolve(null) : bells.wait(wait, signal),
    attached: () => attachment.present()?.hello ?? null,
    absence: () => attachment.absence(),
    markUnavailable: (why) => attachment.lose(why),
    ring: (doorbell) => (attachment.present() === null ? Promise.resolve('untaken') : bells.ring(doorbell)),
    show: (view, arrived) => bells.show(view, arrived),
    underWay: () => bells.underWay(),
    close: () => attachment.close(),
  }
}

/** The module that is attached, and the timer that detects its silence. */
function createAttachment(deps: ModLinkDeps, bells: BellExchange) {
  const { version, clock, log } = deps
  let module: Attached | null = null
  let why: Absence = deps.enabled ? 'never attached' : 'configured'
  let silence: Timer | null = null

  const lose = (reason: Absence) => {
    why = reason
    if (module === null) return
    module = null
    silence?.cancel()
    bells.abandon()
    log.info({ why }, 'module in the client is gone; hooks are used')
    deps.onLost(reason)
  }

  /** The module sends a request at least every few seconds. */
  const restartSilence = () => {
    silence?.cancel()
    silence = clock.after(LIMITS.mod_silent_ms, () => lose('silent'))
  }

  return {
    lose,
    present: () => module,
    absence: () => why,

    greet(hello: Hello): HelloAnswer {
      if (!deps.enabled) return { mode: 'off', reason: 'configured', version }
      if (hello.protocol !== PROTOCOL) {
        lose('another protocol')
        return { mode: 'off', reason: 'protocol', version }
      }
      // A run with one prompt gets its doorbell in the response to its Stop hook, and would wait for open requests.
      if (!hello.interactive) {
        lose('headless')
        return { mode: 'off', reason: 'headless', version }
      }
      // A module that was loaded again does not know the doorbell of the former one.
      bells.abandon()
      module = { hello, session_id: hello.session_id, epoch: deps.newEpoch(), seq: 0, heard: false }
      restartSilence()
      log.info({ version: hello.version, client: hello.client_version }, 'module in the client attached')
      if (hello.version !== version)
        log.warn(
          { module: hello.version, worker: version },
          'turnbell was updated; a restart of the session updates both',
        )
      deps.onAttached(hello)
      return { mode: 'on', epoch: module.epoch, version, content: deps.content === true }
    },

    /** Returns the module if it has this epoch, and records that it lives. */
    withEpoch(epoch: string): Attached | null {
      if (module?.epoch !== epoch) return null
      restartSilence()
      return module
    },

    close() {
      silence?.cancel()
      bells.abandon()
      module = null
    },
  }
}
