/** Builds hook events in the format of the plugin's hooks.json. */
import { TurnEvent } from '../../adapters/claude-code/turn-events.ts'

export function turnEvent(event: string, fields: Partial<TurnEvent> = {}): TurnEvent {
  return TurnEvent.parse({ event, session_id: 'session-1', ...fields })
}
