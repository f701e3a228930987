/** Reports a hook to the hub as the persona's agent, as `turnbell hook` does for clients with command hooks. */
import * as z from 'zod'
import type { Identity } from '../../../src/contracts/ids.ts'
import { PRIMER_LIMITS } from '../../../src/contracts/limits/primer.ts'

export interface HubTarget {
  url: string
  operator_token: string
  identity: Identity
}

const Token = z.object({ token: z.string() })

/** Returns the output of the hook. Rejects if the hub does not answer within `primer_answer_ms`, or rejects the request. */
export async function reportToHub({ url, operator_token, identity }: HubTarget, payload: object) {
  const signal = AbortSignal.timeout(PRIMER_LIMITS.primer_answer_ms)
  const post = async (path: string, bearer: string, body: object): Promise<unknown> => {
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
    })
    if (!response.ok) throw new Error(`${path} returned ${response.status}`)
    return response.json()
  }
  const { token } = Token.parse(await post('/auth/token', operator_token, { identity, kind: 'agent' }))
  return post('/hook/opencode', token, payload)
}
