/** Gathers what the primer of one persona contains. */
import { renderPrimer } from './primer.ts'
import type { Headlines } from './headlines.ts'
import type { Primer } from '../../contracts/memory/context.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Identity } from '../../contracts/ids.ts'
import { PRIMER_LIMITS } from '../../contracts/limits/primer.ts'
import { unknownPersona } from '../../contracts/errors/unknown-persona.ts'
import type { Caller } from '../../contracts/token.ts'
import type { MemoryCall } from '../memory/memory-resolver.ts'
import type { PersonaRegistry } from '../registry/personas.ts'
import type { SignalService } from '../signals/types.ts'

export interface PrimerModules {
  personas: Pick<PersonaRegistry, 'get' | 'list'>
  signals: Pick<SignalService, 'peek' | 'inProgress'>
}

/** The call for a primer. */
export interface PrimerCall {
  caller: Caller
  context: MemoryCall['context']
}

/**
 * An agent gets its own primer, the operator the one of `named`.
 *
 * Throws `identity_mismatch` for an agent that names another persona, `params_invalid` for an operator that names none
 * and `target_unknown` for a persona that does not exist.
 */
export async function primerFor(
  headlines: (call: MemoryCall) => Promise<Headlines>,
  { personas, signals }: PrimerModules,
  { caller, context }: PrimerCall,
  named: Identity | undefined,
): Promise<Primer> {
  const identity = personaOf(caller, named)
  const own = personas.get(identity)
  if (own === null && caller.kind === 'operator') {
    throw unknownPersona(identity, { known: personas.list().map((one) => one.identity) })
  }
  // Read as the persona, because the operator may read any directory.
  const as = caller.kind === 'operator' ? { ...caller, kind: 'agent' as const, identity } : caller
  const { project, lines } = await headlines({ caller: as, context })
  const waiting = signals.peek(identity, PRIMER_LIMITS.primer_signals_max, caller.session_id)
  const in_progress = await signals.inProgress(identity)
  const near = ({ project_id }: { project_id?: string | undefined }) =>
    own?.project_id !== undefined && project_id === own.project_id ? 0 : 1
  const teammates = personas
    .list()
    .filter((persona) => persona.state === 'active' && persona.identity !== identity)
    .sort((a, b) => near(a) - near(b))
  return renderPrimer({
    identity,
    project,
    teammates,
    waiting: { count: waiting.total, from: sendersOf(waiting.signals) },
    in_progress: { count: in_progress.count, from: sendersOf(in_progress.signals) },
    memory: lines,
  })
}

function sendersOf(signals: readonly { from: string }[]): string[] {
  return [...new Set(signals.map(({ from }) => from))]
}

function personaOf({ kind, identity }: Caller, named: Identity | undefined): Identity {
  if (kind !== 'operator') {
    if (named === undefined || named === identity) return identity
    throw new TurnbellError('identity_mismatch', {
      detail: `Agent ${identity} requested the primer of ${named}.`,
    })
  }
  if (named !== undefined) return named
  throw new TurnbellError('params_invalid', {
    detail: 'agent_id: required for the operator.',
    hint: 'Pass the name of a persona: {agent_id: "ada"}.',
  })
}
