/** What a person may not expect of the session that `turnbell run` is about to start. */
import type { ClientKind } from '../contracts/ids.ts'
import { joined } from '../system/joined.ts'
import type { Invocation } from './cli.ts'
import { isOutsideOf } from './outside-of.ts'

/** Sentences for people: the session works outside of the persona's project, or is its second one. */
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
          `${persona} belongs to ${place.project}, and this session works in ${place.cwd}: project memory of ${place.cwd} is not ${persona}'s.`,
        ]),
    ...((await isOpen(invocation, persona, surface))
      ? [
          `Another session of ${persona} is open. Both act as ${persona}; a signal goes to the one that takes it first.`,
        ]
      : []),
  ]
}

function outsideOfProject(
  { cli, config }: Invocation,
  persona: string,
): { project: string; cwd: string } | null {
  const { project, headless } = config().personas[persona] ?? {}
  // An agent without a window is joined where it works.
  if (project === undefined || headless === true) return null
  return isOutsideOf(project, cli.cwd) ? { project, cwd: cli.cwd } : null
}

async function isOpen(invocation: Invocation, persona: string, surface: ClientKind): Promise<boolean> {
  // Codex and opencode keep a session without a window; Claude Code is attached while one is open.
  if (surface !== 'claude-code') return joined(invocation.paths(persona).run_dir, surface).isJoined()
  const status = await invocation
    .control(persona)
    .status()
    .catch(() => null)
  return status?.surface.attached === true
}
