/** `control.sock`: the four verbs for the operator of this persona. None of them sends or reads a signal. */
import { ControlParams, ControlVerb, type DaemonStatus, type NotifyResult } from '../contracts/control.ts'
import { describeIssues, TurnbellError } from '../contracts/errors/errors.ts'
import type { Json } from '../contracts/ids.ts'
import type { RpcHandlers, RpcParams } from '../ports/rpc.ts'

export interface ControlVerbs {
  status(): DaemonStatus
  notify_surface(): Promise<NotifyResult>
  resume_surface(): { accepted: boolean }
  /** Starts stopping the daemon; the response is sent first. */
  shutdown(): void
}

export interface ControlOptions {
  identity: string
  verbs: ControlVerbs
  /** Called when a request named another persona. */
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
      const other = identityIn(params)
      if (other !== undefined && other !== identity) {
        onMismatch(other)
        throw new TurnbellError('identity_mismatch', {
          detail: `this socket belongs to ${identity}, not to ${other}`,
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
