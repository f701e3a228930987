/**
 * Drains whose result was written to the client, until the end of their turn. An interrupt while the hooks after the
 * call still run makes the client discard the result; after the end of the tool batch the result stays in the
 * conversation. A drain is confirmed only at the end of its turn, because the agent may still crash during it.
 */
import type { DrainId, SignalId } from '../../src/contracts/ids.ts'
import type { Log } from '../../src/ports/log.ts'

/** The signals of one drain. */
export interface Drain {
  drain_id: DrainId
  signal_ids: SignalId[]
}

/** The bridge's operations on drains. */
export interface Drains {
  confirm(drain_id: DrainId): void
  release(signal_ids: readonly SignalId[]): void
  settled(): Promise<void>
}

export interface UnconfirmedDrains {
  /** Resolves when the hub has received all releases. The end of the turn must not be reported earlier. */
  readonly released: Promise<void>
  /** Adds a drain of the call `tool_use_id` in the turn `prompt_id`, which is empty if the client does not report it. */
  add(tool_use_id: string, drain: Drain, prompt_id: string): void
  /** Records that the client has processed the result of this call. */
  markUsed(tool_use_id: string): void
  /**
   * Records the end of the tool batch: the used results stay in the conversation. The client has discarded the others,
   * which are released: it reports every result that it uses before the end of the batch.
   */
  endBatch(): void
  /** Confirms all drains at the end of the turn. Its results were read, even if a hook was lost. */
  confirmAll(): void
  /** Settles the turns before this one, which were interrupted: confirms their kept drains, releases the others. */
  settleBefore(prompt_id: string): void
  /** Settles all turns. */
  settleAll(): Promise<void>
}

/** What the client reported about the result of a call: it uses it, and it stays in the conversation. */
interface Use {
  used: boolean
  kept: boolean
}

interface UnconfirmedDrain extends Drain, Use {
  prompt_id: string
}

const UNUSED: Use = { used: false, kept: false }

export function createUnconfirmedDrains(drains: Drains, log: Log): UnconfirmedDrains {
  const unconfirmed = new Map<string, UnconfirmedDrain>()
  /**
   * Reported results of calls without a drain, until the end of the next batch: a result counts as written once earlier
   * input was handled, so the client's report may come first.
   */
  let early = new Map<string, Use>()
  let released = Promise.resolve()

  function take(matches: (drain: UnconfirmedDrain) => boolean): UnconfirmedDrain[] {
    const taken = [...unconfirmed].filter(([, drain]) => matches(drain))
    for (const [tool_use_id] of taken) unconfirmed.delete(tool_use_id)
    return taken.map(([, drain]) => drain)
  }

  function confirm(matches: (drain: UnconfirmedDrain) => boolean): void {
    for (const { drain_id } of take(matches)) drains.confirm(drain_id)
  }

  function settle(matches: (drain: UnconfirmedDrain) => boolean): Promise<void> {
    confirm((drain) => drain.kept && matches(drain))
    const unseen_ids = take(matches).flatMap(({ signal_ids }) => signal_ids)
    if (unseen_ids.length === 0) return released
    log.info({ signals: unseen_ids.length }, 'unseen drains released after an interrupt')
    drains.release(unseen_ids)
    // Must finish before the end of the turn is reported, because that confirms all drains of the turn.
    released = drains.settled()
    return released
  }

  return {
    get released() {
      return released
    },
    add: (tool_use_id, drain, prompt_id) =>
      void unconfirmed.set(tool_use_id, { ...drain, ...(early.get(tool_use_id) ?? UNUSED), prompt_id }),
    markUsed(tool_use_id) {
      const drain = unconfirmed.get(tool_use_id)
      if (drain === undefined) early.set(tool_use_id, { used: true, kept: false })
      else drain.used = true
    },
    endBatch() {
      for (const drain of unconfirmed.values()) if (drain.used) drain.kept = true
      early = new Map(
        [...early].filter(([, { kept }]) => !kept).map(([id, use]) => [id, { ...use, kept: true }]),
      )
      void settle((drain) => !drain.used)
    },
    confirmAll: () => confirm(() => true),
    settleBefore: (prompt_id) =>
      void settle((drain) => drain.prompt_id !== '' && drain.prompt_id !== prompt_id),
    settleAll: () => settle(() => true),
  }
}
