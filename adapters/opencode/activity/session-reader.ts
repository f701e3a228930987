/** Reads sessions for the record through the operations that the surface uses. */
import { Message, SessionInfo } from './client-events.ts'
import type { SessionReader } from './opencode-activity.ts'
import type { OpencodeServer } from '../server.ts'

export function sessionReader(
  server: Pick<OpencodeServer, 'session' | 'messages' | 'isBusy'>,
): SessionReader {
  return {
    async session(place) {
      const session = await server.session(place)
      return session === null ? null : SessionInfo.parse(session)
    },
    isBusy: (place) => server.isBusy(place),
    async lastFailure(place) {
      const newest = (await server.messages(place, 1)).at(-1)
      return Message.safeParse(newest?.info).data?.error
    },
  }
}
