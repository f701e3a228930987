/**
 * A simulated Codex thread for randomized runs: its queue, messages taken from the queue and not begun, and its turns.
 * A taken doorbell begins its turn after at most `TAKEN_MS_MAX` of idle time.
 */
import { AppServerError, type AppServer } from '../../../adapters/codex/app-server.ts'
import { codexSurface } from '../../../adapters/codex/codex-surface.ts'
import type { Notification } from '../../../adapters/codex/protocol.ts'
import type { ThreadEvent } from '../../../src/contracts/clients/codex.ts'
import { shortBellId } from '../../../src/contracts/doorbell.ts'
import { DoorbellId } from '../../../src/contracts/ids.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { Timer } from '../../../src/ports/clock.ts'
import { silentLog } from '../../../src/ports/log.ts'
import type { ClientTruth, PlayedClient } from '../../suites/one-unseen-bell.suite.ts'
import { fakeAppServer, thread } from './fake-app-server.ts'
import { atRest, type FakeClock } from './fake-clock.ts'

/** Below `codex_bell_lost_ms`, with time for the shim's requests. */
const TAKEN_MS_MAX = 45_000

type Manner = 'prompt' | 'slow' | 'silent' | 'refuses'
type Queued = ReturnType<typeof fakeAppServer>['queue'][number]

const bellOf = ({ clientUserMessageId }: Queued) =>
  DoorbellId.parse(clientUserMessageId.slice(clientUserMessageId.lastIndexOf(':') + 1))

/** Its turns are reported by the app-server that owns the thread, or by the hooks of a terminal that owns it. */
export const playedCodex = (truth: ClientTruth) => played(truth, 'app-server')
export const playedCodexTerminal = (truth: ClientTruth) => played(truth, 'hooks')

async function played(truth: ClientTruth, by: 'app-server' | 'hooks'): Promise<PlayedClient> {
  const { clock, dice } = truth
  const place = fakeAppServer(clock)
  // The shim checks for windows and terminals every second; here are none.
  const every: FakeClock['every'] = (interval_ms, call) => clock.every(30 * interval_ms, call)
  const surface = codexSurface({ identity: 'ada', clock: { ...clock, every }, log: silentLog })
  let manner: Manner = 'prompt'
  let connected = true
  let busy = false
  /** Set by the user's interrupt until the next turn has ended. */
  let paused = false
  let next: Timer | null = null
  // All messages wait in the queue; `take` determines what Codex does with it.
  place.paused = true

  const hook = (event: ThreadEvent, bell?: string) =>
    void surface.handleNews([
      {
        ...{ thread_id: 'thread-1', event, at: new Date(clock.now()).toISOString() },
        ...(bell !== undefined && { bell }),
      },
    ])

  const tell = (notifications: Notification[]) => {
    if (by === 'hooks') return
    place.loaded = [thread('thread-1', { status: { type: busy ? 'active' : 'idle' } })]
    if (connected) notifications.forEach((notification) => surface.handleNotification(notification))
  }

  /** Takes the queue of an idle thread and begins its turn. */
  function run(): void {
    if (busy || next !== null) return
    const delay = () => (dice().chance(0.2) ? 20 : dice().between(1_000, TAKEN_MS_MAX))
    if (place.taken.length === 0) {
      if (paused || place.queue.length === 0) return
      const take = () => {
        next = null
        place.taken.push(...place.queue.splice(0, 1))
        run()
      }
      if (dice().chance(0.2)) next = clock.after(delay(), take)
      else take()
      return
    }
    next = clock.after(delay(), begin)
  }

  /** Restarts the time limit of waiting messages after a turn. */
  function wait(): void {
    next?.cancel()
    next = null
  }

  function begin(): void {
    const taken = place.taken.map(bellOf)
    next = null
    if (taken.length === 0) return run()
    busy = true
    taken.forEach((doorbell_id) => truth.seen(doorbell_id))
    truth.note('its turn begins')
    tell(place.begins())
    for (const doorbell_id of taken) if (by === 'hooks') hook('UserPromptSubmit', shortBellId(doorbell_id))
  }

  function beginOther(): void {
    if (busy) return
    wait()
    busy = true
    const taken = place.taken.splice(0)
    const notifications = place.begins()
    place.taken.push(...taken)
    tell(notifications)
    if (by === 'hooks') hook('UserPromptSubmit')
  }

  function end(how: 'completed' | 'failed' | 'interrupted' = 'completed'): void {
    if (!busy) return
    busy = false
    paused = how === 'interrupted'
    const notifications = place.ends(how)
    place.paused = true
    tell(notifications)
    if (by === 'hooks') hook(paused ? 'Interrupt' : 'Stop')
    run()
  }

  function drain(): void {
    if (!busy) return
    tell([place.drains()])
    if (by === 'hooks') hook('Drain')
  }

  async function call<T>(
    ...[method, params, answer, patience_ms]: Parameters<AppServer['call']>
  ): Promise<T> {
    const sent = connected
    const bell = method === 'thread/queue/add' ? addedIn(params) : null
    if (bell !== null) truth.handed(bell)
    const deleted =
      method === 'thread/queue/delete' ? place.queue.find(({ id }) => id === idIn(params)) : null
    const how = manner
    const breaks = (why: string) => {
      if (bell !== null) truth.lost(bell, why)
      return new AppServerError(how === 'refuses' ? -32_600 : null, why)
    }
    if (how === 'slow') await new Promise<void>((resolve) => clock.after(1_500, resolve))
    if (!sent || !connected) throw breaks('not connected')
    if (how === 'refuses' && bell !== null) throw breaks('refused')
    const arrives = how !== 'silent' || dice().chance(0.5)
    const result = arrives ? await real.call(method, params, answer, patience_ms) : null
    if (arrives && deleted) truth.lost(bellOf(deleted), 'deleted by the shim')
    if (bell !== null && arrives) run()
    if (how !== 'silent') return result as T
    if (!arrives && bell !== null) truth.lost(bell, 'never there')
    await new Promise<void>((resolve) => clock.after(LIMITS.codex_answer_ms, resolve))
    throw new AppServerError(null, 'not answered')
  }
  const real = { ...place.server }
  place.server.call = call

  async function connect(): Promise<void> {
    if (connected) return
    connected = true
    tell([])
    void surface.connected(place.server)
    await atRest()
    run()
  }

  function disconnect(): void {
    if (!connected) return
    connected = false
    surface.disconnected()
  }

  surface.open(truth.host)
  if (by === 'hooks') place.stored = place.loaded.splice(0)
  await surface.connected(place.server)
  if (by === 'hooks') hook('Stop')
  await atRest()
  return {
    surface,
    steps: {
      'a person begins a turn': { weight: 4, play: beginOther },
      'the turn ends': { weight: 7, play: () => end() },
      'the turn fails': { weight: 1, play: () => end('failed') },
      'a person interrupts': { weight: 1, play: () => end('interrupted') },
      'the agent drains': { weight: 1, play: drain },
      'the queue is emptied': {
        weight: 1,
        play: () => place.queue.splice(0).forEach((one) => truth.lost(bellOf(one), 'deleted from the queue')),
      },
      'what was taken is dropped': {
        weight: 1,
        play: () => place.taken.splice(0).forEach((one) => truth.lost(bellOf(one), 'dropped')),
      },
      'the connection breaks': { weight: 1, play: disconnect },
      'the app-server is killed': {
        weight: 1,
        play() {
          disconnect()
          if (by === 'hooks') return
          busy = paused = false
          wait()
          place.taken.splice(0).forEach((one) => truth.lost(bellOf(one), 'gone with its process'))
        },
      },
      'the connection is there again': { weight: 2, play: connect },
      'the app-server answers at once': { weight: 2, play: () => void (manner = 'prompt') },
      'the app-server is slow': { weight: 1, play: () => void (manner = 'slow') },
      'the app-server does not answer': { weight: 1, play: () => void (manner = 'silent') },
      'the app-server refuses': { weight: 1, play: () => void (manner = 'refuses') },
    },
    async calm() {
      manner = 'prompt'
      await connect()
      if (paused) beginOther()
      end()
      await atRest()
    },
    close() {
      next?.cancel()
      surface.close()
    },
  }
}

const addedIn = (params: object) =>
  bellOf({ ...{ id: '', text: '' }, ...(params as Pick<Queued, 'clientUserMessageId'>) })
const idIn = (params: object) => (params as { queuedSubmissionId: string }).queuedSubmissionId
