/** Locates the hub, checks that it knows the persona, and requests a token for each session. */
import { notAHub, parseProblem, parseToken } from './answers.ts'
import { HubUnreachable, type HubAnswer, type HubPost } from './post.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Identity, SessionId } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Clock } from '../../ports/clock.ts'

/** How long the located address is reused. Short, because another program may get the port. */
const LOCATED_MS = 250

/** Number of tokens kept. Each thread of a client has its own, but few threads call in the same hour. */
export const TOKENS_KEPT_MAX = 16

export interface HubAccessDeps {
  identity: Identity
  /** Facets of the persona's client, if they differ from those that the hub offers to everyone. */
  facets?: readonly string[]
  /**
   * Returns the hub's address; throws `hub_unreachable` while none runs. Called again after every failure,
   * because a restarted hub may use another port.
   */
  locate: () => string
  /** Returns null while the home has no token, which means that no hub ever ran in it. */
  operatorToken: () => string | null
  /**
   * Converts the hub's refusal of an unknown persona for the reader. Without it the first call creates the
   * persona.
   */
  unknownPersona?: ((refused: TurnbellError) => TurnbellError) | undefined
  clock: Pick<Clock, 'monotonic'>
}

export interface HubAccess {
  locate(): string
  /** Locates the hub again at the next request. */
  forgetLocation(): void
  /**
   * Whether the hub knows the persona. Checked before the first call, which would create a persona from a
   * mistyped name.
   */
  isPersonaKnown(): boolean
  requirePersona(abort?: AbortSignal): Promise<void>
  tokenFor(session_id: SessionId, abort?: AbortSignal): Promise<string>
  forgetToken(session_id: SessionId): void
}

export function createHubAccess(deps: HubAccessDeps, http: Pick<HubPost, 'post'>): HubAccess {
  const { clock } = deps
  /** In order of issue, newest last. */
  const tokens = new Map<SessionId, { text: string; renew_at: number }>()
  let persona_known = deps.unknownPersona === undefined
  let located: { url: string; at: number } | null = null

  /** Locating the hub costs as much as a request, so concurrent calls share one lookup. */
  function locate(): string {
    const now = clock.monotonic()
    if (located === null || now - located.at >= LOCATED_MS) located = { url: deps.locate(), at: now }
    return located.url
  }

  /** Sends a request of the operator. It changes nothing at the hub, so it counts as unsent if it fails. */
  async function post(path: string, body: object, abort?: AbortSignal): Promise<HubAnswer> {
    const operator = deps.operatorToken()
    if (operator === null) {
      const cause = new Error('this home has no operator token, because no hub ever ran in it')
      throw new HubUnreachable(true, cause)
    }
    const headers = { authorization: `Bearer ${operator}` }
    try {
      return await http.post(`${locate()}${path}`, headers, body, { abort })
    } catch (error) {
      throw error instanceof HubUnreachable ? new HubUnreachable(true, error) : error
    }
  }

  async function requirePersona(abort?: AbortSignal): Promise<void> {
    if (persona_known) return
    const lookup = { tool: 'personas', action: 'get', params: { identity: deps.identity } }
    const answer = await post('/call', lookup, abort)
    if (answer.status !== 200) {
      const refused = parseProblem(answer) ?? new HubUnreachable(true, notAHub(answer))
      if (refused instanceof TurnbellError && refused.code === 'target_unknown')
        throw deps.unknownPersona?.(refused) ?? refused
      throw refused
    }
    persona_known = true
  }

  async function tokenFor(session_id: SessionId, abort?: AbortSignal): Promise<string> {
    const known = tokens.get(session_id)
    if (known !== undefined && clock.monotonic() < known.renew_at) return known.text
    await requirePersona(abort)
    const { identity, facets } = deps
    const requested_at = clock.monotonic()
    const answer = await post('/auth/token', { identity, kind: 'agent', session_id, facets }, abort)
    const { token: text, expires_in } = parseToken(answer)
    tokens.delete(session_id)
    tokens.set(session_id, {
      text,
      renew_at: requested_at + expires_in * 1000 * LIMITS.token_renew_ratio,
    })
    const oldest = tokens.keys().next().value
    if (tokens.size > TOKENS_KEPT_MAX && oldest !== undefined) tokens.delete(oldest)
    return text
  }

  return {
    locate,
    forgetLocation: () => (located = null),
    isPersonaKnown: () => persona_known,
    requirePersona,
    tokenFor,
    forgetToken: (session_id) => void tokens.delete(session_id),
  }
}
