/** The module `activity` of a hub without a place to store it. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Activity } from '../../modules/activity/types.ts'

/** Every call rejects with `store_unavailable`. */
export function noActivity(): Activity {
  const refuse = () =>
    Promise.reject(new TurnbellError('store_unavailable', { detail: 'This hub stores no activity.' }))
  return new Proxy({} as Activity, { get: (_, name) => (name === 'then' ? undefined : refuse) })
}
