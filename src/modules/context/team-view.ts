/** Gathers what a client shows of the team next to the session of one persona. */
import type { BlockedAnswer } from '../../contracts/coordination.ts'
import { OPERATOR, type Identity } from '../../contracts/ids.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { PersonaOverview } from '../../contracts/registry.ts'
import type { TeamMember, TeamView } from '../../contracts/team-view.ts'
import type { Caller } from '../../contracts/token.ts'
import type { PersonaRegistry } from '../registry/personas.ts'
import type { SignalService } from '../signals/types.ts'

const BY_NAME = new Intl.Collator('en', { numeric: true })

export interface TeamViewModules {
  personas: Pick<PersonaRegistry, 'list'>
  signals: Pick<SignalService, 'peek' | 'inProgress' | 'newestPending' | 'pendingCount'>
  coordinator: { blocked(caller: Caller, identity: Identity): BlockedAnswer }
}

/** Contains no content of signals, because every agent may read it. Rejects with `store_unavailable`. */
export async function teamViewFor(
  { personas, signals, coordinator }: TeamViewModules,
  caller: Caller,
): Promise<TeamView> {
  const { identity } = caller
  const waiting = signals.peek(identity, LIMITS.team_signals_read_max, caller.session_id)
  const in_progress = await signals.inProgress(identity)
  const { blocks, blocked_by } = coordinator.blocked(caller, identity)
  const active = personas.list().filter(({ state }) => state === 'active')
  const newest = signals.newestPending(OPERATOR, LIMITS.team_names_max)
  return {
    identity,
    waiting: { count: waiting.total, from: namesIn(waiting.signals.map(({ from }) => from)) },
    in_progress: { count: in_progress.count, from: namesIn(in_progress.signals.map(({ from }) => from)) },
    blocks: namesIn(blocks.map(({ blocked }) => blocked)),
    blocked_by: namesIn(blocked_by.map(({ blocker }) => blocker)),
    team: nearestFirst(active, identity).slice(0, LIMITS.team_shown_max).map(memberOf),
    team_count: active.length,
    person: {
      pending_count: signals.pendingCount(OPERATOR),
      newest: newest.map(({ signal_id, from }) => ({ signal_id, from })),
    },
  }
}

/** The caller, then the personas with a connected agent, then the caller's project, then the others, each by name. */
function nearestFirst(personas: readonly PersonaOverview[], identity: Identity): PersonaOverview[] {
  const own = personas.find((persona) => persona.identity === identity)
  const distance = (persona: PersonaOverview) => {
    if (persona === own) return 0
    const is_near = own?.project_id !== undefined && persona.project_id === own.project_id
    return (agentsOf(persona).length > 0 ? 1 : 3) + (is_near ? 0 : 1)
  }
  return personas.toSorted((a, b) => distance(a) - distance(b) || BY_NAME.compare(a.identity, b.identity))
}

function agentsOf({ registrations }: PersonaOverview) {
  return registrations.filter(({ kind, connected }) => kind === 'agent' && connected)
}

function memberOf(persona: PersonaOverview): TeamMember {
  const { identity, pending_count } = persona
  const turns = agentsOf(persona).map(({ facts }) => facts?.turn ?? 'unknown')
  const turn = turns.includes('busy') ? 'busy' : (turns.find((one) => one !== 'unknown') ?? turns[0])
  return { identity, turn: turn ?? 'offline', pending_count }
}

function namesIn(names: readonly string[]): Identity[] {
  return [...new Set(names)].slice(0, LIMITS.team_names_max)
}
