/** Removes the trust of Codex in hooks of turnbell when they are disconnected. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { clientProgram, withoutOuterSession } from '../../system/clients/client-discovery.ts'
import type { Invocation } from '../cli.ts'
import { distrustHooks } from './codex-trust.ts'
import type { Connection } from './connection-record.ts'

/** If Codex is gone or does not answer, prints the keys to remove by hand, and the disconnect continues. */
export async function revokeTrust(invocation: Invocation, { trusted_hooks }: Connection): Promise<void> {
  if (trusted_hooks.length === 0) return
  try {
    // In the home, because the project may be gone and any directory works.
    await distrustHooks(codexAt(invocation, invocation.home.root), trusted_hooks)
  } catch (error) {
    if (!(error instanceof TurnbellError)) throw error
    const keys = trusted_hooks.map((key) => `  hooks.state.${JSON.stringify(key)}`).join('\n')
    invocation.out.note(
      `The trust in Codex could not be removed (${error.message}). Remove these keys from its config.toml by hand:\n${keys}`,
    )
  }
}

export function codexAt({ home, config, cli }: Invocation, project: string) {
  const codex = clientProgram('codex', { home, config: config(), env: cli.env })
  return { codex, env: withoutOuterSession(cli.env), clock: cli.clock, project }
}
