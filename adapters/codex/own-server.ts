/** Arguments and environment of the persona's own app-server, with turnbell's MCP server in every thread. */
import { OWN_SERVER_PERSONA } from '../../src/contracts/clients/codex.ts'
import { DRAIN_TOOL } from '../../src/contracts/drain-calls.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
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

/** Returns the arguments of the app-server. The person's own configuration files are not changed. */
export function appServerArguments(socket: string, settings: OwnServerSettings): string[] {
  const { identity, home, node, bin, autostart, session_hook } = settings
  const args = [bin, 'mcp', '--client', 'codex', '--persona', identity, '--home', home]
  // Passed as an argument, because Codex gives its MCP servers almost none of its environment.
  if (!autostart) args.push('--no-autostart')
  const server = {
    command: node,
    args,
    [`tools.${DRAIN_TOOL}.approval_mode`]: 'approve',
    'tools.signals.approval_mode': 'approve',
  }
  // JSON is TOML for strings and lists of them.
  const config_args = Object.entries(server).flatMap(([key, value]) => [
    '-c',
    `mcp_servers.turnbell.${key}=${JSON.stringify(value)}`,
  ])
  // Otherwise a plain `codex` started by an agent would pass it to the app-server that all terminals share.
  config_args.push('-c', `shell_environment_policy.set.${OWN_SERVER_PERSONA}=""`)
  config_args.push(...sessionHookArguments(session_hook, LIMITS.hook_timeout_ms / 1000))
  return ['app-server', ...config_args, '--listen', `unix://${socket}`]
}

/** Returns the environment of the app-server. Its hooks inherit it and read the persona from it. */
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
