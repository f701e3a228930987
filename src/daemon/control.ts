/**
 * `control.sock`: four verbs for the operator of this persona, and no more. Nothing here sends or reads
 * a signal.
 */
import { ControlParams, ControlVerb, type DaemonStatus, type NotifyResult } from '../contracts/control.ts'
import { describeIssues, TurnbellError } from '../contracts/errors.ts'
import type { Json } from '../contracts/ids.ts'
import type { RpcHandlers, RpcParams } from '../ports/rpc.ts'

export interface ControlVerbs {
  status(): DaemonStatus
  notify_surface(): Promise<NotifyResult>
  resume_surface(): { accepted: boolean }
  /** Begins to stop; the answer leaves first. */
  shutdown(): void
}

export interface ControlOptions {
  identity: string
  verbs: ControlVerbs
  /** Somebody asked this socket about another persona. */
  onMismatch: (identity: string) => void
  onBug: (error: unknown, instance: string) => void
}

export function controlHandlers({ identity, verbs, onMismatch, onBug }: ControlOptions): RpcHandlers {
  return {
    onRequest(method, params) {
      const verb = ControlVerb.safeParse(method)
      if (!verb.success) {
        throw new TurnbellError('unknown_verb', {
          detail: `${JSON.stringify(method.slice(0, 64))} is not one of ${ControlVerb.options.join(', ')}`,
        })
      }
      const asked = identityIn(params)
      if (asked !== undefined && asked !== identity) {
        onMismatch(asked)
        throw new TurnbellError('identity_mismatch', {
          detail: `this socket is ${identity}'s, not ${asked}'s`,
        })
      }
      return answer(verb.data, verbs)
    },
    onClose() {},
    onBug,
  }
}

function identityIn(params: RpcParams): string | undefined {
  const parsed = ControlParams.safeParse(params)
  if (!parsed.success) {
    throw new TurnbellError('params_invalid', { detail: describeIssues(parsed.error, 'params') })
  }
  return parsed.data.identity
}

function answer(verb: ControlVerb, verbs: ControlVerbs): Json | Promise<Json> {
  switch (verb) {
    case 'status':
      return verbs.status()
    case 'notify_surface':
      return verbs.notify_surface().then((result) => result as Json)
    case 'resume_surface':
      return verbs.resume_surface()
    case 'shutdown':
      verbs.shutdown()
      return { stopping: true }
  }
}
