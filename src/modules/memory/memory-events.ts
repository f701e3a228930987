/** Events about changes of a project memory. */
import type { MemoryCall, MemoryLocation } from './memory-resolver.ts'
import type { Json } from '../../contracts/ids.ts'
import type { EventLog } from '../../ports/event-log.ts'

export type MemoryEventType =
  | 'memory.entry_posted'
  | 'memory.decision_made'
  | 'memory.decision_changed'
  | 'memory.archived'
  | 'memory.imported'

export type PublishMemoryEvent = (
  call: { caller: Pick<MemoryCall['caller'], 'identity'> },
  place: Pick<MemoryLocation, 'project_id'>,
  type: MemoryEventType,
  data: Record<string, Json>,
) => void

export function createMemoryPublisher(events: Pick<EventLog, 'append'>): PublishMemoryEvent {
  return (call, { project_id }, type, data) =>
    void events.append({ type, agent_id: call.caller.identity, data: { ...data, project_id } })
}
