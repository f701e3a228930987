/** Warnings about the session that `turnbell run` is about to start. */
import type { ClientKind } from '../contracts/ids.ts'
import { attachedUsers } from '../system/clients/attached-users.ts'
import type { Invocation } from './cli.ts'
import { isOutsideOf } from './outside-of.ts'

/** Returns sentences: the session works outside the persona's project, or is the persona's second session. */
export async function runNotes(
  invocation: Invocation,
  persona: string,
  surface: ClientKind,
): Promise<string[]> {
  const place = outsideOfProject(invocation, persona)
  return [
    ...(place === null
      ? []
      : [
          `The project of ${persona} is ${place.project}, but this session works in ${place.cwd} and uses the project memory there.`,
        ]),
    ...((await isOpen(invocation, persona, surface))
      ? [
          `Another session of ${persona} is open. Both act as ${persona}; each signal is delivered to the session that drains it first.`,
        ]
      : []),
  ]
}

function outsideOfProject(
  { cli, config }: Invocation,
  persona: string,
): { project: string; cwd: string } | null {
  const { project, headless } = config().personas[persona] ?? {}
  // The client joins a headless agent in the agent's own directory.
  if (project === undefined || headless === true) return null
  return isOutsideOf(project, cli.cwd) ? { project, cwd: cli.cwd } : null
}

async function isOpen(invocation: Invocation, persona: string, surface: ClientKind): Promise<boolean> {
  // Codex and opencode have a session without a window. Claude Code is attached only while a window is open.
  if (surface !== 'claude-code') return attachedUsers(invocation.paths(persona).run_dir, surface).isAttached()
  const status = await invocation
    .control(persona)
    .status()
    .catch(() => null)
  return status?.surface.attached === true
}
