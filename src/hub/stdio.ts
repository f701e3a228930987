/** `turnbell hub --stdio`: the hub itself serves one MCP client on stdin and stdout. */
import type { Readable, Writable } from 'node:stream'
import { TurnbellError } from '../contracts/errors/errors.ts'
import { Identity } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import type { Ids } from '../ports/random.ts'
import { createBridge } from '../bridge/bridge.ts'
import type { InProcessCall } from '../bridge/in-process-calls.ts'
import { finalPersonaCheck, settleAndEndSession } from '../bridge/shutdown.ts'
import { personaRefusal } from '../bridge/persona-check.ts'
import { StdioLines } from '../bridge/stdio/stdio-lines.ts'
import { createUpstream } from '../bridge/hub/upstream.ts'
import { ownInstructions } from '../bridge/own-instructions.ts'

export interface StdioOptions {
  /** Returns the running hub; null during a restart. */
  hub: () => { url: string; call: InProcessCall | null } | null
  persona: Identity
  /** Creates the persona with its first call if it does not exist. */
  create: boolean
  /** Root of the hub's home, for messages. */
  home: string
  /** The persona does not exist. */
  onRefused(refusal: TurnbellError): void
  operator_token: string
  version: string
  streams: { input: Readable; output: Writable }
  clock: Clock
  ids: Ids
  log: Log
  /** The client has disconnected. */
  onClose(): void
}

export function stdioPersona(name: string | undefined): Identity {
  const identity = Identity.safeParse(name)
  if (identity.success) return identity.data
  throw new TurnbellError('usage_invalid', {
    detail:
      name === undefined
        ? '--stdio needs a persona.'
        : `--stdio: ${JSON.stringify(name)} is not a valid persona name.`,
    hint: 'Use `turnbell hub --stdio --persona NAME`, or set TURNBELL_PERSONA.',
  })
}

export function serveOverStdio(options: StdioOptions): void {
  const { hub, persona, operator_token, version, streams, clock, ids, log } = options
  const run = `mcp-${ids.next()}`
  const session_id = () => run
  const upstream = createUpstream({
    ...{ identity: persona, session_id, version, clock, log, query: '' },
    locate() {
      const { url } = hub() ?? {}
      if (url === undefined)
        throw new TurnbellError('hub_not_ready', {
          detail: 'The hub of this process restarts once its disk is writable; nothing was changed.',
          hint: 'Call again later.',
        })
      return url
    },
    operatorToken: () => operator_token,
    inProcess: () => hub()?.call ?? null,
    ...(options.create
      ? {}
      : {
          unknownPersona: personaRefusal({ identity: persona, home: options.home }, (refusal) =>
            options.onRefused(refusal),
          ),
        }),
  })
  const bridge = createBridge({
    ...{
      upstream,
      session_id,
      instructions: ownInstructions({ identity: persona, upstream, clock }),
      version,
      clock,
      ids,
      log,
    },
    transport: new StdioLines(streams.input, streams.output, {
      linger: { clock, within_ms: LIMITS.bridge_linger_ms },
    }),
    onClose: () => void finalPersonaCheck(upstream, LIMITS.bridge_wait_ms).then(leave),
  })

  /** Ends the session first; otherwise the next hub of this home would find leases of a client that is gone. */
  function leave(): void {
    let left = false
    const go = () => {
      if (!left) options.onClose()
      left = true
    }
    const late = clock.after(LIMITS.bridge_close_ms, go)
    void settleAndEndSession(bridge, upstream, clock).then(() => {
      late.cancel()
      go()
    })
  }
}
