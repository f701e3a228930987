import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { RESERVED_IDENTITIES } from '../../../src/contracts/ids.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { Caller } from '../../../src/contracts/token.ts'
import { createTokens, TOKENS_KNOWN_MAX } from '../../../src/hub/tokens.ts'
import { fakeClock, START } from '../../support/fakes/fake-clock.ts'

const KEY = 'a-signing-key'
const OPERATOR = 'tbop_secret'

function setUp(tenant_id = 'local') {
  const clock = fakeClock()
  return { clock, tokens: createTokens({ signing_key: KEY, operator_token: OPERATOR, tenant_id, clock }) }
}
const payload = { tenant_id: 'local', identity: 'bob', kind: 'agent' as const, exp: START / 1000 + 60 }
const sign = (body: string, key = KEY) => `${body}.${createHmac('sha256', key).update(body).digest('hex')}`
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('a token', () => {
  test('a token has the documented form and names its holder', () => {
    const { tokens } = setUp()
    const token = tokens.sign({ ...payload, session_id: 'run-1' })
    expect(token).toBe(sign(encode({ ...payload, session_id: 'run-1' })))
    expect(tokens.authenticate(token)).toEqual({
      ...{ tenant_id: 'local', identity: 'bob', kind: 'agent', session_id: 'run-1' },
    })
  })

  test("a token of the operator is the home's own secret", () => {
    expect(setUp().tokens.authenticate(OPERATOR)).toEqual({
      ...{ tenant_id: 'local', identity: 'operator', kind: 'operator' },
    })
  })

  test('a token expires at its time, not after it', async () => {
    const { tokens, clock } = setUp()
    const token = tokens.sign(payload)
    await clock.advance(59_999)
    expect(tokens.authenticate(token).identity).toBe('bob')
    await clock.advance(1)
    expect(() => tokens.authenticate(token)).toThrow(
      expect.objectContaining({ code: 'token_expired' }) as Error,
    )
  })

  test('a token accepted before is found in the cache, and only that one', () => {
    const { tokens } = setUp()
    const token = tokens.sign(payload)
    const first = tokens.authenticate(token)
    expect(tokens.authenticate(token)).toEqual(first)
    const [said = '', proof = ''] = token.split('.')
    const other = `${said}.${proof.replace(/.$/, (last) => (last === '0' ? '1' : '0'))}`
    expect(() => tokens.authenticate(other)).toThrow(
      expect.objectContaining({ code: 'token_invalid' }) as Error,
    )
  })

  test('a token is accepted, whatever the number of tokens', () => {
    const { tokens } = setUp()
    const all = Array.from({ length: TOKENS_KNOWN_MAX + 10 }, (_, n) =>
      tokens.sign({ ...payload, session_id: `run-${n}` }),
    )
    for (const round of [all, all])
      for (const [n, token] of round.entries()) expect(tokens.authenticate(token).session_id).toBe(`run-${n}`)
  })

  test('a missing token is distinguished from a wrong one', () => {
    const { tokens } = setUp()
    for (const none of [null, '']) {
      expect(() => tokens.authenticate(none)).toThrow(
        expect.objectContaining({ code: 'token_missing' }) as Error,
      )
    }
  })

  const good = sign(encode(payload))
  const [body = '', signature = ''] = good.split('.')
  test.each([
    ['with another key', sign(encode(payload), 'another-key')],
    [
      'with another persona under the old signature',
      `${encode({ ...payload, identity: 'alice' })}.${signature}`,
    ],
    ['with a signature cut short', good.slice(0, -1)],
    ['with a signature in capitals', `${body}.${signature.toUpperCase()}`],
    ['with no signature', body],
    ['with an empty signature', `${body}.`],
    ['with an empty body', `.${signature}`],
    ['with a third part', `${good}.x`],
    ['with spaces around it', ` ${good}`],
    ['signed, but of another tenant', sign(encode({ ...payload, tenant_id: 'other' }))],
    ['signed, but of kind operator', sign(encode({ ...payload, kind: 'operator' }))],
    ['signed, but with an invalid name', sign(encode({ ...payload, identity: '../bob' }))],
    ['signed, but with a name that no persona has', sign(encode({ ...payload, identity: 'operator' }))],
    ['signed, but without an end', sign(encode({ ...payload, exp: undefined }))],
    ['signed, but with an end that is no number', sign(encode({ ...payload, exp: '9999999999' }))],
    ['signed, but no JSON', sign(Buffer.from('bob').toString('base64url'))],
    ['signed, but null', sign(encode(null))],
    ["that is the operator's with a letter more", `${OPERATOR}x`],
    ["that is the operator's cut short", OPERATOR.slice(0, -1)],
    ['that is far too long', 'x'.repeat(1_000_000)],
    ['with a null byte', `${good}\0`],
  ])('a token %s is not accepted', (_, token) => {
    expect(() => setUp().tokens.authenticate(token)).toThrow(
      expect.objectContaining({ code: 'token_invalid' }) as Error,
    )
  })

  test('a rejected token is never repeated in the error', () => {
    try {
      setUp().tokens.authenticate('a-secret-of-somebody')
    } catch (error) {
      expect(JSON.stringify(error) + String(error)).not.toContain('a-secret-of-somebody')
    }
    expect.assertions(1)
  })
})

describe('issuing', () => {
  const operator: Caller = { tenant_id: 'local', identity: 'operator', kind: 'operator' }
  const bob: Caller = { tenant_id: 'local', identity: 'bob', kind: 'agent', session_id: 'run-1' }

  test('the operator issues a token for any persona and kind, for an hour', () => {
    const { tokens } = setUp()
    for (const kind of ['agent', 'daemon', 'observer'] as const) {
      const { token, expires_in } = tokens.issue(operator, { identity: 'bob', kind })
      expect(expires_in).toBe(3_600)
      expect(tokens.verify(token)).toEqual({
        ...{ tenant_id: 'local', identity: 'bob', kind, exp: START / 1000 + LIMITS.token_ttl_s },
      })
    }
  })

  test('an issued token opens the facets given by the operator, and a renewal opens no others', () => {
    const { tokens } = setUp()
    const request = { identity: 'bob', kind: 'agent' as const }
    const operator = tokens.authenticate(OPERATOR)
    const narrow = tokens.authenticate(tokens.issue(operator, { ...request, facets: ['work', 'core'] }).token)
    expect(narrow.facets).toEqual(['work', 'core'])
    expect(tokens.authenticate(tokens.issue(narrow, request).token).facets).toEqual(['work', 'core'])
    const plain = tokens.authenticate(tokens.issue(operator, request).token)
    expect(plain.facets).toBeUndefined()
    for (const [holder, facets] of [
      [narrow, ['pro']],
      [plain, ['work']],
    ] as const)
      expect(() => tokens.issue(holder, { ...request, facets })).toThrow('operator_required')
  })

  test("a renewal has the caller's own identity, kind and session", () => {
    const { tokens } = setUp()
    const { token } = tokens.issue(bob, { identity: 'bob', kind: 'agent' })
    expect(tokens.authenticate(token)).toEqual(bob)
  })

  test.each([
    ['another persona', { identity: 'alice', kind: 'agent' as const }, 'operator_required'],
    ['another kind', { identity: 'bob', kind: 'daemon' as const }, 'operator_required'],
    [
      'another session',
      { identity: 'bob', kind: 'agent' as const, session_id: 'run-2' },
      'identity_mismatch',
    ],
  ])('no caller gets a token for %s', (_, request, code) => {
    const { tokens } = setUp()
    expect(() => tokens.issue(bob, request)).toThrow(expect.objectContaining({ code }) as Error)
  })

  test.each(RESERVED_IDENTITIES)('not even the operator gets a token for %s', (identity) => {
    const { tokens } = setUp()
    expect(() => tokens.issue(operator, { identity, kind: 'agent' })).toThrow(
      expect.objectContaining({ code: 'params_invalid' }) as Error,
    )
  })
})
