/** The app-server that the persona owns, with turnbell's MCP server in every thread. */
import path from 'node:path'
import { parse } from 'smol-toml'
import { OWN_SERVER_PERSONA } from '../../src/contracts/codex-environment.ts'
import { DRAIN_TOOL } from '../../src/contracts/drain.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import { sessionHookArguments } from './session-hook.ts'

const SHOWN = 'tool_output_token_limit'
/** Codex counts a token for four bytes, and cuts the middle out of what has more. */
const BYTES_PER_TOKEN = 4
/**
 * 128 KiB: more than the largest signal alone, which a drain brings however little it was asked for. Its payload is written
 * as JSON once, and grows by two fifths at most when it is made harmless.
 */
const SHOWN_TOKENS = LIMITS.drain_bytes_max / BYTES_PER_TOKEN

export interface OwnServerSettings {
  identity: string
  home: string
  node: string
  /** turnbell's program. */
  bin: string
  autostart: boolean
  /** Shell command that Codex runs when a session starts; its output contains the primer. */
  session_hook: string
  /** The person's `config.toml`, null where there is none. */
  theirs: string | null
}

/** The person's own configuration is not touched. */
export function appServerArguments(socket: string, settings: OwnServerSettings): string[] {
  const { identity, home, node, bin, autostart, session_hook, theirs } = settings
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
  if (!isSaid(SHOWN, theirs)) words.push('-c', `${SHOWN}=${SHOWN_TOKENS}`)
  return ['app-server', ...words, '--listen', `unix://${socket}`]
}

/** An argument would win over it. */
function isSaid(key: string, config: string | null): boolean {
  try {
    return Object.hasOwn(parse((config ?? '').replace(/^\uFEFF/, ''), { integersAsBigInt: 'asNeeded' }), key)
  } catch {
    // Codex does not start with what cannot be read, and says so itself.
    return false
  }
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

/** Where a plain `codex` listens for all its terminals. */
export function sharedSocket(codex_home: string): string {
  return path.join(codex_home, 'app-server-control', 'app-server-control.sock')
}
