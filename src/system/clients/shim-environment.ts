/** Environment of a supervised shim: its persona, configuration and files. */
import fs from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import type { Config, PersonaSettings } from '../../contracts/config.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { Identity } from '../../contracts/ids.ts'
import type { Log } from '../../ports/log.ts'
import { loadConfig } from '../config/config.ts'
import {
  ensurePrivateDirectory,
  personaPaths,
  resolveHome,
  type Home,
  type PersonaPaths,
} from '../config/home.ts'
import { stderrLog } from '../files/json-log.ts'

export interface ShimEnvironment {
  home: Home
  config: Config
  identity: Identity
  /** Undefined for a persona that is defined only by the daemon's flags. */
  settings: PersonaSettings | undefined
  paths: PersonaPaths
  log: Log
}

/**
 * Reads --home and --persona, or TURNBELL_HOME and TURNBELL_PERSONA. `name` is the shim's name in the log.
 * @throws `config_invalid`
 */
export function shimEnvironment(name: string): ShimEnvironment {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ args: process.argv.slice(2), options: { home: text, persona: text } })
  const home = resolveHome(process.env, values.home)
  const config = loadConfig(home.config, process.env)
  const persona = Identity.safeParse(values.persona ?? process.env['TURNBELL_PERSONA'])
  if (!persona.success) {
    throw new TurnbellError('config_invalid', {
      detail: 'TURNBELL_PERSONA is not the name of a persona',
      hint: 'Start the daemon, which starts the shim: turnbell daemon --persona NAME.',
    })
  }
  const identity = persona.data
  const paths = personaPaths(home, config.tenant_id, identity, process.env)
  ensurePrivateDirectory(paths.run_dir)
  const log = stderrLog(config.log.level, { name, identity })
  return { home, config, identity, settings: config.personas[identity], paths, log }
}

/**
 * Returns the persona's `project`, the working directory of an agent that its daemon starts.
 * @throws `config_invalid` if it is not set or not a directory.
 */
export function workingDirectory({
  home,
  identity,
  settings,
}: Pick<ShimEnvironment, 'home' | 'identity' | 'settings'>): string {
  const project = settings?.project
  const directory = project === undefined ? null : path.resolve(home.root, project)
  if (directory !== null && fs.statSync(directory, { throwIfNoEntry: false })?.isDirectory()) return directory
  throw new TurnbellError('config_invalid', {
    detail:
      directory === null
        ? `personas.${identity} has no \`project\`, so its agent has nowhere to work`
        : `personas.${identity}.project: ${directory} is not a directory`,
    hint: `Name the directory in ${home.config}: \`personas: {${identity}: {project: /path/to/it}}\`.`,
  })
}
