/** How a token is signed, at the hub and at the command line; `contracts/token.ts` has its form. */
import { createHmac } from 'node:crypto'
import { describeIssues, TurnbellError } from '../contracts/errors.ts'
import { TokenPayload } from '../contracts/token.ts'

/** Throws `params_invalid` for what no hub would accept afterwards. */
export function signToken(payload: TokenPayload, signing_key: string): string {
  const checked = TokenPayload.safeParse(payload)
  if (!checked.success) {
    throw new TurnbellError('params_invalid', { detail: describeIssues(checked.error) })
  }
  const body = Buffer.from(JSON.stringify(payload)).toString('base64url')
  return `${body}.${signatureOf(body, signing_key)}`
}

export function signatureOf(body: string, signing_key: string): string {
  return createHmac('sha256', signing_key).update(body).digest('hex')
}
