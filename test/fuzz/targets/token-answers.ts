/** Fuzzes the responses of a hub, or of another server in its place, to a daemon that requests a token. */
import http from 'node:http'
import { ERRORS, type ErrorCode } from '../../../src/contracts/errors/error-catalogue.ts'
import { toProblem, TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { TokenAnswer, type TokenPayload } from '../../../src/contracts/token.ts'
import { createTokenSource, type TokenSource } from '../../../src/daemon/link/hub-token.ts'
import { START } from '../../support/fakes/fake-clock.ts'
import { answerOf } from '../peers/false-answers.ts'
import { behindFalseHubs, FALSE_HUB_URL, FALSE_HUB_WORDS, FalseHub } from '../peers/false-hub.ts'
import { linesOf } from '../seeds.ts'
import { insist, type Target } from '../target.ts'

const ROUTE = '/auth/token'
const ASKS_MAX = 4
const HOUR_MS = 3_600_000
/** Such a token is still valid after an hour and due for renewal. */
const LIFE_S = 4_000
const HELD = 'a token'

export const tokenAnswers: Target = {
  name: 'token-answers',
  promise:
    'whatever a hub answers, a daemon gets a token that it can show and renew in time, or a refusal, and a hub that is well again gives it one',
  share: 1,
  bytes_max: 4_096,
  words: [
    ...['now', 'later', 'refused', 'given', ...FALSE_HUB_WORDS, `\n@ ${ROUTE} 200\n\n`, '\n@ dial refused 9'],
    ...['transfer-encoding: chunked\n', 'connection: close\n', 'upgrade: x\nconnection: upgrade\n'],
    ...['100', '101', '204', '302', '401', '503', '\r', ...Object.keys(ERRORS)],
  ],

  open: () =>
    behindFalseHubs(seeds(), ({ asks, answers }, meet) => {
      const hub = new FalseHub(answers, () => answerOf('{"token":"well","expires_in":3600}'))
      meet(hub)
      return played(hub, asks)
    }),
}

function seeds(): string[] {
  const codes: readonly ErrorCode[] = ['token_expired', 'token_invalid', 'rate_limited', 'hub_not_ready']
  const told = `{"token":"t","expires_in":${LIFE_S}}`
  const held = `@ ${ROUTE} 200\n\n${told}`
  return [
    ...linesOf(TokenAnswer, 6).map((line) => `now now later refused\n@ ${ROUTE} 200 2\n\n${line}`),
    ...codes.flatMap((code) => {
      const problem = JSON.stringify(toProblem(new TurnbellError(code, { detail: 'x' }), 'x'))
      const refused = `@ ${ROUTE} ${ERRORS[code].status}\ncontent-type: application/problem+json\n\n${problem}`
      return [`now now\n${refused}`, `now later\n${held}\n${refused}`, `given later\n${refused}`]
    }),
    `given now later later\n${held}`,
    `now later\n@ ${ROUTE} 200 2 5\ntransfer-encoding: chunked\n\n${told}`,
    `now now\n@ ${ROUTE} 200 1 9 20\n\n${told}\n@ ${ROUTE} silent\n@ ${ROUTE} gone`,
    `now now now\n@ dial refused\n@ dial silent\n@ ${ROUTE} 101\nupgrade: x\nconnection: upgrade\n\n`,
  ]
}

/** Returns a token issued for this persona. */
function givenToken(): string {
  const exp = START / 1_000 + LIFE_S
  const payload: TokenPayload = { tenant_id: 'local', identity: 'ada', kind: 'daemon', exp }
  return `${Buffer.from(JSON.stringify(payload)).toString('base64url')}.ab`
}

async function played(hub: FalseHub, asks: readonly string[]): Promise<string> {
  const given = asks.includes('given') ? givenToken() : undefined
  const until: Until = new Map(given === undefined ? [] : [[given, START + LIFE_S * 1_000]])
  const source = createTokenSource({
    ...{ url: () => FALSE_HUB_URL, identity: 'ada', session_id: 's', clock: hub.clock },
    ...{ operatorToken: () => 'operator-token', given },
  })
  const outcomes: string[] = []
  for (const ask of asks.slice(0, ASKS_MAX)) {
    if (ask === 'later') await hub.clock.advance(HOUR_MS)
    if (ask === 'refused') source.forget()
    outcomes.push(await current(hub, source, until))
  }
  hub.answers.clear()
  source.forget()
  const last = await current(hub, source, until)
  // An expired token from the environment must be replaced by the user.
  insist(given !== undefined || last === HELD, () => `a hub that is well again gives none: ${last}`)
  return [...new Set([...outcomes, last])].sort().join(' ')
}

/** Expiry time of each issued token. */
type Until = Map<string, number>

async function current(hub: FalseHub, source: TokenSource, until: Until): Promise<string> {
  const { length } = hub.said
  let token: string
  try {
    token = await hub.settled('a token', source.current())
  } catch (error) {
    if (error instanceof TurnbellError) return error.code
    throw error
  }
  http.validateHeaderValue('authorization', `Bearer ${token}`)
  for (const said of hub.said.slice(length)) {
    const { data } = TokenAnswer.safeParse(said)
    if (data !== undefined) until.set(data.token, hub.clock.now() + data.expires_in * 1_000)
  }
  const left_ms = (until.get(token) ?? 0) - hub.clock.now()
  insist(left_ms > 0, () => `a token is shown that is over since ${-left_ms} ms`)
  const renew_ms = source.renewIn() ?? Infinity
  insist(renew_ms <= LIMITS.timer_max_ms, () => `no timer waits for ${renew_ms} ms`)
  insist(renew_ms < left_ms, () => `it is over in ${left_ms} ms, and renewed in ${renew_ms}`)
  return HELD
}
