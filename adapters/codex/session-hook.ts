/**
 * The hook that the persona's own app-server runs at the start of every session, so that its output reaches the model.
 * It is passed as configuration of that one process; the person's files are not changed.
 *
 * Codex runs a hook only if its configuration contains the hook's hash as trusted. Only this hook is trusted here, and
 * only in this process: hooks of projects still need the person's own trust. The hash matches Codex 0.169.0 and
 * 0.171.0; a version that computes it differently asks the person about the hook.
 */
import { createHash } from 'node:crypto'

/** Codex's key for a hook that was passed as an argument. */
const KEY = '/<session-flags>/config.toml:session_start:0:0'

/** Returns the arguments of the app-server. `timeout_s` is the time after which Codex aborts the command. */
export function sessionHookArguments(command: string, timeout_s: number): string[] {
  const text = JSON.stringify(command)
  // JSON is TOML for strings.
  const hook = `{type="command",command=${text},timeout=${timeout_s}}`
  const trust = `{trusted_hash=${JSON.stringify(trustedHash(command, timeout_s))}}`
  return [
    ...['-c', `hooks.SessionStart=[{hooks=[${hook}]}]`],
    ...['-c', `hooks.state={${JSON.stringify(KEY)}=${trust}}`],
  ]
}

/** Returns the SHA-256 of the hook as JSON with sorted keys. */
function trustedHash(command: string, timeout: number): string {
  const hook = { async: false, command, timeout, type: 'command' }
  const form = JSON.stringify({ event_name: 'session_start', hooks: [hook] })
  return `sha256:${createHash('sha256').update(form).digest('hex')}`
}
