/**
 * A persona is two things: an entry in this machine's config.yaml (what to start here) and a record at
 * the hub (who may be sent to). Adding writes the first, then asks for the second; a hub that is not
 * running takes configured personas in when it starts.
 */
import fs from 'node:fs'
import type { AcpSettings, PersonaSettings } from '../../contracts/config.ts'
import { TurnbellError } from '../../contracts/errors.ts'
import { RESERVED_IDENTITIES, SurfaceKind } from '../../contracts/ids.ts'
import type { Persona } from '../../contracts/registry.ts'
import { changeConfigFile, deleteInYaml, setInYaml } from '../../system/config-file.ts'
import { programPlace } from '../../system/config-layers.ts'
import { prepareHome } from '../../system/home.ts'
import { systemPlaces } from '../../system/places.ts'
import type { Cli, Invocation } from '../cli.ts'
import { daemonRuns } from '../control-client.ts'
import { placeFrom } from '../scope.ts'
import { commandWords } from './command-words.ts'
import { acpSettings, headlessSetting, requireKept, type KeptAgentOptions } from './kept-agent.ts'
import { addAtHub } from './listing.ts'
import { paneSettings, type PaneOptions, type SaidPane } from './pane.ts'

export interface AddOptions extends KeptAgentOptions, Omit<PaneOptions, 'surface'> {
  /** Of a persona that this machine knows: as it was. */
  surface?: SurfaceKind
  project?: string
  command?: string[]
  statusFile?: string
}

/** Only what was said: defaults belong to the program, not into a person's file. */
interface Settings {
  surface: SurfaceKind
  project?: string
  command?: { argv: string[]; status_file?: string }
  acp?: AcpSettings
  tmux?: SaidPane
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
  // Read before anything is written: a broken file must be mended by hand, not edited blindly.
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
        ? [`It is reached at ${settings.surface} from now on, no more at ${before.surface}.`]
        : []),
      persona === null
        ? 'No hub runs now; it will be registered when the next one starts.'
        : `The hub knows it: ${persona.state}.`,
      ...(settings.project !== undefined && systemPlaces(home).holdsHome(settings.project)
        ? [
            `${settings.project} holds a home of turnbell and is no project: what ${identity} remembers is kept with the hub.`,
          ]
        : []),
      daemonAdvice(identity, daemon_running, changed),
    ].join('\n'),
  )
}

function daemonAdvice(identity: string, running: boolean, changed: boolean): string {
  const by_hand = `\`turnbell daemon --persona ${identity}\``
  if (!running)
    return `A \`turnbell up\` that runs starts its daemon by itself; else \`turnbell up\`, or ${by_hand}.`
  if (!changed) return 'Its daemon runs.'
  const stop = `\`turnbell shutdown --persona ${identity}\``
  return `Its daemon still runs as before: a \`turnbell up\` that started it starts it anew; else ${stop}, then ${by_hand}.`
}

/** Says again what was said, and leaves alone what was not: adding a wrapped persona keeps its command. */
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
  const moved = before.surface !== settings.surface
  let changed = text
  if (before.command !== undefined && (moved || acp !== undefined))
    changed = deleteInYaml(changed, at('command'))
  const kept_otherwise = command !== undefined || settings.headless === true
  if (before.acp !== undefined && (moved || kept_otherwise)) changed = deleteInYaml(changed, at('acp'))
  if (before.tmux !== undefined && moved) changed = deleteInYaml(changed, at('tmux'))
  if (before.headless !== undefined && (moved || acp !== undefined))
    changed = deleteInYaml(changed, at('headless'))
  // Leave that was given to another agent is not this one's.
  const other_agent =
    acp === undefined ? before.acp !== undefined && kept_otherwise : !sameWords(acp, before.acp)
  if (before.permissions !== undefined && (moved || other_agent))
    changed = deleteInYaml(changed, at('permissions'))
  for (const [key, value] of Object.entries(settings)) changed = setInYaml(changed, at(key), value)
  for (const [key, value] of Object.entries(command ?? {})) {
    changed = setInYaml(changed, at('command', key), value)
  }
  if (acp !== undefined) changed = setInYaml(changed, at('acp', 'argv'), acp.argv)
  for (const [key, value] of Object.entries(tmux ?? {})) changed = setInYaml(changed, at('tmux', key), value)
  return changed
}

/** What was read of the file has its program by its whole path. */
const sameWords = (acp: AcpSettings, before: AcpSettings | undefined) =>
  JSON.stringify(acp.argv.map(programPlace)) === JSON.stringify(before?.argv)

/** Null where no hub runs; its next start makes up for it. */
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

function settingsOf(invocation: Invocation, identity: string, said: AddOptions): Settings {
  const { cli } = invocation
  if ((RESERVED_IDENTITIES as readonly string[]).includes(identity)) {
    throw usage(`The name ${identity} is reserved.`, 'Choose another name.')
  }
  const before = invocation.config().personas[identity]
  const surface = said.surface ?? before?.surface
  if (surface === undefined) {
    throw usage(
      `This machine knows no ${identity} yet, and it is not said where its agent can be reached.`,
      `Add --surface with one of ${SurfaceKind.options.join(', ')}.`,
    )
  }
  const options = { ...said, surface }
  const command = commandSettings(cli, options)
  const acp = acpSettings(options)
  const tmux = paneSettings(cli, options, before)
  const headless = headlessSetting(options)
  requireProgram(identity, { surface, command, acp }, before)
  const { permissions } = options
  if (permissions !== undefined) requireKept(options, before)
  if (options.project === '') throw usage('--project is empty.', 'Name a directory, or leave it out.')
  // An agent that is started must work somewhere.
  const settled = (acp === undefined && headless !== true) || before?.project !== undefined
  const named = options.project ?? (settled ? undefined : '.')
  const project = named === undefined ? undefined : placeFrom(cli, named)
  if (project !== undefined && !isDirectory(project)) {
    throw usage(`--project is no directory: ${project}`, 'Make it first, or correct the path.')
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

/** A persona of the surface command cannot be rung without a program. */
function requireProgram(
  identity: string,
  { surface, command, acp }: { [Key in 'surface' | 'command' | 'acp']: Settings[Key] | undefined },
  before: PersonaSettings | undefined,
): void {
  if (surface !== 'command' || command !== undefined || acp !== undefined) return
  const is_kept = before?.surface === 'command' && (before.command ?? before.acp) !== undefined
  if (is_kept) return
  throw usage(
    `--surface command needs the program that rings ${identity}, and none is named.`,
    "Add --command 'PROGRAM ARGUMENT…', or --acp 'PROGRAM ARGUMENT…' for an agent that its daemon keeps.",
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
      'Use --surface command, or leave them out.',
    )
  }
  if (command === undefined) {
    if (statusFile === undefined) return undefined
    throw usage('--status-file says when a command may be rung, but there is no --command.', 'Add --command.')
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
