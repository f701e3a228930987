/**
 * Records what hooks show while no module is attached: prompts, the begin and the end of requests, permission requests and calls
 * of turnbell's own tools. A hook for each tool would cost the client about 20 ms a call, so other tools are not recorded.
 */
import { word, type Happened, type RecordedSession } from './recorded-session.ts'
import { ASKING } from '../presence.ts'
import { given } from '../mod/fields.ts'
import type { TurnEvent } from '../turn-events.ts'
import type { EndStatus } from '../../../src/contracts/activity/event.ts'
import { bellInText, type Doorbell } from '../../../src/contracts/doorbell.ts'

export interface HookActivity {
  fired(event: TurnEvent): void
  /** A doorbell was written in the response to a Stop hook: the agent continues in another turn. */
  continuedWith(doorbell: Doorbell): void
  /** A person interrupted the turn; no hook reports that. */
  interrupted(): void
}

export function hookActivity(session: RecordedSession): HookActivity {
  const waits = hookWaits(session)
  const requests = hookRequests(session)

  function ended(happened: Happened, status: EndStatus): void {
    waits.end(happened)
    requests.end(happened, status)
  }

  function mainFired(event: TurnEvent, happened: Happened): void {
    switch (event.event) {
      case 'UserPromptSubmit':
        waits.end(happened)
        return requests.prompted(event, happened)
      case 'PreToolUse':
      case 'PostToolUse':
      case 'PostToolBatch':
        waits.end(happened)
        requests.worked(event, happened)
        return toolFired(session, event, happened)
      case 'PermissionRequest':
        requests.worked(event, happened)
        return waits.begin(event.tool_name, happened)
      case 'Stop':
        return ended(happened, 'completed')
      case 'StopFailure':
        return ended(happened, 'failed')
      case 'Notification':
        // Sent after one minute at the prompt.
        if (event.notification_type === 'idle_prompt') ended(happened, 'interrupted')
        return
      default:
    }
  }

  return {
    fired(event) {
      const agent = word(event.agent_id) || undefined
      const happened: Happened = { source: 'hook', agent }
      if (event.event === 'SessionEnd') return session.end(happened, word(event.reason) || undefined)
      // The hook also fires after a compaction, which does not begin a session.
      const reason = event.event === 'SessionStart' && event.source === 'clear' ? 'clear' : undefined
      session.start(event.session_id, happened, { reason })
      if (agent === undefined) return mainFired(event, happened)
      toolFired(session, event, happened)
    },
    continuedWith({ text }) {
      const happened: Happened = { source: 'hook' }
      if (session.open() === null) session.begin({ prompt: text, prompt_type: 'doorbell' }, happened)
    },
    interrupted: () => ended({ source: 'hook' }, 'interrupted'),
  }
}

/** Permission requests have no ids. Any other hook of the agent shows that the person has answered. */
function hookWaits(session: RecordedSession) {
  let waiting: string[] = []
  let count = 0
  return {
    begin(tool: string, happened: Happened): void {
      const waiting_id = `permission-${++count}`
      waiting.push(waiting_id)
      const what = given({ what: word(tool) || undefined })
      const data = { waiting_id, for: ASKING.get(tool) ?? 'permission', ...what } as const
      session.record({ kind: 'waiting.started', data }, happened)
    },
    end(happened: Happened): void {
      for (const waiting_id of waiting)
        session.record({ kind: 'waiting.ended', data: { waiting_id } }, happened)
      waiting = []
    },
  }
}

/** Requests as hooks show them. They do not report an interrupt, but the next turn has another id. */
function hookRequests(session: RecordedSession) {
  function end(happened: Happened, status: EndStatus): void {
    const open = session.open()
    if (open !== null) session.endRequest(open, happened, status)
  }
  return {
    end,
    prompted({ prompt_id, prompt }: TurnEvent, happened: Happened): void {
      // Typed into the running turn.
      if (prompt_id !== '' && word(prompt_id) === session.open()?.request_id) return
      end(happened, 'interrupted')
      const about = given({ request_id: word(prompt_id) || undefined })
      session.begin({ prompt, prompt_type: typeOf(prompt), ...about }, happened)
    },
    /** A hook of a turn that may have begun without a prompt, as after an interrupt with a waiting prompt. */
    worked({ prompt_id }: TurnEvent, happened: Happened): void {
      const open = session.open()
      const is_same =
        open !== null &&
        // The module has other ids.
        (open.source === 'mod' ||
          prompt_id === '' ||
          open.request_id === undefined ||
          open.request_id === word(prompt_id))
      if (is_same) return
      end(happened, 'interrupted')
      session.begin(given({ request_id: word(prompt_id) || undefined }), happened)
    },
  }
}

function typeOf(prompt: string): string {
  if (bellInText(prompt) !== null) return 'doorbell'
  return prompt.startsWith('<task-notification>') ? 'task' : 'person'
}

function toolFired(session: RecordedSession, event: TurnEvent, happened: Happened): void {
  const [action_id, tool] = [word(event.tool_use_id), word(event.tool_name)]
  if (action_id === '' || tool === '') return
  if (event.event === 'PreToolUse')
    session.record({ kind: 'action.started', data: { action_id, tool } }, happened)
  if (event.event === 'PostToolUse')
    session.record({ kind: 'action.ended', data: { action_id, tool } }, happened)
}
