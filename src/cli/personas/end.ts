/**
 * The end of a persona on this machine. The hub first: from then on nothing brings it back by itself.
 * Then, for good, its settings: who starts what is configured must not find it any more. Last its daemon,
 * over the control socket and until it is gone, which may take its time.
 */
import path from 'node:path'
import * as z from 'zod'
import { TurnbellError } from '../../contracts/errors.ts'
import { Identity } from '../../contracts/ids.ts'
import { Persona } from '../../contracts/registry.ts'
import { changeConfigFile, deleteInYaml } from '../../system/config-file.ts'
import type { Invocation } from '../cli.ts'
import { personasOfHome } from './of-home.ts'
import { leavingOf, requireRemovable } from './leaving.ts'
import { daemonPid, describeStopped, stopDaemonIfAny, type Stopped } from '../stop-daemon.ts'

interface Ended {
  identity: string
  /** As the hub has it now; null where it never knew the persona. */
  persona: Persona | null
  /** Null where no daemon ran. */
  daemon: Stopped | null
  config_changed: boolean
}

export async function endPersona(
  invocation: Invocation,
  identity: string,
  how: 'wrap' | 'remove',
  force = false,
): Promise<void> {
  // What waits for one that rests is kept for its return.
  if (how === 'remove') await requireRemovable(invocation, await leavingOf(invocation, [identity]), force)
  // Looked up before the hub is told: the hub tells the daemon, which may be gone a moment later.
  const pid = await daemonPid(invocation, identity)
  const persona = await endAtHub(invocation, identity, how)
  const config_changed = how === 'remove' && (await forget(invocation, [identity]))
  const daemon = await stopDaemonIfAny(invocation, identity, pid)
  const ended: Ended = { identity, persona, daemon, config_changed }
  await invocation.out.result(ended, () => describeEnded(ended, how))
}

/**
 * Every persona of a project: at the hub and in the configuration in one step, then one daemon after the other.
 *
 * @throws the first refusal of a daemon to go, once all were told.
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
      : ended.map((one) => describeEnded(one, 'remove')).join('\n'),
  )
}

/** Those that this machine has configured for a project. */
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
    // One that was only ever configured can still be removed from this machine.
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
      ? `${identity} is wrapped: it takes no signals, what waits is kept. \`turnbell persona add ${identity} …\` brings it back.`
      : `${identity} is removed.`,
    daemon === null ? 'No daemon of it was running here.' : describeStopped(daemon),
    ...(config_changed ? ['Its settings are gone from the configuration.'] : []),
  ].join('\n')
}
