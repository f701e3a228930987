/**
 * Checks after a compaction whether the conversation contains turnbell's primer again, which a hook adds. A compaction
 * keeps no primer from before it. Nothing here is awaited by a hook.
 */
import type { ModEvent } from './messages.ts'

export interface RestoreCheckDeps {
  /** Returns the conversation as it is sent to the model. Rejects if it cannot be read now. */
  conversation: () => Promise<readonly object[]>
  report: (event: ModEvent) => void
}

export function createRestoreCheck({ conversation, report }: RestoreCheckDeps) {
  /** The compaction after which no check has succeeded. */
  let unchecked: object | null = null

  async function check(): Promise<void> {
    const compaction = unchecked
    if (compaction === null) return
    const found = hasPrimer(JSON.stringify(await conversation()))
    // The conversation may have been compacted or cleared during the read.
    if (unchecked !== compaction) return
    unchecked = null
    report({ kind: 'restored', found })
  }

  return {
    compacted: () => void (unchecked = {}),
    /** The model answered the main agent. If the conversation cannot be read, the next answer is used. */
    answered: () => void check().catch(() => {}),
    /** The session continues with another conversation. */
    forget: () => void (unchecked = null),
  }
}

/** The first line of the primer and the begin of the line that explains how to answer. The MCP instructions have only the former. */
const PRIMER =
  /You are \S{1,63}, an agent in a team \(turnbell\)[^]{1,2000}?Take them with the tool signals_pending\./

export const hasPrimer = (text: string) => PRIMER.test(text)
