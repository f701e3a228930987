/**
 * HTTP paths of Claude-DCM that stand for actions, so that its scripts work with a hub. They are served like deprecated names,
 * and are not part of the OpenAPI document.
 */
import { queryReader } from '../query-reader.ts'
import type { Registry } from '../registry.ts'

type Params = Record<string, unknown>
type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

export interface AliasRoute {
  method: Method
  /** Parts that begin with a colon are parameters. */
  url: string
  facade: string
  action: string
  /** Parameters of the action, from those of the path, and those of the query (GET, DELETE) or the body. */
  params: (given: Params) => Params
}

interface Alias {
  method: Method
  url: string
  /** `facade.action`. */
  stands_for: `${string}.${string}`
  /** Former names of parameters. */
  renamed?: Readonly<Record<string, string>>
  defaults?: Params
}

const RECIPIENT = { to_agent_id: 'to', agent_id: 'to', from_agent_id: 'from' }
const PERSONA = { agent_id: 'identity', blocked_agent: 'identity', blocked_agent_id: 'identity' }

const ALIASES: readonly Alias[] = [
  { method: 'GET', url: '/api/projects', stands_for: 'activity.projects' },
  { method: 'GET', url: '/api/projects/:project_id', stands_for: 'activity.project' },
  { method: 'DELETE', url: '/api/projects/:project_id', stands_for: 'activity.delete_project' },
  { method: 'GET', url: '/api/requests', stands_for: 'activity.requests' },
  { method: 'POST', url: '/api/requests', stands_for: 'activity.put_request' },
  { method: 'GET', url: '/api/tasks', stands_for: 'activity.tasks' },
  { method: 'POST', url: '/api/tasks', stands_for: 'activity.put_task' },
  { method: 'GET', url: '/api/subtasks', stands_for: 'activity.subtasks' },
  { method: 'POST', url: '/api/subtasks', stands_for: 'activity.put_subtask' },
  { method: 'GET', url: '/api/actions', stands_for: 'activity.actions' },
  { method: 'POST', url: '/api/actions', stands_for: 'activity.log_action' },
  { method: 'GET', url: '/api/actions/hourly', stands_for: 'activity.hourly' },
  { method: 'DELETE', url: '/api/actions/by-session/:session_id', stands_for: 'activity.delete_actions' },
  { method: 'GET', url: '/api/sessions', stands_for: 'activity.sessions' },
  { method: 'GET', url: '/api/sessions/stats', stands_for: 'activity.stats' },
  { method: 'GET', url: '/api/sessions/:session_id', stands_for: 'activity.session' },
  {
    method: 'PATCH',
    url: '/api/sessions/:session_id',
    stands_for: 'activity.end_session',
    renamed: { ended_at: '' },
  },
  { method: 'DELETE', url: '/api/sessions/:session_id', stands_for: 'activity.delete_session' },
  { method: 'GET', url: '/api/hierarchy/:project_id', stands_for: 'activity.hierarchy' },
  { method: 'GET', url: '/api/active-sessions', stands_for: 'activity.active' },
  { method: 'GET', url: '/api/cleanup/stats', stands_for: 'activity.cleanup_stats' },
  { method: 'GET', url: '/api/dashboard/kpis', stands_for: 'activity.kpis' },
  { method: 'GET', url: '/stats', stands_for: 'activity.stats' },
  { method: 'GET', url: '/stats/tools-summary', stands_for: 'activity.tools_summary' },
  { method: 'GET', url: '/api/messages', stands_for: 'signals.inbox', renamed: RECIPIENT },
  { method: 'GET', url: '/api/messages/:agent_id', stands_for: 'signals.inbox', renamed: RECIPIENT },
  {
    ...{ method: 'POST', url: '/api/messages', stands_for: 'signals.send', renamed: RECIPIENT },
    defaults: { intent: 'message' },
  },
  { method: 'POST', url: '/api/subscribe', stands_for: 'coordinator.subscribe', renamed: { agent_id: '' } },
  { method: 'GET', url: '/api/subscriptions', stands_for: 'coordinator.subscriptions', renamed: PERSONA },
  {
    method: 'GET',
    url: '/api/subscriptions/:agent_id',
    stands_for: 'coordinator.subscriptions',
    renamed: PERSONA,
  },
  {
    method: 'POST',
    url: '/api/unsubscribe',
    stands_for: 'coordinator.unsubscribe',
    renamed: { agent_id: '' },
  },
  {
    method: 'POST',
    url: '/api/blocking',
    stands_for: 'coordinator.block',
    renamed: { ...PERSONA, blocked_by: '' },
  },
  { method: 'GET', url: '/api/blocking/:agent_id', stands_for: 'coordinator.blocked', renamed: PERSONA },
  {
    method: 'POST',
    url: '/api/unblock',
    stands_for: 'coordinator.unblock',
    renamed: { ...PERSONA, blocked_by: '' },
  },
]

/** Without the aliases of facades that the registry lacks. */
export function aliasRoutes(registry: Registry): AliasRoute[] {
  return ALIASES.flatMap(({ method, url, stands_for, renamed = {}, defaults = {} }): AliasRoute[] => {
    const [facade = '', name = ''] = stands_for.split('.')
    const found = registry.actions.find((one) => one.facade.name === facade && one.name === name)
    if (found === undefined) return []
    const typed = queryReader(found.action)
    const is_text = method === 'GET' || method === 'DELETE'
    const params = (given: Params) => {
      const named = { ...defaults, ...rename(given, renamed) }
      return is_text ? typed(named) : named
    }
    return [{ method, url, facade, action: name, params }]
  })
}

/** A parameter that is renamed to nothing is left out: the token or the path determines it. */
function rename(given: Params, renamed: Readonly<Record<string, string>>): Params {
  const entries = Object.entries(given).map(([name, value]) => [renamed[name] ?? name, value] as const)
  return Object.fromEntries(entries.filter(([name]) => name !== ''))
}
