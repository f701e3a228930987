/**
 * Wraps or removes personas. The hub is first, so that nothing reactivates the persona. A removal then deletes its
 * settings, so that nothing starts it. The daemon is last, because its stop may take time.
 */
import path from 'node:path'
import * as z from 'zod'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { Identity } from '../../contracts/ids.ts'
import { Persona } from '../../contracts/registry.ts'
import { changeConfigFile, deleteInYaml } from '../../system/config/edit-config-file.ts'
import type { Invocation } from '../cli.ts'
import { personasOfHome } from './of-home.ts'
import { leavingOf, requireRemovable } from './leaving.ts'
import { daemonPid, describeStopped, stopDaemonIfAny, type Stopped } from '../stop-daemon.ts'

interface Ended {
  identity: string
  /** State at the hub; null if the hub never knew the persona. */
  persona: Persona | null
  /** Null if no daemon ran. */
  daemon: Stopped | null
  config_changed: boolean
}

export async function endPersona(
  invocation: Invocation,
  identity: string,
  how: 'wrap' | 'remove',
  force = false,
): Promise<void> {
  // Wrapping keeps pending signals, so it needs no confirmation.
  if (how === 'remove') await requireRemovable(invocation, await leavingOf(invocation, [identity]), force)
  // Read before the call to the hub, because the hub may stop the daemon.
  const pid = await daemonPid(invocation, identity)
  const persona = await endAtHub(invocation, identity, how)
  const config_changed = how === 'remove' && (await forget(invocation, [identity]))
  const daemon = await stopDaemonIfAny(invocation, identity, pid)
  const ended: Ended = { identity, persona, daemon, config_changed }
  await invocation.out.result(ended, () => describeEnded(ended, how))
}

/**
 * Removes every persona of a project: all at the hub and in the configuration, then one daemon after the other. Throws the
 * first error of a daemon after all were requested to stop.
 */
export async function endProject(invocation: Invocation, directory: string, force: boolean): Promise<void> {
  const project = path.resolve(invocation.cli.cwd, directory)
  await requireRemovable(invocation, await leavingOf(invocation, configuredFor(invocation, project)), force)
  const running = new Map<string, number | null>()
  for (const identity of personasOfHome(invocation)) {
    running.set(identity, await daemonPid(invocation, identity))
  }
  const answer = z.object({ removed: z.array(Identity) })
  const { removed } = await invocation.hub().ask('projects', 'remove', { project }, answer)
  const configured = Object.keys(invocation.config().personas)
  await forget(invocation, removed)
  const ended: Ended[] = []
  const refused: unknown[] = []
  for (const identity of removed) {
    try {
      const daemon = await stopDaemonIfAny(invocation, identity, running.get(identity) ?? null)
      ended.push({ identity, persona: null, daemon, config_changed: configured.includes(identity) })
    } catch (error) {
      refused.push(error)
    }
  }
  if (refused.length > 0) throw refused[0]
  await invocation.out.result({ project, removed: ended }, () =>
    ended.length === 0
      ? `No persona belongs to ${project}.`
      : ended.map((persona) => describeEnded(persona, 'remove')).join('\n'),
  )
}

/** Returns the personas that this machine has configured for a project. */
function configuredFor(invocation: Invocation, project: string): string[] {
  const { personas } = invocation.config()
  return Object.keys(personas).filter((name) => personas[name]?.project === project)
}

async function endAtHub(
  invocation: Invocation,
  identity: string,
  how: 'wrap' | 'remove',
): Promise<Persona | null> {
  try {
    return await invocation.hub().ask('personas', how, { identity }, Persona)
  } catch (error) {
    // A persona that exists only in the configuration can still be removed.
    const unknown = error instanceof TurnbellError && error.code === 'target_unknown'
    if (unknown && how === 'remove' && invocation.config().personas[identity] !== undefined) return null
    throw error
  }
}

function forget({ home }: Invocation, identities: readonly string[]): Promise<boolean> {
  return changeConfigFile(home.config, (text) =>
    identities.reduce((left, identity) => deleteInYaml(left, ['personas', identity]), text),
  )
}

function describeEnded({ identity, daemon, config_changed }: Ended, how: 'wrap' | 'remove'): string {
  return [
    how === 'wrap'
      ? `${identity} is wrapped (retired): new signals are refused, and pending ones are kept. \`turnbell persona add ${identity} …\` reactivates it.`
      : `${identity} is removed.`,
    daemon === null ? 'Its daemon was not running here.' : describeStopped(daemon),
    ...(config_changed ? ['Its settings were removed from the configuration.'] : []),
  ].join('\n')
}
