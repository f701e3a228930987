/**
 * Drains whose answer is in the client's pipe, until the end of their turn. An interrupt while the hooks after the call
 * still run makes the client discard the answer; after the end of the batch of calls the answer stays in the conversation.
 * A drain is confirmed only at the end of its turn: the agent may still die in it.
 */
import type { DrainId, SignalId } from '../../src/contracts/ids.ts'
import type { Log } from '../../src/ports/log.ts'

/** What was drained. */
export interface Drain {
  drain_id: DrainId
  signal_ids: SignalId[]
}

/** The bridge's way to say what became of a drain. */
export interface Drains {
  confirm(drain_id: DrainId): void
  release(signal_ids: readonly SignalId[]): void
  settled(): Promise<void>
}

export interface WrittenDrains {
  /** Resolves once the released drains are back at the hub. The end of the turn must not be reported before. */
  readonly givenBack: Promise<void>
  /** `tool_use_id` is of the call that asked; `prompt_id` of its turn, empty where the client does not say. */
  add(tool_use_id: string, drain: Drain, prompt_id: string): void
  /** The client goes on from the answer to this call. */
  use(tool_use_id: string): void
  /** The batch of calls has ended: the used answers stay in the conversation. */
  keepUsed(): void
  /** The turn has ended. All its answers were read, also where a hook was lost. */
  confirmAll(): void
  /** Turns before this one were interrupted: confirms their kept drains, releases the others. */
  settleBefore(prompt_id: string): void
  /** The same for all turns. */
  settleAll(): Promise<void>
}

interface Written extends Drain {
  used: boolean
  kept: boolean
  prompt_id: string
}

export function createWrittenDrains(drains: Drains, log: Log): WrittenDrains {
  const written = new Map<string, Written>()
  let givenBack = Promise.resolve()

  function take(which: (drain: Written) => boolean): Written[] {
    const taken = [...written].filter(([, drain]) => which(drain))
    for (const [tool_use_id] of taken) written.delete(tool_use_id)
    return taken.map(([, drain]) => drain)
  }

  function confirm(which: (drain: Written) => boolean): void {
    for (const { drain_id } of take(which)) drains.confirm(drain_id)
  }

  function settle(which: (drain: Written) => boolean): Promise<void> {
    confirm((drain) => drain.kept && which(drain))
    const unseen = take(which).flatMap(({ signal_ids }) => signal_ids)
    if (unseen.length === 0) return givenBack
    log.info(
      { signals: unseen.length },
      'an interrupt kept the agent from seeing what it drained; it goes back',
    )
    drains.release(unseen)
    // Before the end of the turn is reported: that confirms all drains of the turn.
    givenBack = drains.settled()
    return givenBack
  }

  return {
    get givenBack() {
      return givenBack
    },
    add: (tool_use_id, drain, prompt_id) =>
      void written.set(tool_use_id, { ...drain, used: false, kept: false, prompt_id }),
    use(tool_use_id) {
      const drain = written.get(tool_use_id)
      if (drain !== undefined) drain.used = true
    },
    keepUsed() {
      for (const drain of written.values()) if (drain.used) drain.kept = true
    },
    confirmAll: () => confirm(() => true),
    settleBefore: (prompt_id) =>
      void settle((drain) => drain.prompt_id !== '' && drain.prompt_id !== prompt_id),
    settleAll: () => settle(() => true),
  }
}
