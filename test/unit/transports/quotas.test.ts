/** Tests quotas: the limit of one caller, and what is reserved for the operator and for daemons. */
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { createQuotas, type QuotaKind } from '../../../src/transports/quotas.ts'
import { refusedWith } from '../../support/worlds/small-hub.ts'

const agent = (n: number) => ({ kind: 'agent', identity: `agent-${n}` }) as const
const OPERATOR = { kind: 'operator', identity: 'operator' } as const

describe('one caller', () => {
  test.each([
    ['connection', LIMITS.caller_connections_max],
    ['request', LIMITS.caller_requests_max],
    ['event_stream', LIMITS.caller_event_streams_max],
    ['mcp_stream', LIMITS.caller_mcp_streams_max],
    ['link', LIMITS.caller_links_max],
  ] as const)(
    'one caller has a limited number of the kind %s, independent of others',
    async (share, most) => {
      const refused: QuotaKind[] = []
      const quotas = createQuotas((one) => void refused.push(one))
      const [leave] = Array.from({ length: most }, () => quotas.take(agent(1), share))
      expect(await refusedWith(() => quotas.take(agent(1), share))).toBe('limit_reached')
      expect(refused).toEqual([share])
      quotas.take(agent(2), share)
      quotas.take({ kind: 'daemon', identity: 'agent-1' }, share)
      leave?.()
      leave?.()
      quotas.take(agent(1), share)
      expect(await refusedWith(() => quotas.take(agent(1), share))).toBe('limit_reached')
    },
  )
})

describe('all agents together', () => {
  test.each([
    ['event_stream', LIMITS.event_streams_max, LIMITS.event_streams_kept],
    ['mcp_stream', LIMITS.mcp_streams_max, LIMITS.mcp_streams_kept],
  ] as const)(
    'all agents together leave some of the kind %s to the operator and to daemons',
    async (share, all, kept) => {
      const quotas = createQuotas(() => undefined)
      for (let n = 0; n < all - kept; n++) quotas.take(agent(n), share)
      expect(await refusedWith(() => quotas.take(agent(all), share))).toBe('limit_reached')
      quotas.take({ kind: 'daemon', identity: 'ada' }, share)
      for (let n = 1; n < kept; n++) quotas.take(OPERATOR, share)
      expect(await refusedWith(() => quotas.take(OPERATOR, share))).toBe('limit_reached')
    },
  )
})
