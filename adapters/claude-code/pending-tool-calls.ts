/**
 * Tool calls that a hook announced and that have not arrived yet. Only the hook shows whether the main agent or a
 * subagent makes the call.
 */

/** Maximum number of announced calls that never arrive; a turn has few. */
const PENDING_MAX = 64

export interface Announcement {
  /** A subagent's id, or the empty string for the main agent. */
  agent_id: string
  /** Empty if the client does not report it. */
  prompt_id: string
}

export interface PendingToolCalls {
  announce(tool_use_id: string, announcement: Announcement): void
  /** Removes and returns the announcement of a call that has arrived; undefined if no hook announced it. */
  take(tool_use_id: string): Announcement | undefined
}

export function createPendingToolCalls(): PendingToolCalls {
  const pending = new Map<string, Announcement>()
  return {
    announce(tool_use_id, announcement) {
      pending.set(tool_use_id, announcement)
      for (const oldest of pending.keys()) {
        if (pending.size <= PENDING_MAX) break
        pending.delete(oldest)
      }
    },
    take(tool_use_id) {
      const announcement = pending.get(tool_use_id)
      pending.delete(tool_use_id)
      return announcement
    },
  }
}
