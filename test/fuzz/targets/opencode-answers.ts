/** Fuzzes the responses and the event stream of an opencode server, as the shim reads them. */
import { isDeepStrictEqual } from 'node:util'
import { headless, type Headless } from '../../../adapters/opencode/headless.ts'
import { opencodeSurface, type OpencodeSurface } from '../../../adapters/opencode/opencode-surface.ts'
import {
  UserRequest,
  Event,
  Messages,
  OpenRequests,
  Session,
  Statuses,
} from '../../../adapters/opencode/protocol.ts'
import { serverLink } from '../../../adapters/opencode/server-link.ts'
import {
  connectOpencode,
  OpencodeError,
  OpencodeVersionError,
  type OpencodeHandlers,
  type OwnedServer,
  type SessionRef,
} from '../../../adapters/opencode/server.ts'
import { bellMetadata } from '../../../adapters/opencode/session-tracker.ts'
import { SurfaceStatus } from '../../../src/contracts/control.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { Doorbell } from '../../../src/contracts/doorbell.ts'
import { silentLog, type Log } from '../../../src/ports/log.ts'
import { fakeOpencode } from '../../support/fakes/fake-opencode.ts'
import { Answers, answerOf, piecesOf, scriptIn, type Answer } from '../peers/false-answers.ts'
import { IdleTime } from '../idle-time.ts'
import { linesOf, samplesOf } from '../seeds.ts'
import { Broken, insist, type Target } from '../target.ts'
import { tick } from '../peers/wire.ts'

const AT = { url: 'http://opencode.example', authorization: 'x' }
const PLACE: SessionRef = { id: 'ses_1', directory: '/project' }
const OTHER: SessionRef = { id: 'ses_2', directory: '/project' }
const BELL = { ...(samplesOf(Doorbell, 1)[0] as Doorbell), identity: 'ada' }
/** The proofs of an accepted doorbell. */
const RUNG = ['sent', 'confirmed']
const ASKS_MAX = 6
const WAIT_MS = 6_000
const MINUTE_MS = 60_000
/** A server of another version is checked once a minute. */
const MINUTES_MAX = 10

/** Values of the status: no response arrives, or the connection breaks. */
const SILENT = 'silent'
const GONE = 'gone'
/** Statuses without a body: https://fetch.spec.whatwg.org/#null-body-status */
const BODILESS = [204, 205, 304]
const EVENTS = 'content-type: text/event-stream'

export const opencodeAnswers: Target = {
  name: 'opencode-answers',
  promise:
    'whatever an opencode server says, nothing breaks but the link to it, what is reported is in form, its events are the same in whatever pieces they come, and once it is well it is rung',
  share: 1,
  bytes_max: 8_192,
  words: [
    ...['window', 'headless', 'stream', 'tell', 'ring', 'resume', 'join', 'leave', 'wait', SILENT, GONE],
    ...['\n@ ', `\n@ event 200\n${EVENTS}\n\n`, '\n@ status 200\n\n', 'connection: close\n'],
    ...['ses_1', 'ses_2', 'data:', '\r\n', '204', '205', '302', '404', '500'],
  ],

  open() {
    const { fetch } = globalThis
    let server: FalseServer
    globalThis.fetch = (url, init = {}) => server.answer(new URL(url), init)
    return {
      seeds: seeds(),
      attempt(input) {
        const { asks, answers } = scriptIn(input)
        if (asks[0] === 'stream') return streamed(answers, (met) => (server = met))
        const shim = new Shim(answers)
        server = shim.server
        return shim.play(asks)
      },
      close() {
        globalThis.fetch = fetch
      },
    }
  },
}

// --- The server ---------------------------------------------------------------------------------

class FalseServer extends IdleTime {
  readonly answers: Answers
  /** The error of its broken connections. */
  readonly broken = new TypeError('the connection broke')
  private stream: Body | null = null

  constructor(answers: Answers) {
    super()
    this.answers = answers
  }

  async answer(url: URL, { signal }: RequestInit): Promise<Response> {
    this.moved()
    const [name, id] = routeIn(url)
    const answer = this.answers.next(name) ?? wellAnswered(name, id)
    if (answer.status === SILENT) await aborted(signal)
    const status = Number(answer.status)
    if (!(status >= 200 && status < 600)) throw this.broken
    const stays = name === 'event' && !answer.fields.includes('connection: close')
    return new Response(BODILESS.includes(status) ? null : this.bodyOf(answer, stays, signal), { status })
  }

  /** Continues the event stream if one is open. */
  async tell(): Promise<void> {
    const answer = this.answers.next('told')
    if (answer !== null) await this.write(this.stream, answer)
    await this.rest()
  }

  /** The event stream has no end of its own. */
  private bodyOf(answer: Answer, stays: boolean, signal: RequestInit['signal']): ReadableStream {
    let body: Body
    return new ReadableStream({
      start: async (controller) => {
        body = { controller, open: true }
        if (stays) this.stream = body
        signal?.addEventListener('abort', () => end(body, () => controller.error(signal.reason)))
        await this.write(body, answer)
        if (!stays) end(body, () => controller.close())
      },
    })
  }

  private async write(body: Body | null, answer: Answer): Promise<void> {
    for (const piece of piecesOf(answer)) {
      if (body?.open === true) body.controller.enqueue(piece)
      await tick()
      this.moved()
    }
    if (answer.until_bytes !== Infinity) end(body, ({ controller }) => controller.error(this.broken))
  }
}

interface Body {
  controller: ReadableStreamDefaultController
  open: boolean
}

function end(body: Body | null, how: (body: Body) => void): void {
  if (body?.open !== true) return
  body.open = false
  how(body)
}

/** Rejects like `fetch` after an abort. */
function aborted(signal: RequestInit['signal']): Promise<never> {
  return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)))
}

/** Returns the last word of a route, `one` for a single session, and the id in it. */
function routeIn({ pathname }: URL): [name: string, id: string] {
  const [, room = '', id, verb] = pathname.split('/')
  if (id === undefined) return [room, '']
  if (verb !== undefined) return [verb, id]
  return room === 'session' && id !== 'status' ? ['one', id] : [id, '']
}

function wellAnswered(name: string, id: string): Answer {
  const session = { ...PLACE, id: decodeURIComponent(id) || 'ses_new', time: { created: 0 } }
  const told: Record<string, unknown> = {
    ...{ health: { version: '1.18.33' }, session, one: session },
    ...{ message: [], status: {}, permission: [], question: [] },
  }
  if (name === 'event') return answerOf('data: {"payload":{"type":"server.connected"}}\n\n')
  return answerOf(JSON.stringify(told[name] ?? true))
}

function seeds(): string[] {
  const world = fakeOpencode(new IdleTime().clock)
  const said = (events: readonly unknown[]) => events.map((payload) => JSON.stringify({ payload })).join('\n')
  const stream = (events: readonly unknown[], how = '1') => `@ event 200 ${how}\n${EVENTS}\n\n${said(events)}`
  const told = (events: readonly unknown[], how = '1') => stream(events, how).replace('event', 'told')
  world.taken.push({ parts: [{ type: 'text', text: 'x', metadata: bellMetadata('ada', BELL.doorbell_id) }] })
  const turns = [...world.begins(), ...world.ends(), ...world.begins(), ...world.breaks()]
  const person = { ...PLACE, time: { created: 0 } }
  const child = { ...person, id: 'ses_3', parentID: 'ses_1' }
  const others = [
    world.created({ ...person, id: 'ses_2' }),
    world.message('msg_9', 'ses_2'),
    world.updated({ ...child, id: 'ses_2' }),
    { type: 'session.deleted', properties: { sessionID: 'ses_1' } },
  ]
  // A cut most probably falls within a character.
  const wide = world.created({ ...person, title: 'é'.repeat(60) })
  const asked = [
    { type: 'permission.asked', properties: { sessionID: 'ses_1', id: 'per_1' } },
    { type: 'question.asked', properties: { sessionID: 'ses_3', id: 'que_1' } },
  ]
  return [
    ...['window', 'headless'].flatMap((who) => [
      `${who} tell tell ring wait ring\n${told(turns.slice(0, 3))}\n${told(turns.slice(3))}`,
      `${who} tell wait tell ring\n${told(turns, '1 90')}\n${told(turns.toReversed())}`,
      `${who} tell join wait ring\n${stream(turns)}\n${told(others, '1 50')}`,
      `${who} tell leave wait resume ring\n${told(asked)}\n@ one 200\n\n${JSON.stringify(child)}\n@ reply 404\n\n\n@ reject 500\n\n`,
      `${who} join wait ring\n@ one 200\n\n${JSON.stringify(person)}\n@ one 500 2\n\n`,
      `${who} ring wait ring\n@ one 404\n\n\n@ prompt_async 404\n\n`,
    ]),
    ...samplesOf(Event, 12).map((event) => `window tell wait ring\n${told([event, ...world.ends()])}`),
    ...samplesOf(UserRequest, 4).map((event) => `headless tell wait\n${told([event])}`),
    ...linesOf(Session, 6).map(
      (line) => `headless join ring\n@ one 200 2\n\n${line}\n@ session 200\n\n${line}`,
    ),
    ...linesOf(Messages, 6).map((line) => `window ring\n@ message 200 1 40\n\n${line}`),
    ...linesOf(Statuses, 4).map((line) => `window ring resume\n@ status 200 2\n\n${line}`),
    ...linesOf(OpenRequests, 4).map(
      (line) => `headless leave\n@ permission 200\n\n${line}\n@ question 200 2 9\n\n${line}`,
    ),
    `window ring wait\n@ status 200\n\n{"ses_1":{"type":"busy"}}\n@ status silent\n@ status 200 1 5 9\n\n{"ses_1":{"type":"retry"}}`,
    `headless ring\n@ health 200\n\n{"version":"2.0.0"}\n@ health 404 2\n\n\n@ event 503\n\n\n@ event gone\n@ event silent`,
    `window ring wait ring\n@ prompt_async 204\n\n\n@ prompt_async 500\n\n`,
    ...['1 7', '1 1000 300'].map(
      (how) => `stream\n${stream([...turns.slice(0, 3), wide, ...asked], how)}\nevent: x\r\ndata: é\r\n: c`,
    ),
    `stream\n@ event 200 1 11\n${EVENTS}\nconnection: close\n\n${said(asked)}`,
  ]
}

// --- The shim -----------------------------------------------------------------------------------

class Shim {
  readonly server: FalseServer
  private readonly surface: OpencodeSurface
  private readonly faults: Error[] = []
  private readonly log: Log
  private alone: Headless | null = null
  private link: OwnedServer | null = null
  /** The session that receives doorbells, and the one that a headless agent continues. */
  private bound: SessionRef | null = PLACE
  private kept: SessionRef | null = null

  constructor(answers: Answers) {
    this.server = new FalseServer(answers)
    const { clock } = this.server
    const logged = (fields: { err?: unknown }) => this.logged(fields)
    this.log = { debug: logged, info: logged, warn: logged, error: logged }
    this.surface = opencodeSurface({
      ...{ identity: 'ada', clock, log: this.log },
      storeSession: (place) => void (this.bound = place),
    })
    const report = (status: SurfaceStatus) => {
      if (!SurfaceStatus.safeParse(status).success)
        this.faults.push(new Broken(`no status: ${JSON.stringify(status).slice(0, 200)}`))
      return Promise.resolve({ doorbell: null })
    }
    this.surface.open({ report })
  }

  async play([who, ...asks]: readonly string[]): Promise<string> {
    const { server } = this
    const end = this.begin(who === 'headless')
    await server.rest()
    const outcomes: string[] = []
    for (const ask of asks.slice(0, ASKS_MAX)) outcomes.push(await this.ask(ask))
    server.answers.clear()
    await this.ringWell()
    end()
    await server.rest()
    const [fault] = this.faults
    if (fault !== undefined) throw fault
    return [...new Set(outcomes)].sort().join(' ')
  }

  /** Composes the parts like the shim's own start. */
  private begin(windowless: boolean): () => void {
    const { surface, log, server } = this
    const { clock } = server
    const alone = headless({
      ...{ directory: PLACE.directory, permissions: 'reject', clock, log, isJoined: () => false },
      ...{
        storedSession: () => this.kept,
        storeSession: (place) => void (this.kept = place),
        boundSession: () => this.bound,
      },
    })
    this.alone = windowless ? alone : null
    const link = serverLink({
      ...{
        surface,
        ensure: () => Promise.resolve('lives'),
        stop() {},
        onAttached() {},
        output: '',
        clock,
        log,
      },
      connect: async (handlers) => (this.link = await connectOpencode(AT, { clock, log }, handlers)),
      chooseSession: (on) => (windowless ? alone.chooseSession(on) : Promise.resolve(this.bound)),
      onRequest: (asked, on) => void this.alone?.handleRequest(asked, on),
    })
    link.start()
    return () => {
      link.close()
      alone.close()
      surface.close()
      this.link?.close()
    }
  }

  private async ask(word: string): Promise<string> {
    const { surface, server } = this
    if (word === 'ring') return this.ring()
    if (word === 'tell') await server.tell()
    if (word === 'resume') await server.settled('its binding', surface.resume_surface())
    if (word === 'join') await server.settled('its joining', surface.personJoined(OTHER))
    if (word === 'leave')
      await server.settled('what is left open', this.alone?.answerOpen() ?? Promise.resolve())
    if (word === 'wait') await server.clock.advance(WAIT_MS)
    return (await surface.status()).turn
  }

  private async ring(): Promise<string> {
    const { proof } = await this.server.settled('the end of a ring', this.surface.notify_surface(BELL))
    return proof
  }

  /** The user returns to their session while another one is bound. */
  private async ringWell(): Promise<void> {
    const { surface, server } = this
    this.bound = PLACE
    await server.settled('the session of a server that is well', surface.personJoined(PLACE))
    for (let minutes = 0; !RUNG.includes(await this.ring()); minutes += 1) {
      insist(minutes < MINUTES_MAX, () => 'a server that is well again is not rung')
      // A daemon probes a surface that holds a doorbell every `bell_receipt_ms`.
      for (let waited_ms = 0; waited_ms < MINUTE_MS; waited_ms += LIMITS.bell_receipt_ms) {
        await server.clock.advance(LIMITS.bell_receipt_ms)
        await server.settled('its status', surface.status())
      }
    }
  }

  /** Only errors of the server and the connection are expected. */
  private logged({ err }: { err?: unknown }): void {
    if (err === undefined || err instanceof OpencodeError || err instanceof OpencodeVersionError) return
    const broke = err === this.server.broken || (err instanceof DOMException && err.name === 'AbortError')
    if (!broke) this.faults.push(err as Error)
  }
}

// --- The stream ---------------------------------------------------------------------------------

/** A stream contains the same events, however it is split into chunks, and its end is reported once. */
async function streamed(answers: Answers, meet: (server: FalseServer) => void): Promise<string> {
  const answer = answers.next('event')
  if (answer === null) return 'no stream'
  const toldBy = async (told: Answer) => {
    const server = new FalseServer(new Answers([told]))
    meet(server)
    const events: unknown[] = []
    let ends = 0
    const handlers: OpencodeHandlers = {
      onEvent: (event) => void events.push(event),
      onRequest: (asked) => void events.push(asked),
      onClose: () => void (ends += 1),
    }
    const { clock } = server
    const connecting = connectOpencode(AT, { clock, log: silentLog }, handlers).catch((error: unknown) => {
      if (error instanceof OpencodeError) return null
      throw error
    })
    const link = await server.settled('the connection', connecting)
    await server.rest()
    link?.close()
    await server.rest()
    insist(ends === (link === null ? 0 : 1), () => `its end was told ${ends} times`)
    return events
  }
  const [cut, whole] = [await toldBy(answer), await toldBy({ ...answer, piece_bytes: Infinity })]
  insist(isDeepStrictEqual(cut, whole), () => `${JSON.stringify(cut)} is not ${JSON.stringify(whole)}`)
  return `${Math.min(cut.length, 3)} events`
}
