/** The app-server that the persona owns, with turnbell's MCP server in every thread. */
import { OWN_SERVER_PERSONA } from '../../src/contracts/codex-environment.ts'
import { DRAIN_TOOL } from '../../src/contracts/drain.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import { sessionHookArguments } from './session-hook.ts'

export interface OwnServerSettings {
  identity: string
  home: string
  node: string
  /** turnbell's program. */
  bin: string
  autostart: boolean
  /** Shell command that Codex runs when a session starts; its output contains the primer. */
  session_hook: string
}

/** The person's own configuration is not touched. */
export function appServerArguments(socket: string, settings: OwnServerSettings): string[] {
  const { identity, home, node, bin, autostart, session_hook } = settings
  const args = [bin, 'mcp', '--client', 'codex', '--persona', identity, '--home', home]
  // Codex gives its servers next to nothing of its environment, so what matters is said in words.
  if (!autostart) args.push('--no-autostart')
  const server = {
    command: node,
    args,
    [`tools.${DRAIN_TOOL}.approval_mode`]: 'approve',
    'tools.signals.approval_mode': 'approve',
  }
  // JSON is TOML for strings and lists of them.
  const words = Object.entries(server).flatMap(([key, value]) => [
    '-c',
    `mcp_servers.turnbell.${key}=${JSON.stringify(value)}`,
  ])
  // A plain `codex` that an agent starts would hand it on to the app-server that all terminals share.
  words.push('-c', `shell_environment_policy.set.${OWN_SERVER_PERSONA}=""`)
  words.push(...sessionHookArguments(session_hook, LIMITS.hook_timeout_ms / 1000))
  return ['app-server', ...words, '--listen', `unix://${socket}`]
}

/** Its hooks inherit this, and so know whose threads they are called for. */
export function appServerEnvironment(
  outer: NodeJS.ProcessEnv,
  { identity, home }: { identity: string; home: string },
): NodeJS.ProcessEnv {
  return {
    ...outer,
    TURNBELL_HOME: home,
    TURNBELL_PERSONA: identity,
    [OWN_SERVER_PERSONA]: identity,
  }
}
