/** The callers of the isolation matrix: every state of a token, and the hub's response to a call with it. */
import { createHmac } from 'node:crypto'
import { OPERATOR_TOKEN, TEST_SIGNING_KEY, type LiveHub } from './live-hub.ts'
import { MAY_CALL, READS, type Effect, type Kind } from './who-may.ts'

export interface Holder {
  name: string
  token: string | null
  kind: Kind | 'operator'
  /** Whether the call is narrowed to read-only actions. */
  read_only?: boolean
  /** Whether the token opens no facet. */
  closed?: boolean
}

/** Error codes that reject the caller itself; with any other code the call has reached its action. */
const ACCESS_CODES: ReadonlySet<string> = new Set([
  ...['token_missing', 'token_invalid', 'token_expired', 'kind_forbidden', 'operator_required'],
  ...['facet_forbidden', 'facade_forbidden', 'read_only', 'identity_mismatch', 'origin_forbidden'],
])

export function accessOf(code: unknown): string {
  return typeof code === 'string' && ACCESS_CODES.has(code) ? code : 'reached'
}

export function validHolders(hub: LiveHub): Holder[] {
  const of = (kind: Kind) => ({ kind, token: hub.token('ada', kind) })
  return [
    { name: 'the operator', kind: 'operator', token: OPERATOR_TOKEN },
    { name: 'an agent', ...of('agent') },
    { name: 'a daemon', ...of('daemon') },
    { name: 'an observer', ...of('observer') },
    { name: 'an agent without facets', ...of('agent'), token: signed(hub, { facets: [] }), closed: true },
    { name: 'the operator, read-only', kind: 'operator', token: OPERATOR_TOKEN, read_only: true },
    { name: 'an agent, read-only', ...of('agent'), read_only: true },
    { name: 'an observer, read-only', ...of('observer'), read_only: true },
  ]
}

/** Invalid tokens, with the expected code of each. */
export function invalidTokens(hub: LiveHub): [name: string, token: string | null, code: string][] {
  const token = signed(hub, {})
  const [body = '', signature = ''] = token.split('.')
  const swapped = (more: object) => `${bodyOf(hub, more)}.${signature}`
  const other_key = createHmac('sha256', 'another key').update(body).digest('hex')
  return [
    ['none', null, 'token_missing'],
    ['garbage', 'garbage', 'token_invalid'],
    ['another identity, signed for ada', swapped({ identity: 'bob' }), 'token_invalid'],
    ['another kind, signed for an agent', swapped({ kind: 'observer' }), 'token_invalid'],
    ['another session, signed for none', swapped({ session_id: 'ada-2' }), 'token_invalid'],
    ['a longer life, signed for an hour', swapped({ exp: 4_000_000_000 }), 'token_invalid'],
    ['more facets, signed for none', swapped({ facets: ['admin'] }), 'token_invalid'],
    ['half a signature', `${body}.${signature.slice(0, 32)}`, 'token_invalid'],
    ['no signature', `${body}.`, 'token_invalid'],
    ['another key', `${body}.${other_key}`, 'token_invalid'],
    ['another tenant', signed(hub, { tenant_id: 'other' }), 'token_invalid'],
    ['expired', signed(hub, { exp: Math.floor(hub.clock.now() / 1000) }), 'token_expired'],
    ['an operator by kind', signed(hub, { kind: 'operator', identity: 'operator' }), 'token_invalid'],
    ['a part of the operator', OPERATOR_TOKEN.slice(0, -1), 'token_invalid'],
  ]
}

/** Returns the outcome that the rule demands, independent of the product. */
export function accessByRule({ kind, closed, read_only }: Holder, effect: Effect, facade: string): string {
  // The tool facade searches and describes only the actions that its caller may call.
  if (closed === true && facade !== 'tool') return 'facet_forbidden'
  if (read_only === true && !READS.includes(effect)) return 'read_only'
  if (kind === 'operator' || MAY_CALL[effect].includes(kind)) return 'reached'
  return MAY_CALL[effect].length === 0 ? 'operator_required' : 'kind_forbidden'
}

export function signed(hub: LiveHub, more: object): string {
  const body = bodyOf(hub, more)
  return `${body}.${createHmac('sha256', TEST_SIGNING_KEY).update(body).digest('hex')}`
}

function bodyOf({ clock }: LiveHub, more: object): string {
  const exp = Math.floor(clock.now() / 1000) + 3_600
  const payload = { tenant_id: 'local', identity: 'ada', kind: 'agent', exp, ...more }
  return Buffer.from(JSON.stringify(payload)).toString('base64url')
}

/** Number of concurrent calls; each mostly waits for a loopback socket. */
const AT_ONCE = 16

export async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items]
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}
