/** Signs tokens, in the hub and the command line; `contracts/token.ts` defines their format. */
import { createHmac } from 'node:crypto'
import { describeIssues, TurnbellError } from '../contracts/errors/errors.ts'
import { TokenPayload } from '../contracts/token.ts'

/** Throws `params_invalid` for claims that no hub would accept. */
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
