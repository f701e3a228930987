/** What happened to a memory, for the event stream: that and where, and in one line what. */
import type { MemoryCall, MemoryPlace } from './place.ts'
import type { Json } from '../../contracts/ids.ts'
import type { EventLog } from '../../ports/event-log.ts'

export type MemoryEventType =
  | 'memory.entry_posted'
  | 'memory.decision_made'
  | 'memory.decision_changed'
  | 'memory.archived'
  | 'memory.imported'

export type TellMemory = (
  call: { caller: Pick<MemoryCall['caller'], 'identity'> },
  place: Pick<MemoryPlace, 'project_id'>,
  type: MemoryEventType,
  data: Record<string, Json>,
) => void

export function memoryTeller(events: Pick<EventLog, 'append'>): TellMemory {
  return (call, { project_id }, type, data) =>
    void events.append({ type, agent_id: call.caller.identity, data: { ...data, project_id } })
}
