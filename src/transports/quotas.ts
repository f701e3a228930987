/**
 * Quotas on connections, requests, streams and links, per caller. Agents and observers together have a lower limit than
 * all callers, so that the operator and daemons can always connect.
 */
import { TurnbellError } from '../contracts/errors/errors.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { Caller } from '../contracts/token.ts'

interface QuotaSpec {
  /** Plural noun for error details. */
  noun: string
  /** Limit of one caller. */
  caller_max: number
  /** Limits of all agents and observers together, and of all callers together. */
  agents_max: number
  all_max: number
  hint: string
}

const QUOTAS = {
  connection: {
    noun: 'connections',
    caller_max: LIMITS.caller_connections_max,
    agents_max: Infinity,
    all_max: Infinity,
    hint: 'Close connections that you do not need, or reuse them (keep-alive).',
  },
  request: {
    noun: 'requests without an answer',
    caller_max: LIMITS.caller_requests_max,
    agents_max: Infinity,
    all_max: Infinity,
    hint: 'Read the answers to earlier requests before you send more.',
  },
  event_stream: {
    noun: 'event streams',
    caller_max: LIMITS.caller_event_streams_max,
    agents_max: LIMITS.event_streams_max - LIMITS.event_streams_kept,
    all_max: LIMITS.event_streams_max,
    hint: 'Close streams that you do not read; one stream carries every event.',
  },
  mcp_stream: {
    noun: 'MCP streams',
    caller_max: LIMITS.caller_mcp_streams_max,
    agents_max: LIMITS.mcp_streams_max - LIMITS.mcp_streams_kept,
    all_max: LIMITS.mcp_streams_max,
    hint: 'Close streams that you do not read.',
  },
  link: {
    noun: 'WebSocket links',
    caller_max: LIMITS.caller_links_max,
    agents_max: Infinity,
    all_max: Infinity,
    hint: 'Close links that you do not need: one per session is enough.',
  },
} as const satisfies Record<string, QuotaSpec>

interface Bound {
  key: string
  max: number
}

export type QuotaKind = keyof typeof QUOTAS

/** The caller that a quota belongs to. */
export type Holder = Pick<Caller, 'kind' | 'identity'>

export interface Quotas {
  /**
   * Reserves one unit and returns a function that releases it; further calls of that function have no effect. The
   * operator has no quota of its own, only the limit of all callers. Throws `limit_reached`.
   */
  take(holder: Holder, quota: QuotaKind): () => void
}

/** `refused` counts a rejected reservation in the metrics. */
export function createQuotas(refused: (quota: QuotaKind) => void): Quotas {
  const used = new Map<string, number>()
  const add = (key: string, by: number) => {
    const count = (used.get(key) ?? 0) + by
    if (count === 0) used.delete(key)
    else used.set(key, count)
  }

  return {
    take(holder, quota) {
      const { noun, caller_max, agents_max, all_max, hint }: QuotaSpec = QUOTAS[quota]
      const { kind, identity } = holder
      const is_agent = kind === 'agent' || kind === 'observer'
      const bounds: Bound[] = [
        { key: `${quota} ${keyOf(holder)}`, max: kind === 'operator' ? Infinity : caller_max },
        ...(all_max === Infinity ? [] : [{ key: quota, max: all_max }]),
        ...(all_max === Infinity || !is_agent ? [] : [{ key: `${quota} of agents`, max: agents_max }]),
      ]
      const full = bounds.findIndex(({ key, max }) => (used.get(key) ?? 0) >= max)
      if (full !== -1) {
        refused(quota)
        const whose = ['The caller', 'All callers together', 'Agents and observers together'][full]
        throw new TurnbellError('limit_reached', {
          detail: `${whose} may have ${bounds[full]?.max} ${noun}; the ${kind} ${identity} asked for one more.`,
          hint: full === 0 ? hint : 'Try again later.',
        })
      }
      for (const { key } of bounds) add(key, 1)
      let is_released = false
      return () => {
        if (is_released) return
        is_released = true
        for (const { key } of bounds) add(key, -1)
      }
    },
  }
}

/** Key of one caller, the same for all of its tokens. */
export function keyOf({ kind, identity }: Holder): string {
  return `${kind} ${identity}`
}
