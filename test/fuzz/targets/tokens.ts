/** Fuzzes bearer tokens: only tokens issued by the hub are accepted. */
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { createTokens } from '../../../src/hub/tokens.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { insist, type Target } from '../target.ts'

const OPERATOR = 'tbop_operator'

export const tokens: Target = {
  name: 'tokens',
  promise: 'only the very tokens that were given out, and have not expired, are accepted',
  share: 6,
  bytes_max: 4_096,

  open() {
    const clock = fakeClock()
    const about = { operator_token: OPERATOR, tenant_id: 'local', clock }
    const ours = createTokens({ ...about, signing_key: 'a key' })
    const exp = Math.floor(clock.now() / 1000) + 3_600
    const payload = { tenant_id: 'local', identity: 'ada', kind: 'agent' as const, exp }
    const good = [
      ours.sign(payload),
      ours.sign({ ...payload, kind: 'daemon', session_id: 's' }),
      ours.sign({ ...payload, identity: 'bob', facets: ['core'] }),
      OPERATOR,
    ]
    const bad = [
      ours.sign({ ...payload, exp: 1 }),
      ours.sign({ ...payload, tenant_id: 'other' }),
      createTokens({ ...about, signing_key: 'another key' }).sign(payload),
    ]
    return {
      seeds: [...good, ...bad, '', '.', '..', `${good[0]}.`, `${good[0]}=`, ` ${good[0]}`],
      lasts: 200_000,
      attempt(input) {
        const token = input.toString()
        try {
          const { kind } = ours.authenticate(token)
          insist(good.includes(token), () => `accepted: ${JSON.stringify(token)}`)
          return kind
        } catch (error) {
          if (!(error instanceof TurnbellError)) throw error
          insist(error.code.startsWith('token_') && !good.includes(token), () => `refused with ${error.code}`)
          return error.code
        }
      },
    }
  },
}
