/**
 * Drains whose answer is in the client's pipe, until it is known whether the agent has read them. An interrupt while the
 * hooks after the call still run makes the client throw the answer away; once the batch of calls is through, it stays in the
 * conversation whatever comes.
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
  /** Resolves once what went back is back: that may be the end of the turn, which makes every drain final. */
  readonly givenBack: Promise<void>
  /** `tool_use_id` is of the call that asked; `prompt_id` of its turn, empty where the client does not say. */
  add(tool_use_id: string, drain: Drain, prompt_id: string): void
  /** The client goes on from the answer to this call. */
  use(tool_use_id: string): void
  /** The batch of calls is through: what the client goes on from is in the conversation. */
  confirmUsed(): void
  /** The turn came to its end. Whatever its answers carried has been read, also where a hook was lost. */
  confirmAll(): void
  /** Those of other turns than this one. */
  giveBackBefore(prompt_id: string): void
  giveBackAll(): Promise<void>
}

interface Written extends Drain {
  used: boolean
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

  function giveBack(which: (drain: Written) => boolean): Promise<void> {
    const unseen = take(which).flatMap(({ signal_ids }) => signal_ids)
    if (unseen.length === 0) return givenBack
    log.info(
      { signals: unseen.length },
      'an interrupt kept the agent from seeing what it drained; it goes back',
    )
    drains.release(unseen)
    // Said before the end of the turn is: the hub takes that as the sign that everything was read.
    givenBack = drains.settled()
    return givenBack
  }

  return {
    get givenBack() {
      return givenBack
    },
    add: (tool_use_id, drain, prompt_id) =>
      void written.set(tool_use_id, { ...drain, used: false, prompt_id }),
    use(tool_use_id) {
      const drain = written.get(tool_use_id)
      if (drain !== undefined) drain.used = true
    },
    confirmUsed: () => confirm(({ used }) => used),
    confirmAll: () => confirm(() => true),
    giveBackBefore: (prompt_id) =>
      void giveBack((drain) => drain.prompt_id !== '' && drain.prompt_id !== prompt_id),
    giveBackAll: () => giveBack(() => true),
  }
}
