/** Fuzzes the responses of a hub, or of another server at its port, to a client's bridge. */
import { PassThrough } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import { parseJSONRPCMessage } from '@modelcontextprotocol/server'
import { ERRORS } from '../../../src/contracts/errors/error-catalogue.ts'
import { Problem, toProblem, TurnbellError, type ErrorCode } from '../../../src/contracts/errors/errors.ts'
import { DrainId } from '../../../src/contracts/ids.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { DrainResult } from '../../../src/contracts/signal.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { createIds } from '../../../src/system/random.ts'
import { createBridge, type Bridge } from '../../../src/bridge/bridge.ts'
import { settleAndEndSession } from '../../../src/bridge/shutdown.ts'
import { HubUnreachable, hubPost } from '../../../src/bridge/hub/post.ts'
import { StdioLines } from '../../../src/bridge/stdio/stdio-lines.ts'
import { createUpstream, type Upstream } from '../../../src/bridge/hub/upstream.ts'
import { Answers, answerOf, type Answer } from '../peers/false-answers.ts'
import { behindFalseHubs, FALSE_HUB_URL, FALSE_HUB_WORDS, FalseHub, type Asked } from '../peers/false-hub.ts'
import { seededRandom } from '../../support/fakes/fake-clock.ts'
import { INITIALIZE } from '../peers/mcp-messages.ts'
import { samplesOf } from '../seeds.ts'
import { Broken, insist, type Target } from '../target.ts'
import { tick } from '../peers/wire.ts'

const ASKS_MAX = 5
const TICKS_MAX = 30

const TOKEN_ROUTE = '/auth/token'
const GOODBYE = '/session/end'
const LISTEN = 'subscriptions/listen'
const WAITING = 'turnbell://signals/ada/pending'
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

const tool = (name: string, args: object) => ({ method: 'tools/call', params: { name, arguments: args } })

interface Asking {
  method: string
  params: object
}

/** The client's requests, by the words of an input's first line. */
const REQUESTS: Record<string, Asking> = {
  drain: tool('signals_pending', {}),
  pending: tool('signals', { action: 'pending' }),
  peek: tool('signals_pending', { peek: true }),
  send: tool('signals', { action: 'send', params: { to: 'bob', intent: 'x', payload: 1 } }),
  post: tool('blackboard', { action: 'post', params: { text: 'x' } }),
  tools: { method: 'tools/list', params: {} },
  resources: { method: 'resources/list', params: {} },
  templates: { method: 'resources/templates/list', params: {} },
  read: { method: 'resources/read', params: { uri: WAITING } },
  subscribe: { method: 'resources/subscribe', params: { uri: WAITING } },
  listen: {
    method: LISTEN,
    params: { notifications: { toolsListChanged: true, resourceSubscriptions: [WAITING] } },
  },
}

export const hubAnswers: Target = {
  name: 'hub-answers',
  promise:
    'whatever a hub answers, a client has its very words or a known problem, and in the end something; no drain is confirmed that it has not; and once the hub is well it is heard',
  share: 1,
  bytes_max: 8_192,
  words: [
    ...['legacy', 'modern', 'stream', 'drain-0', 'drain-4', ...Object.keys(REQUESTS), ...FALSE_HUB_WORDS],
    ...['\n@ ', '\n@ dial refused 15', `\n@ ${TOKEN_ROUTE} 401\n\n`, '\n@ signals_pending 200\n\n'],
    ...['content-type: text/event-stream\n', 'transfer-encoding: chunked\n', 'connection: close\n'],
    ...['content-length: 5\n', 'upgrade: x\nconnection: upgrade\n', 'data: ', ': x\n\n', '\r\n\r\n', '\r'],
    ...['100', '101', '103', '204', '302', '401', '500', '503', ...Object.keys(ERRORS)],
  ],

  open: () =>
    behindFalseHubs(seeds(), ({ asks, answers }, meet) => {
      if (asks[0] === 'stream') return streamed(answers, meet)
      const scene = new Scene(answers)
      meet(scene.hub)
      return scene.play(asks)
    }),
}

// --- Hubs, well-behaved and not -----------------------------------------------------------------

const TOKEN = '{"token":"t","expires_in":3600}'
const EVENTS = 'content-type: text/event-stream'
/** A cut most probably falls within a character. */
const WIDE = 'é'.repeat(30)
const EMPTY: DrainResult = { signals: [], remaining: 0, drain_id: null }

const called = (structuredContent: unknown) => ({
  content: [{ type: 'text', text: '{}' }],
  structuredContent,
})

const RESULTS: Record<string, object> = {
  'tools/list': { tools: [{ name: 'signals', inputSchema: { type: 'object' } }] },
  'resources/list': { resources: [] },
  'resources/templates/list': { resourceTemplates: [] },
  'resources/read': { contents: [] },
  signals_pending: called(EMPTY),
  signals_inbox: called({ signals: [] }),
}

const rpc = (told: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, ...told })
const notified = (what: string, params: object = {}) => rpc({ method: `notifications/${what}`, params })

function wellAnswered({ name }: Asked): Answer {
  if (name === TOKEN_ROUTE) return answerOf(TOKEN)
  // The declared length exceeds the body: the connection stays open.
  if (name === LISTEN)
    return answerOf(`data: ${notified('subscriptions/acknowledged')}\n\n`, [
      EVENTS,
      'content-length: 1000000',
    ])
  return answerOf(rpc({ result: RESULTS[name] ?? called({}) }))
}

function seeds(): string[] {
  const problem = (code: ErrorCode) => toProblem(new TurnbellError(code, { detail: 'x' }), 'x')
  const refused = (code: ErrorCode, times = 1) =>
    `${ERRORS[code].status} ${times}\n\n${JSON.stringify(problem(code))}`
  const drains = samplesOf(DrainResult, 30).filter(
    (sample) => typeof (sample as DrainResult).drain_id === 'string',
  )
  const drained = (told: unknown = drains[0]) => rpc({ result: called(told) })
  const mutates = (does: boolean) => `@ tool_describe 200\n\n${rpc({ result: called({ mutates: does }) })}`
  const [signal_id, drain_id] = samplesOf(DrainId, 2)
  const left = rpc({ result: called({ signals: [{ signal_id, drain_id }, { signal_id }] }) })
  const isError = { ...called(problem('queue_full')), isError: true }
  const changes = [
    ': x',
    notified('tools/list_changed'),
    notified('resources/updated', { uri: `turnbell://${WIDE}` }),
  ].join('\n')
  return [
    ...['', '\ntransfer-encoding: chunked', '\nconnection: close'].map(
      (framing, at) => `stream\n@ ${LISTEN} 200 1 ${at * 20 + 1}\n${EVENTS}${framing}\n\n${changes}`,
    ),
    `stream\n@ ${LISTEN} 200 1 30 100\n${EVENTS}\n\n: x\r\n\r\ndata: a\r\ndata: é\r\n\r\n${changes}`,
    ...['legacy', 'modern'].flatMap((era) => [
      `${era} tools resources read drain post send peek`,
      `${era} drain drain pending\n@ signals_pending 200 2\n\n${drained()}\n@ signals_pending 200\n\n${drained(drains[1])}`,
      `${era} drain-8 drain-2 drain\n@ signals_pending 200 3 20\n\n${drained()}`,
      `${era} subscribe listen tools\n@ ${LISTEN} 200 2 9\n${EVENTS}\n\n${changes}`,
    ]),
    ...drains.slice(0, 5).map((told) => `modern drain drain\n@ signals_pending 200 2 40\n\n${drained(told)}`),
    `modern drain drain\n@ signals_pending 200 2 9\n${EVENTS}\ntransfer-encoding: chunked\n\n${notified('progress')}\n${drained()}`,
    `modern drain drain\n@ signals_pending 200 1 200 150\n\n${drained()}\n@ signals_inbox 200\n\n${left}\n@ signals_release 200\n\n${rpc({ result: isError })}`,
    `modern drain drain\n@ signals_pending gone 2\n@ signals_inbox 200 2\n\n${rpc({ result: isError })}`,
    `modern drain drain\n@ signals_pending 200\n\n${drained()}\n@ confirm ${refused('hub_stopping', 3)}`,
    `modern post post\n@ blackboard_post gone 2\n${mutates(false)}\n${mutates(true)}`,
    `modern send post\n@ signals_send gone\n@ blackboard_post silent\n@ dial refused 2`,
    `modern tools tools resources\n@ dial refused 15\n@ dial silent`,
    `legacy read tools\n@ resources/read 200\n\n${rpc({ error: { code: -32002, message: 'no', data: { uri: 'x' } } })}\n@ tools/list 500\n\n${rpc({ error: { code: -32603, message: 'broken' } })}`,
    ...['legacy', 'modern'].map(
      (era) =>
        `${era} post post drain\n@ blackboard_post 200 2\n\n${rpc({ error: { code: -32602, message: 'no' } })}\n@ signals_pending 200\n\n${rpc({ result: isError })}`,
    ),
    ...(['hub_not_ready', 'queue_full', 'token_expired', 'store_unavailable'] as const).map(
      (code) => `modern post tools\n@ blackboard_post ${refused(code)}\n@ tools/list ${refused(code)}`,
    ),
    ...(['rate_limited', 'token_invalid'] as const).map(
      (code) => `modern post\n@ ${TOKEN_ROUTE} ${refused(code)}`,
    ),
    `modern post tools\n@ ${TOKEN_ROUTE} 200 1 5\ncontent-type: application/json\n\n${TOKEN}\n@ ${TOKEN_ROUTE} silent`,
    `modern post tools\n@ blackboard_post 101\nupgrade: x\nconnection: upgrade\n\n`,
    `modern tools tools templates\n@ tools/list 200\n\n${rpc({ result: RESULTS['tools/list'] })}\n@ tools/list 500\n\n`,
    `modern post\n@ blackboard_post ${refused('hub_not_ready', 15)}`,
    `modern read\n@ resources/read 302\nlocation: /\nconnection: close\n\n<html>\n@ resources/read 204\n\n\n@ ${GOODBYE} 401\n\n`,
  ]
}

// --- The client ---------------------------------------------------------------------------------

const nameIn = (word: string) => word.split('-')[0] ?? ''
const isAsk = (word: string) => Object.hasOwn(REQUESTS, nameIn(word))

interface Message {
  id?: string | number
  method?: string
  result?: { isError?: unknown; structuredContent?: unknown }
  error?: { data?: unknown }
}

/** Throws unless a client can match the response to a request. */
function readAsClient(line: string): Message {
  try {
    return parseJSONRPCMessage(JSON.parse(line)) as Message
  } catch {
    throw new Broken(`no client can read ${line.slice(0, 200)}`)
  }
}

class Scene {
  readonly hub: FalseHub
  private readonly upstream: Upstream
  private readonly bridge: Bridge
  private readonly toBridge = new PassThrough()
  /** Outcome of each request. */
  private readonly answers = new Map<unknown, string>()
  /** The drains that the client received. */
  private readonly drained = new Set<unknown>()
  private readonly faults: Error[] = []
  private meta: object = { _meta: ENVELOPE }
  private last_id = 1

  constructor(answers: Answers) {
    this.hub = new FalseHub(answers, wellAnswered, ({ name, args }) => {
      if (name === 'confirm' && !this.drained.has(args['confirm']))
        this.faults.push(new Broken('a drain is confirmed that the client has not'))
    })
    const toClient = new PassThrough()
    let rest = ''
    toClient.setEncoding('utf8').on('data', (text: string) => {
      this.hub.moved()
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) this.received(line)
    })
    const { clock } = this.hub
    const shared = { session_id: () => 's', version: '0', clock }
    this.upstream = createUpstream({
      ...{ ...shared, identity: 'ada', query: '' },
      ...{ locate: () => FALSE_HUB_URL, operatorToken: () => 'operator-token' },
    })
    this.bridge = createBridge({
      ...{ ...shared, upstream: this.upstream, transport: new StdioLines(this.toBridge, toClient) },
      ...{ instructions: 'x', ids: createIds(clock, seededRandom()) },
      log: { ...silentLog, error: (fields) => this.logged(fields) },
    })
  }

  async play([era, ...asks]: readonly string[]): Promise<string> {
    if (era === 'legacy') {
      this.meta = {}
      this.toBridge.write(`${INITIALIZE}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n`)
      await this.answerTo(1)
    }
    const outcomes: string[] = []
    for (const ask of asks.filter(isAsk).slice(0, ASKS_MAX)) outcomes.push(await this.ask(ask))
    const { answers } = this.hub
    const goodbye = answers.next(GOODBYE)
    answers.clear()
    // A drain that follows a confirmation without a response is rejected after a while.
    await this.hub.clock.advance(LIMITS.bridge_answer_ms)
    insist((await this.ask('drain')) === 'result', () => 'a hub that is well again is not heard')
    if (goodbye !== null) answers.put(goodbye)
    this.toBridge.end()
    await this.hub.settled('the end', settleAndEndSession(this.bridge, this.upstream, this.hub.clock))
    this.upstream.close()
    this.sound()
    return [...new Set(outcomes)].sort().join(' ')
  }

  /** `drain-3`: the client cancels it after three ticks of the event loop. */
  private async ask(word: string): Promise<string> {
    const [name = '', ticks] = word.split('-')
    const request = REQUESTS[name] as Asking
    const id = (this.last_id += 1)
    this.write({ id, method: request.method, params: { ...request.params, ...this.meta } })
    // The response follows when the stream ends.
    const stays = request.method === LISTEN
    if (ticks === undefined && !stays) return this.answerTo(id)
    for (let left = Math.min(Number(ticks), TICKS_MAX); left > 0; left -= 1) await tick()
    if (!stays) this.write({ method: 'notifications/cancelled', params: { requestId: id, ...this.meta } })
    await this.hub.rest()
    return name
  }

  private write(message: object): void {
    this.toBridge.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  private async answerTo(id: number): Promise<string> {
    const { answers, faults } = this
    await this.hub.until('an answer', () => answers.has(id) || faults.length > 0)
    this.sound()
    return answers.get(id) ?? ''
  }

  private sound(): void {
    const [fault] = this.faults
    if (fault !== undefined) throw fault
  }

  private received(line: string): void {
    try {
      const message = readAsClient(line)
      if (message.method !== undefined) return
      insist(!this.answers.has(message.id), () => `answered twice: ${line.slice(0, 200)}`)
      this.answers.set(message.id, this.judged(message))
    } catch (error) {
      this.faults.push(error as Error)
    }
  }

  private judged({ id, result, error }: Message): string {
    const refused = error !== undefined || result?.isError === true
    const told = error === undefined ? result?.structuredContent : error.data
    const problem = Problem.safeParse(told)
    if (refused && problem.success && Object.hasOwn(ERRORS, problem.data.code)) return problem.data.code
    insist(
      (told === undefined && error === undefined) || this.isHubs(told),
      () => `neither the hub's words nor a problem: ${JSON.stringify(told).slice(0, 200)}`,
    )
    // The bridge itself answers `initialize`.
    insist(
      id === 1 || result === undefined || told !== undefined || this.isWhole(result),
      () => `not the hub's words: ${JSON.stringify(result).slice(0, 200)}`,
    )
    if (refused) return 'refused'
    const drain = DrainResult.safeParse(told)
    if (drain.success) this.drained.add(drain.data.drain_id)
    return 'result'
  }

  private isHubs(told: unknown): boolean {
    const text = JSON.stringify(told)
    return (this.hub.said as Message[]).some(({ result, error }) =>
      [result?.structuredContent, error?.data].some((own) => JSON.stringify(own) === text),
    )
  }

  private isWhole(result: object): boolean {
    const own = plain(result)
    const said = (this.hub.said as Message[]).map(({ result: one }) =>
      plain((typeof one === 'object' ? one : null) ?? {}),
    )
    return Object.keys(own).length === 0 || said.some((one) => isDeepStrictEqual(one, own))
  }

  /** A hub may report an internal error or send an unreadable response, but the bridge must not fail. */
  private logged({ err }: { err?: unknown }): void {
    const { message } = err as Error
    const hubs = (this.hub.said as { error?: Error }[]).some(({ error }) => error?.message === message)
    if (!hubs && !(err instanceof TurnbellError)) this.faults.push(err as Error)
  }
}

/**
 * Returns the result as JSON, without fields that only one protocol version has and without an empty content, which is
 * optional.
 */
function plain(result: object): object {
  const written = JSON.parse(JSON.stringify(result)) as Record<string, unknown>
  const { resultType: _, ttlMs: __, cacheScope: ___, _meta: ____, content = [], ...rest } = written
  return isDeepStrictEqual(content, []) ? rest : { ...rest, content }
}

// --- Its stream ---------------------------------------------------------------------------------

/** A stream contains the same events, however it is split into chunks. */
async function streamed(answers: Answers, meet: (hub: FalseHub) => void): Promise<string> {
  const answer = answers.next(LISTEN)
  if (answer === null) return 'no stream'
  const eventsOf = async (told: Answer) => {
    const hub = new FalseHub(new Answers([{ ...told, to: '/' }]), wellAnswered)
    meet(hub)
    const http = hubPost(hub.clock)
    const abort = new AbortController()
    const events: string[] = []
    const stream = http.stream(FALSE_HUB_URL, {}, {}, abort.signal, (data) => void events.push(data))
    const ended = stream.then(
      () => 'ended',
      (error: unknown) => {
        insist(error instanceof HubUnreachable || abort.signal.aborted, () => String(error))
        return abort.signal.aborted ? 'left' : 'broke off'
      },
    )
    await hub.rest()
    abort.abort()
    const how = await hub.settled('the end of the stream', ended)
    http.close()
    return [how, ...events]
  }
  const [cut, whole] = [await eventsOf(answer), await eventsOf({ ...answer, piece_bytes: Infinity })]
  insist(isDeepStrictEqual(cut, whole), () => `${JSON.stringify(cut)} is not ${JSON.stringify(whole)}`)
  return `${cut[0]} after ${Math.min(cut.length - 1, 3)} events`
}
