/** Who makes a call: the main agent's and a subagent's look alike, only the hook before the call tells them apart. */

/** Announced calls that never came; a turn has few. */
const ANNOUNCED_MAX = 64

export interface Announcement {
  /** A subagent's id, or the empty string for the main agent. */
  agent_id: string
  /** The empty string where the client does not say. */
  prompt_id: string
}

export interface AnnouncedCalls {
  announce(tool_use_id: string, announcement: Announcement): void
  /** What was said of the call that has come now; undefined where no hook told of it. */
  take(tool_use_id: string): Announcement | undefined
}

export function createAnnouncedCalls(): AnnouncedCalls {
  const announced = new Map<string, Announcement>()
  return {
    announce(tool_use_id, announcement) {
      announced.set(tool_use_id, announcement)
      for (const oldest of announced.keys()) {
        if (announced.size <= ANNOUNCED_MAX) break
        announced.delete(oldest)
      }
    },
    take(tool_use_id) {
      const announcement = announced.get(tool_use_id)
      announced.delete(tool_use_id)
      return announcement
    },
  }
}
