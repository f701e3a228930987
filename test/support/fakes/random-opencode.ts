/**
 * A simulated opencode session for randomized runs: accepted prompts that are not stored, stored messages whose turn
 * has not begun, and turns. An accepted prompt is stored and begins its turn within `BEGIN_MS_MAX` of idle time, or
 * never runs.
 */
import { opencodeSurface } from '../../../adapters/opencode/opencode-surface.ts'
import type { Event, Prompt } from '../../../adapters/opencode/protocol.ts'
import { OpencodeError } from '../../../adapters/opencode/server.ts'
import { DoorbellId } from '../../../src/contracts/ids.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { Timer } from '../../../src/ports/clock.ts'
import { silentLog } from '../../../src/ports/log.ts'
import type { ClientTruth, PlayedClient } from '../../suites/one-unseen-bell.suite.ts'
import { atRest } from './fake-clock.ts'
import { fakeOpencode } from './fake-opencode.ts'

/** Below `opencode_bell_lost_ms`, with time for the shim's requests. */
const BEGIN_MS_MAX = 45_000
const PLACE = { id: 'ses_1', directory: '/project' }

type Manner = 'prompt' | 'slow' | 'silent' | 'refuses'
interface Stored {
  message_id: string
  /** Null for a prompt of the user. */
  doorbell_id: DoorbellId | null
  /** Whether it is stored, but never begins a turn by itself. */
  never_run: boolean
}

const bellOf = (prompt: Prompt) =>
  DoorbellId.parse(Object.values(prompt.parts[0].metadata)[0]?.split(':').at(-1))

export async function playedOpencode(truth: ClientTruth): Promise<PlayedClient> {
  const { clock, dice } = truth
  const place = fakeOpencode(clock)
  let instance = 1
  const surface = opencodeSurface({
    ...{ identity: 'ada', clock, log: silentLog, storeSession: () => {} },
    instanceId: () => `server-${instance}`,
  })
  let manner: Manner = 'prompt'
  let connected = true
  let messages = 0
  /** Accepted prompts that are not visible yet. */
  const accepted: Prompt[] = []
  /** Messages without an answer, oldest first. */
  let standing: Stored[] = []
  let storing: Timer | null = null
  let beginning: Timer | null = null

  const tell = (...events: Event[]) => {
    if (connected) events.forEach((event) => surface.handleEvent(event))
  }
  const nextId = () => `msg_${String(++messages).padStart(5, '0')}`

  /** A busy session delays both; their time limit restarts after its turn. */
  function run(): void {
    const delay = () => (dice().chance(0.4) ? 30 : dice().between(1_000, BEGIN_MS_MAX / 2))
    if (accepted.length > 0 && (!place.busy || dice().chance(0.5))) storing ??= clock.after(delay(), store)
    if (!place.busy && standing.some(({ never_run }) => !never_run)) beginning ??= clock.after(delay(), begin)
  }

  function wait(): void {
    storing?.cancel()
    beginning?.cancel()
    storing = beginning = null
  }

  function store(): void {
    storing = null
    const [prompt] = accepted.splice(0, 1)
    if (prompt === undefined) return
    const message_id = nextId()
    const doorbell_id = bellOf(prompt)
    truth.note('the prompt is stored')
    standing.push({ message_id, doorbell_id, never_run: dice().chance(0.2) })
    tell(place.message(message_id), place.part(message_id, prompt.parts[0].metadata))
    // Either joins the running turn or waits until it ends.
    if (place.busy && dice().chance(0.5)) answer()
    run()
  }

  /** Shows the model all stored messages. */
  function answer(): void {
    const newest = standing.at(-1)?.message_id ?? ''
    for (const { doorbell_id } of standing) if (doorbell_id !== null) truth.seen(doorbell_id)
    standing = []
    tell(place.keeps(PLACE.id, { id: nextId(), role: 'assistant', parentID: newest }))
  }

  function begin(): void {
    wait()
    if (place.busy || standing.length === 0) return run()
    truth.note('its turn begins')
    place.busy = true
    tell(place.says('busy'))
    answer()
    run()
  }

  function beginOther(): void {
    if (place.busy) return
    const message_id = nextId()
    standing.push({ message_id, doorbell_id: null, never_run: false })
    tell(place.message(message_id), place.part(message_id))
    if (dice().chance(0.7)) return begin()
    beginning?.cancel()
    beginning = clock.after(2_000, begin)
  }

  function end(how: 'completed' | 'aborted' | 'failed' = 'completed'): void {
    if (!place.busy) return
    place.busy = false
    if (how === 'completed') tell(...place.ends())
    // The end of such a turn is reported twice.
    else
      tell(...place.breaks(PLACE.id, how === 'aborted' ? 'MessageAbortedError' : 'APIError'), ...place.ends())
    run()
  }

  /** The server accepted a prompt and discovers later that it cannot run it. */
  function refuseLate(): void {
    const refused = accepted.splice(0)
    if (refused.length === 0) return
    refused.forEach((prompt) => truth.lost(bellOf(prompt), 'refused late'))
    tell({ type: 'session.error', properties: { sessionID: PLACE.id, error: { name: 'UnknownError' } } })
  }

  const real = { ...place.server }
  /** A request takes effect when it is answered. */
  async function asked<T>(question: () => Promise<T>): Promise<T> {
    const how = manner
    if (how === 'slow') await new Promise<void>((resolve) => clock.after(900, resolve))
    if (!connected) throw new OpencodeError(null, 'not connected')
    if (how !== 'silent') return question()
    await new Promise<void>((resolve) => clock.after(LIMITS.opencode_answer_ms, resolve))
    throw new OpencodeError(null, 'not answered')
  }
  place.server.session = (at) => asked(() => real.session(at))
  place.server.messages = (at, limit) => asked(() => real.messages(at, limit))
  place.server.isBusy = () => asked(() => real.isBusy())
  place.server.removeMessage = (at, message_id) =>
    asked(async () => {
      await real.removeMessage(at, message_id)
      remove(message_id, 'deleted by the shim')
    })
  place.server.prompt = async (_at, prompt) => {
    const doorbell_id = bellOf(prompt)
    truth.handed(doorbell_id)
    if (manner === 'refuses') {
      truth.lost(doorbell_id, 'refused')
      throw new OpencodeError(400, 'refused')
    }
    const arrives = manner !== 'silent' || dice().chance(0.5)
    const accept = async () => {
      if (!arrives) return truth.lost(doorbell_id, 'never there')
      accepted.push(prompt)
      run()
    }
    if (manner === 'silent') await accept()
    try {
      await asked(accept)
    } catch (error) {
      if (!accepted.includes(prompt) && manner !== 'silent') truth.lost(doorbell_id, 'never there')
      throw error
    }
  }

  function remove(message_id: string, why: string): void {
    const message = standing.find((one) => one.message_id === message_id)
    if (message === undefined) return
    standing = standing.filter((one) => one !== message)
    if (message.doorbell_id !== null) truth.lost(message.doorbell_id, why)
    tell({ type: 'message.removed', properties: { sessionID: PLACE.id, messageID: message_id } })
  }

  function undo(): void {
    const message = standing.at(-1)
    if (message === undefined || place.busy) return
    place.stored = place.stored.filter(({ info }) => info.id !== message.message_id)
    if (place.kept.get(PLACE.id)?.id === message.message_id) place.kept.delete(PLACE.id)
    remove(message.message_id, 'removed')
    run()
  }

  async function connect(): Promise<void> {
    if (connected) return
    connected = true
    surface.connected(place.server, PLACE).catch(() => disconnect())
    await atRest()
    run()
  }

  function disconnect(): void {
    if (!connected) return
    connected = false
    surface.disconnected()
  }

  function kill(): void {
    disconnect()
    instance += 1
    place.busy = false
    wait()
    accepted.splice(0).forEach((prompt) => truth.lost(bellOf(prompt), 'gone with its process'))
    standing = standing.map((message) => ({ ...message, never_run: true }))
    run()
  }

  surface.open(truth.host)
  await surface.connected(place.server, PLACE)
  await atRest()
  return {
    surface,
    steps: {
      'a person begins a turn': { weight: 4, play: beginOther },
      'the turn ends': { weight: 7, play: () => end() },
      'a person interrupts': { weight: 1, play: () => end('aborted') },
      'the turn fails': { weight: 1, play: () => end('failed') },
      'what was accepted is refused': { weight: 1, play: refuseLate },
      'the newest prompt is removed': { weight: 1, play: undo },
      'what was accepted is dropped': {
        weight: 1,
        play: () => accepted.splice(0).forEach((prompt) => truth.lost(bellOf(prompt), 'dropped')),
      },
      'the connection breaks': { weight: 1, play: disconnect },
      'the server is killed': { weight: 1, play: kill },
      'the connection is there again': { weight: 2, play: connect },
      'the server answers at once': { weight: 2, play: () => void (manner = 'prompt') },
      'the server is slow': { weight: 1, play: () => void (manner = 'slow') },
      'the server does not answer': { weight: 1, play: () => void (manner = 'silent') },
      'the server refuses': { weight: 1, play: () => void (manner = 'refuses') },
    },
    async calm() {
      manner = 'prompt'
      await connect()
      end()
      await atRest()
    },
    close() {
      storing?.cancel()
      beginning?.cancel()
      surface.close()
    },
  }
}
