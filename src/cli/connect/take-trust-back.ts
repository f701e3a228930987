/** Codex's trust in hooks of turnbell, taken back when they are disconnected. */
import { TurnbellError } from '../../contracts/errors.ts'
import { clientProgram, withoutOuterSession } from '../../system/clients.ts'
import type { Invocation } from '../cli.ts'
import { distrustHooks } from './codex-trust.ts'
import type { Connection } from './record.ts'

/** A Codex that is gone, or does not answer, must not keep a person connected: what stays is told by name. */
export async function takeTrustBack(invocation: Invocation, { trusted_hooks }: Connection): Promise<void> {
  if (trusted_hooks.length === 0) return
  try {
    // The project may be gone; any directory will do.
    await distrustHooks(codexAt(invocation, invocation.home.root), trusted_hooks)
  } catch (error) {
    if (!(error instanceof TurnbellError)) throw error
    const keys = trusted_hooks.map((key) => `  hooks.state.${JSON.stringify(key)}`).join('\n')
    invocation.out.note(
      `Codex could not be told to forget its trust (${error.message}). Take these out of its config.toml by hand:\n${keys}`,
    )
  }
}

export function codexAt({ home, config, cli }: Invocation, project: string) {
  const codex = clientProgram('codex', { home, config: config(), env: cli.env })
  return { codex, env: withoutOuterSession(cli.env), clock: cli.clock, project }
}
