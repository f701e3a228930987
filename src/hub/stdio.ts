/** `turnbell hub --stdio`: the hub itself serves one MCP client on stdin and stdout. */
import type { Readable, Writable } from 'node:stream'
import { TurnbellError } from '../contracts/errors.ts'
import { Identity } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'
import type { Ids } from '../ports/random.ts'
import { createBridge } from '../transports/bridge/bridge.ts'
import type { CallHere } from '../transports/bridge/calls-here.ts'
import { lastCheck, sayGoodbye } from '../transports/bridge/goodbye.ts'
import { personaRefusal } from '../transports/bridge/persona-check.ts'
import { stdioLines } from '../transports/bridge/stdio-lines.ts'
import { createUpstream } from '../transports/bridge/upstream.ts'
import { ownInstructions } from '../transports/bridge/own-instructions.ts'

export interface StdioOptions {
  /** As it is now; null while it is put together anew. */
  hub: () => { url: string; call: CallHere | null } | null
  persona: Identity
  /** Makes the persona with its first call, where there is none. */
  create: boolean
  /** The root of the hub's home, for people. */
  home: string
  /** The persona does not exist. */
  onRefused(refusal: TurnbellError): void
  operator_token: string
  version: string
  streams: { input: Readable; output: Writable }
  clock: Clock
  ids: Ids
  log: Log
  /** The client has gone. */
  onClose(): void
}

export function stdioPersona(name: string | undefined): Identity {
  const identity = Identity.safeParse(name)
  if (identity.success) return identity.data
  throw new TurnbellError('usage_invalid', {
    detail:
      name === undefined
        ? '--stdio: no persona is named.'
        : `--stdio: ${JSON.stringify(name)} is no persona's name.`,
    hint: 'Say for whom: `turnbell hub --stdio --persona NAME`, or set TURNBELL_PERSONA.',
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
          detail: 'The hub of this process begins anew, and waits for its disk',
          hint: 'Nothing was done. Call again in a while: it goes on by itself once the disk takes writes.',
        })
      return url
    },
    operatorToken: () => operator_token,
    here: () => hub()?.call ?? null,
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
    transport: stdioLines(streams.input, streams.output, {
      linger: { clock, within_ms: LIMITS.bridge_linger_ms },
    }),
    onClose: () => void lastCheck(upstream, LIMITS.bridge_wait_ms).then(leave),
  })

  /** Another hub of this home may follow, and must find nothing held by a client that is gone. */
  function leave(): void {
    let left = false
    const go = () => {
      if (!left) options.onClose()
      left = true
    }
    const late = clock.after(LIMITS.bridge_close_ms, go)
    void sayGoodbye(bridge, upstream, clock).then(() => {
      late.cancel()
      go()
    })
  }
}
