/** Fuzzes web responses to a routine: bytes on the wire, and responses that redirect and that repeat request data. */
import net, { type AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import type { Json } from '../../../src/contracts/ids.ts'
import type { SandboxPolicy } from '../../../src/contracts/sandbox-policy.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { WebResponse, WebRequest } from '../../../src/ports/web.ts'
import { createWeb } from '../../../src/system/ipc/web.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { playedOutside, type PlayedOutside } from '../../support/fakes/fake-outside.ts'
import { routineWorld } from '../../support/worlds/routine-world.ts'
import { NEXT } from '../parts.ts'
import { insist, type Target } from '../target.ts'
import { tick } from '../peers/wire.ts'

// --- Answers ----------------------------------------------------------------------------------

const HOME = 'http://api.example/v1'
const POLICY: SandboxPolicy = { network: ['api.example', 'other.example:8080'], env: ['API_TOKEN'], exec: [] }
const HOSTS = ['api.example', 'other.example:8080']
/** Codes of an unexpected status and of a forbidden redirect. */
const CODES = ['request_failed', 'leash_forbidden', 'params_invalid']
/** Quotation marks around the start of a truncated result. */
const QUOTES_BYTES = 2
/** Maximum number of repetitions; beyond it the body exceeds what a report shows. */
const TIMES_MAX = 3_000

/** Contains characters that JSON, URLs and forms each encode differently. */
const SECRET = 'Tk/9+é"<z!'

/** Placeholders at which a response repeats the secret, with the encoding of each. */
const SPELLINGS: Record<string, string> = {
  '@plain@': SECRET,
  '@json@': 'Tk/9+é\\"<z!',
  // Encoding of JSON in PHP, Python, Go and .NET.
  '@slashed@': 'Tk\\/9+é\\"<z!',
  '@ascii@': 'Tk/9+\\u00e9\\"<z!',
  '@markup@': 'Tk/9+é\\"\\u003cz!',
  '@units@': 'Tk/9\\u002B\\u00E9\\u0022\\u003Cz!',
  '@component@': 'Tk%2F9%2B%C3%A9%22%3Cz!',
  '@form@': 'Tk%2F9%2B%C3%A9%22%3Cz%21',
}

export const webAnswers: Target = {
  name: 'web-answers',
  promise:
    'whatever is answered, a step asks only where the leash leads, tells JSON that fits, and nobody its secret',
  share: 1,
  bytes_max: 4_096,
  words: [
    NEXT,
    ...Object.keys(SPELLINGS),
    ...['200', '302', '307', '404', 'cut', 'GET', 'POST', 'location: ', 'content-type: application/json'],
    ...['http://api.example/', '//other.example:8080/', 'https://api.example', 'http://evil.example/'],
  ],

  open() {
    const json = 'content-type: application/json'
    return {
      seeds: [
        `GET\n${NEXT}200\n${json}\nx-echo: Bearer @plain@\n\n{"you":"@json@","n":[1,{"a":null}]}`,
        `GET\n${NEXT}200\ncontent-type: text/html\nset-cookie: a=1\n\n<p>@plain@</p>`,
        `POST\n${NEXT}201\n${json}; charset=utf-8\n\n[]`,
        `GET\n${NEXT}302\nlocation: /login?next=@component@\n\n${NEXT}200\n\nwelcome`,
        `GET\n${NEXT}307\nlocation: //other.example:8080/@form@\n\n${NEXT}301\nlocation: ${HOME}\n\n${NEXT}404\n\nno`,
        `GET\n${NEXT}302\nlocation: http://evil.example/\n\n`,
        `POST\n${NEXT}303\nlocation: /v2\n\n`,
        `GET\n${NEXT}200 cut\n\nyou said Tk/9+`,
        `GET\n${NEXT}200 whole ${TIMES_MAX}\n\nmuch "é😀"`,
        ...Object.keys(SPELLINGS).map((word) => `GET\n${NEXT}200\n${json}\n\n{"you":"${word}"}`),
        ...Object.keys(SPELLINGS).map((word) => `GET\n${NEXT}200\n\nyou said ${word}`),
      ],
      async attempt(input) {
        const [head = '', ...answers] = input.toString().split(NEXT)
        const method = head.startsWith('POST') ? 'POST' : 'GET'
        const asked: WebRequest[] = []
        const outside = playedOutside({
          web(request) {
            asked.push(request)
            return answerIn(answers[Math.min(asked.length, answers.length) - 1] ?? '')
          },
          variables: { API_TOKEN: SECRET },
        })
        const { told, how } = await stepped(method, outside)
        judgeRequests(asked)
        for (const text of textsIn(told))
          for (const spelled of Object.values(SPELLINGS))
            insist(
              !text.includes(spelled),
              () => `the secret is told, in a way in which it is often spelled: ${text.slice(0, 200)}`,
            )
        return `${asked.length} ${how}`
      },
    }
  },
}

function answerIn(text: string): Partial<WebResponse> {
  const [head = '', ...rest] = text.replaceAll(/@\w+@/g, (word) => SPELLINGS[word] ?? word).split('\n\n')
  const [first = '', ...lines] = head.split('\n')
  const [status, cut, times] = first.split(' ')
  const headers = lines.map((line): [string, string] => {
    const [name = '', ...value] = line.split(': ')
    return [name.toLowerCase(), value.join(': ')]
  })
  return {
    status: Number(/^\d{3}$/.exec(status ?? '')?.[0] ?? 200),
    headers: Object.fromEntries(headers),
    body: rest
      .join('\n\n')
      .repeat(Math.max(1, Math.min(TIMES_MAX, Math.floor(Number(times)) || 1)))
      .toWellFormed(),
    truncated: cut === 'cut',
  }
}

/** Returns the step's result for later steps and for the report, and how it ended. */
async function stepped(method: string, outside: PlayedOutside): Promise<{ told: Json; how: string }> {
  const headers = { authorization: { $env: 'API_TOKEN', prefix: 'Bearer ' } }
  const world = routineWorld({ outside, sandbox: POLICY })
  const { report, ended } = await world.run([{ step: 'http', with: { url: HOME, method, headers } }])
  const bug = world.logged[0]
  insist(bug === undefined, () => `the step broke: ${inspect(bug)}`)
  const [step] = report.steps
  const bytes = Buffer.byteLength(JSON.stringify(step?.result ?? null))
  insist(bytes <= LIMITS.step_result_bytes_max + QUOTES_BYTES, () => `the report shows ${bytes} bytes`)
  const { status = '', problem } = step ?? {}
  insist(problem === undefined || CODES.includes(problem.code), () => `it is refused with ${problem?.code}`)
  return { told: [...ended.values(), step] as unknown as Json, how: problem?.code ?? status }
}

function judgeRequests(asked: readonly WebRequest[]): void {
  insist(asked.length <= 1 + LIMITS.web_redirects_max, () => `${asked.length} requests`)
  let trusted = true
  for (const { url, headers } of asked) {
    const { host, origin } = new URL(url)
    insist(HOSTS.includes(host), () => `beyond the leash: ${url}`)
    trusted &&= origin === new URL(HOME).origin
    insist(trusted || Object.keys(headers).length === 0, () => `headers are taken along to ${url}`)
  }
}

/** Includes names. */
function textsIn(value: Json): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => [name, ...textsIn(inner)])
}

// --- Bytes ------------------------------------------------------------------------------------

const TIMEOUT_MS = 1_000
const ANSWER_BYTES_MAX = 2_000
/** The body follows, up to the end. */
const PLAIN = Buffer.from('HTTP/1.1 200 OK\r\n\r\n')
/** After the server closes the connection, a complete response takes some ticks of the event loop. */
const QUIET_TICKS = 50

export const webBytes: Target = {
  name: 'web-bytes',
  promise:
    'whatever bytes a server sends before it hangs up, a request ends with an answer within its bounds or with a refusal',
  share: 0.7,
  words: [
    ...['HTTP/1.1 200 OK\r\n', 'HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 101 x\r\n'],
    ...['HTTP/1.0 204\r\n', '\r\n\r\n', 'trailer: x\r\n', '__proto__: x\r\n'],
    ...['content-length: 5\r\n', 'transfer-encoding: chunked\r\n', 'connection: upgrade\r\nupgrade: x\r\n'],
    ...['set-cookie: a\r\n', '5\r\nhello\r\n0\r\n\r\n', 'x-é: é\r\n'],
  ],

  async open() {
    const clock = fakeClock()
    const web = createWeb({ clock })
    let bytes: Buffer = Buffer.alloc(0)
    let hung_up = false
    const server = net.createServer((socket) => {
      socket.once('data', () => socket.end(bytes))
      socket.on('error', () => {})
      socket.once('close', () => (hung_up = true))
    })
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    const { port } = server.address() as AddressInfo
    const request: WebRequest = {
      url: `http://127.0.0.1:${port}/v1`,
      ...{ method: 'GET', headers: {}, timeout_ms: TIMEOUT_MS, response_bytes_max: ANSWER_BYTES_MAX },
    }
    return {
      seeds: [
        'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{"a":"é"}',
        'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
        `HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\n${'é'.repeat(ANSWER_BYTES_MAX)}`,
        'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 302 Found\r\nLocation: /v2\r\n\r\n',
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
        'HTTP/1.0 404\r\n\r\nno',
        `${PLAIN.toString()}small`,
        `${PLAIN.toString()}${'é😀'.repeat(ANSWER_BYTES_MAX / 5)}`,
      ],
      async attempt(input) {
        bytes = input
        hung_up = false
        let found: WebResponse | TurnbellError | null = null
        const asked = web.request(request).then(
          (answer) => (found = answer),
          (error: unknown) => (found = refused(error)),
        )
        for (let ticks = 0; found === null && ticks < QUIET_TICKS; ticks += hung_up ? 1 : 0) await tick()
        await clock.advance(TIMEOUT_MS)
        const ended = await asked
        insist(clock.armed() === 0, () => 'a timer is left behind')
        if (input.subarray(0, PLAIN.length).equals(PLAIN)) judgePlain(ended, input.subarray(PLAIN.length))
        if (!(ended instanceof TurnbellError)) return judgeAnswer(ended)
        insist(ended.code !== 'timed_out', () => 'it waits, and nobody is there any more')
        return ended.code
      },
      close: () => new Promise<void>((closed) => void server.close(() => closed())),
    }
  },
}

function refused(error: unknown): TurnbellError {
  if (error instanceof TurnbellError && ['request_failed', 'timed_out'].includes(error.code)) return error
  throw error
}

function judgePlain(ended: WebResponse | TurnbellError, body: Buffer): void {
  const cut = body.length > ANSWER_BYTES_MAX
  const text = new TextDecoder().decode(body.subarray(0, ANSWER_BYTES_MAX), { stream: cut })
  insist(!(ended instanceof TurnbellError), () => `refused with ${(ended as TurnbellError).code}`)
  insist(
    ended.truncated === cut && ended.body === text,
    () => `not what was sent: ${ended.truncated} ${ended.body}`,
  )
}

function judgeAnswer({ status, headers, body, truncated: cut }: WebResponse): string {
  insist(Number.isInteger(status) && status >= 0 && status <= 999, () => `status ${status}`)
  for (const [name, value] of Object.entries(headers))
    insist(name === name.toLowerCase() && typeof value === 'string', () => `${name}: ${String(value)}`)
  insist(body.isWellFormed() && body.length <= ANSWER_BYTES_MAX, () => `a body of ${body.length}`)
  return `${Math.floor(status / 100)} ${cut} ${Math.min(Object.keys(headers).length, 3)}`
}
