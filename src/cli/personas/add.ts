/**
 * Adds a persona: writes an entry to this machine's config.yaml, which decides what to start here, then adds a record at
 * the hub, which makes it a recipient. A hub that is not running adds configured personas when it starts.
 */
import fs from 'node:fs'
import type { AcpSettings, PersonaSettings } from '../../contracts/config.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { RESERVED_IDENTITIES, SurfaceKind } from '../../contracts/ids.ts'
import type { Persona } from '../../contracts/registry.ts'
import { changeConfigFile, deleteInYaml, setInYaml } from '../../system/config/edit-config-file.ts'
import { expandProgram } from '../../system/config/config-layers.ts'
import { prepareHome } from '../../system/config/home.ts'
import { systemPathInspector } from '../../system/files/path-inspector.ts'
import type { Cli, Invocation } from '../cli.ts'
import { daemonRuns } from '../control-client.ts'
import { placeFrom } from '../scope.ts'
import { commandWords } from './command-words.ts'
import { acpSettings, headlessSetting, requireKept, type KeptAgentOptions } from './kept-agent.ts'
import { addAtHub } from './persona-api.ts'
import { paneSettings, type PaneOptions, type PaneSettings } from './pane.ts'

export interface AddOptions extends KeptAgentOptions, Omit<PaneOptions, 'surface'> {
  /** Defaults to the surface of the configured persona. */
  surface?: SurfaceKind
  project?: string
  command?: string[]
  statusFile?: string
}

/** Only the given options. Defaults are not written to the user's file. */
interface Settings {
  surface: SurfaceKind
  project?: string
  command?: { argv: string[]; status_file?: string }
  acp?: AcpSettings
  tmux?: PaneSettings
  headless?: boolean
  permissions?: NonNullable<PersonaSettings['permissions']>
}

export async function addPersona(
  invocation: Invocation,
  identity: string,
  options: AddOptions,
): Promise<void> {
  const { home, out } = invocation
  const settings = settingsOf(invocation, identity, options)
  // Read before anything is written, because an invalid file must be fixed by hand.
  const before = invocation.config().personas[identity]
  prepareHome(home)
  const changed = await changeConfigFile(home.config, (text) => withPersona(text, identity, settings, before))
  const persona = await register(invocation, identity, settings)
  const daemon_running = await daemonRuns(invocation.control(identity))
  const result = {
    identity,
    ...settings,
    config: home.config,
    config_changed: changed,
    registered: persona !== null,
    persona,
    daemon_running,
  }
  await out.result(result, () =>
    [
      `${identity} is ${changed ? 'written to' : 'already in'} ${home.config}.`,
      ...(before !== undefined && before.surface !== settings.surface
        ? [`Its surface is now ${settings.surface}, and was ${before.surface}.`]
        : []),
      persona === null
        ? 'No hub runs; the next hub adds it when it starts.'
        : `Its state at the hub is ${persona.state}.`,
      ...(settings.project !== undefined && systemPathInspector(home).hasHome(settings.project)
        ? [
            `${settings.project} contains a home of turnbell and is not a project, so the memory of ${identity} is stored at the hub.`,
          ]
        : []),
      daemonAdvice(identity, daemon_running, changed),
    ].join('\n'),
  )
}

function daemonAdvice(identity: string, running: boolean, changed: boolean): string {
  const by_hand = `\`turnbell daemon --persona ${identity}\``
  if (!running)
    return `A running \`turnbell up\` starts its daemon; otherwise run \`turnbell up\` or ${by_hand}.`
  if (!changed) return 'Its daemon is running.'
  const stop = `\`turnbell shutdown --persona ${identity}\``
  return `Its daemon still has the old settings: the \`turnbell up\` that started it restarts it; otherwise run ${stop}, then ${by_hand}.`
}

/** Writes the given settings and keeps the others, so that adding a wrapped persona keeps its command. */
function withPersona(
  text: string,
  identity: string,
  { command, acp, tmux, ...settings }: Settings,
  before: PersonaSettings | undefined,
): string {
  const at = (...keys: string[]): [string, ...string[]] => ['personas', identity, ...keys]
  if (before === undefined) {
    const nested = { ...(command && { command }), ...(acp && { acp }), ...(tmux && { tmux }) }
    return setInYaml(text, at(), { ...settings, ...nested })
  }
  const surface_changed = before.surface !== settings.surface
  let changed = text
  if (before.command !== undefined && (surface_changed || acp !== undefined))
    changed = deleteInYaml(changed, at('command'))
  const replaces_acp = command !== undefined || settings.headless === true
  if (before.acp !== undefined && (surface_changed || replaces_acp))
    changed = deleteInYaml(changed, at('acp'))
  if (before.tmux !== undefined && surface_changed) changed = deleteInYaml(changed, at('tmux'))
  if (before.headless !== undefined && (surface_changed || acp !== undefined))
    changed = deleteInYaml(changed, at('headless'))
  // Permissions of another agent do not apply to the new one.
  const other_agent =
    acp === undefined ? before.acp !== undefined && replaces_acp : !sameWords(acp, before.acp)
  if (before.permissions !== undefined && (surface_changed || other_agent))
    changed = deleteInYaml(changed, at('permissions'))
  for (const [key, value] of Object.entries(settings)) changed = setInYaml(changed, at(key), value)
  for (const [key, value] of Object.entries(command ?? {})) {
    changed = setInYaml(changed, at('command', key), value)
  }
  if (acp !== undefined) changed = setInYaml(changed, at('acp', 'argv'), acp.argv)
  for (const [key, value] of Object.entries(tmux ?? {})) changed = setInYaml(changed, at('tmux', key), value)
  return changed
}

/** Compares resolved program paths, because those from the file are resolved already. */
const sameWords = (acp: AcpSettings, before: AcpSettings | undefined) =>
  JSON.stringify(acp.argv.map(expandProgram)) === JSON.stringify(before?.argv)

/** Returns null if no hub runs. The next hub adds the persona when it starts. */
async function register(
  invocation: Invocation,
  identity: string,
  settings: Settings,
): Promise<Persona | null> {
  try {
    return await addAtHub(invocation, identity, settings)
  } catch (error) {
    if (error instanceof TurnbellError && error.code === 'hub_unreachable') return null
    throw error
  }
}

function settingsOf(invocation: Invocation, identity: string, given: AddOptions): Settings {
  const { cli } = invocation
  if ((RESERVED_IDENTITIES as readonly string[]).includes(identity)) {
    throw usage(`The name ${identity} is reserved.`, 'Choose another name.')
  }
  const before = invocation.config().personas[identity]
  const surface = given.surface ?? before?.surface
  if (surface === undefined) {
    throw usage(
      `${identity} is not configured on this machine, and --surface is missing.`,
      `Add --surface with one of ${SurfaceKind.options.join(', ')}.`,
    )
  }
  const options = { ...given, surface }
  const command = commandSettings(cli, options)
  const acp = acpSettings(options)
  const tmux = paneSettings(cli, options, before)
  const headless = headlessSetting(options)
  requireProgram(identity, { surface, command, acp }, before)
  const { permissions } = options
  if (permissions !== undefined) requireKept(options, before)
  if (options.project === '') throw usage('--project is empty.', 'Name a directory, or omit it.')
  // An agent that the daemon starts needs a directory.
  const needs_none = (acp === undefined && headless !== true) || before?.project !== undefined
  const named = options.project ?? (needs_none ? undefined : '.')
  const project = named === undefined ? undefined : placeFrom(cli, named)
  if (project !== undefined && !isDirectory(project)) {
    throw usage(`--project is not a directory: ${project}`, 'Create the directory, or correct the path.')
  }
  return {
    surface,
    ...(project === undefined ? {} : { project }),
    ...(command === undefined ? {} : { command }),
    ...(acp === undefined ? {} : { acp }),
    ...(tmux === undefined ? {} : { tmux }),
    ...(headless === undefined ? {} : { headless }),
    ...(permissions === undefined ? {} : { permissions }),
  }
}

/** Throws `usage_invalid` for a persona of the surface command without a program. */
function requireProgram(
  identity: string,
  { surface, command, acp }: { [Key in 'surface' | 'command' | 'acp']: Settings[Key] | undefined },
  before: PersonaSettings | undefined,
): void {
  if (surface !== 'command' || command !== undefined || acp !== undefined) return
  const is_kept = before?.surface === 'command' && (before.command ?? before.acp) !== undefined
  if (is_kept) return
  throw usage(
    `--surface command requires the program that rings ${identity}.`,
    "Add --command 'PROGRAM ARGUMENT…', or --acp 'PROGRAM ARGUMENT…' for an agent that its daemon runs.",
  )
}

function commandSettings(
  cli: Pick<Cli, 'cwd'>,
  options: AddOptions & { surface: SurfaceKind },
): Settings['command'] {
  const { surface, command, statusFile } = options
  if (surface !== 'command' && (command !== undefined || statusFile !== undefined)) {
    throw usage(
      `--command and --status-file belong to the surface command, not to ${surface}.`,
      'Use --surface command, or omit them.',
    )
  }
  if (command === undefined) {
    if (statusFile === undefined) return undefined
    throw usage('--status-file requires --command.', 'Add --command.')
  }
  return {
    argv: commandWords(command),
    ...(statusFile === undefined ? {} : { status_file: placeFrom(cli, statusFile) }),
  }
}

function isDirectory(directory: string): boolean {
  return fs.statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true
}

const usage = (detail: string, hint: string) => new TurnbellError('usage_invalid', { detail, hint })
