/**
 * Takes in what was left in the spool while the hub was away, or by who need not wait for it.
 *
 * A hub that dies after it did what a line says, and before that is noted, is handed the line again. So all that is
 * made of a line can be found by the line's id: the entry, also in the archive; the summary of what was archived; the
 * event. Where it is found, nothing is done. A power cut may take the newest events with it, as it may take any.
 */
import { describeParams } from '../contracts/describe.ts'
import { TurnbellError } from '../contracts/errors.ts'
import { hookFacts } from '../contracts/hook.ts'
import { ANONYMOUS_AGENT, type Identity } from '../contracts/ids.ts'
import { jsonIn } from '../contracts/json.ts'
import { Spooled, type SpooledHook } from '../contracts/spool.ts'
import type { Blackboard } from '../modules/blackboard/service.ts'
import type { MemoryCall } from '../modules/memory/place.ts'
import type { EventLog } from '../ports/event-log.ts'
import type { Log } from '../ports/log.ts'
import type { Spool, Taken } from '../ports/spool.ts'

export interface LeftBehindNeeds {
  spool: Spool
  blackboard: Pick<Blackboard, 'postLeft' | 'archiveAfter'>
  events: Pick<EventLog, 'append' | 'read' | 'written'>
  log: Log
}

/** Resolves when there is nothing left that can be taken in now. */
export type TakeLeftBehind = () => Promise<void>

export function leftBehindTaker({ spool, blackboard, events, log }: LeftBehindNeeds): TakeLeftBehind {
  const tell = async ({ id, client, identity, body, at }: SpooledHook): Promise<void> => {
    const told = events.read({ type: 'hook', limit: Infinity }).events.some(({ data }) => data['id'] === id)
    if (!told)
      events.append({ type: 'hook', agent_id: identity, data: { ...hookFacts(client, body), at, id } })
    await events.written()
  }

  const act = async (left: Spooled): Promise<unknown> => {
    if (left.type === 'hook') return tell(left)
    if (left.type === 'post') return blackboard.postLeft(callIn(left.root, left.identity), left.entry, left)
    return blackboard.archiveAfter(callIn(left.root), left, left)
  }

  /** `shut`: projects that cannot be written now, and why. What is for one of them waits without being tried. */
  const take = async (line: string, shut: Map<string, string>): Promise<Taken> => {
    const said = jsonIn(line)
    const read = Spooled.safeParse(said)
    if (!read.success) return { refused: describeParams(Spooled, said, read.error, 'the line') }
    const left = read.data
    const root = 'root' in left ? left.root : null
    const later = root === null ? undefined : shut.get(root)
    if (later !== undefined) return { later }
    try {
      await act(left)
      return 'taken'
    } catch (error) {
      if (!(error instanceof TurnbellError)) {
        log.error({ err: error, id: left.id }, 'taking in what was left behind broke')
        return { broke: String(error) }
      }
      if (error.code !== 'store_unavailable') return { refused: error.detail }
      if (root !== null) shut.set(root, error.detail)
      return { later: error.detail }
    }
  }

  return async () => {
    const shut = new Map<string, string>()
    const { taken, refused } = await spool.takeAll((line) => take(line, shut))
    if (taken + refused > 0) log.info({ taken, refused }, 'what was left behind was taken in')
  }
}

/** The spool is its owner's alone, who may work anywhere. */
function callIn(root: string, identity?: Identity): MemoryCall {
  return {
    caller: { identity: identity ?? 'operator', kind: 'operator' },
    context: { agent_id: identity ?? ANONYMOUS_AGENT, scope: root },
  }
}
