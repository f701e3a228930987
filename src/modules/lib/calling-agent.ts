/** The agent that a call acts for: the one it names, otherwise the persona of the caller. */
import { foldedText } from '../../contracts/text/folded-text.ts'
import { ANONYMOUS_AGENT, OPERATOR, SYSTEM_SENDER } from '../../contracts/ids.ts'
import type { Caller } from '../../contracts/token.ts'

interface NamingCall {
  caller: Pick<Caller, 'identity' | 'kind'>
  context: { agent_id: string }
}

export function callingAgent({ caller, context }: NamingCall): string {
  return context.agent_id === ANONYMOUS_AGENT ? caller.identity : agentLabel(caller, context.agent_id)
}

/** Names of the person and of turnbell itself. */
const RESERVED_LABELS: ReadonlySet<string> = new Set([
  'human',
  'user',
  OPERATOR,
  SYSTEM_SENDER,
  'system',
  'hub',
])
/** Characters that are not visible in a name. */
const INVISIBLE = /[\s\p{Cf}]/gu

/**
 * Returns the label that a caller gives itself, such as the name of a subagent. A label does not identify the caller, its
 * token does. Only the operator may use a label of a person or of turnbell; for others their identity takes its place.
 */
export function agentLabel(caller: NamingCall['caller'], label: string): string {
  if (caller.kind === 'operator') return label
  const plain = foldedText(label.normalize('NFKC')).folded.replace(INVISIBLE, '').toLowerCase()
  return RESERVED_LABELS.has(plain) ? caller.identity : label
}

/** Returns the persona of the token, to be stored in addition to a label that does not begin with it. */
export function provenIdentity(
  { identity, kind }: NamingCall['caller'],
  label: string,
): { identity?: string } {
  return kind === 'operator' || label === identity || label.startsWith(`${identity}/`) ? {} : { identity }
}
