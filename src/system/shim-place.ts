/** Where a supervised shim stands: whose it is, what the configuration says of that persona, where its files are. */
import fs from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import type { Config, PersonaSettings } from '../contracts/config.ts'
import { TurnbellError } from '../contracts/errors.ts'
import { Identity } from '../contracts/ids.ts'
import type { Log } from '../ports/log.ts'
import { loadConfig } from './config.ts'
import { ensurePrivateDirectory, personaPaths, resolveHome, type Home, type PersonaPaths } from './home.ts'
import { stderrLog } from './stderr-log.ts'

export interface ShimPlace {
  home: Home
  config: Config
  identity: Identity
  /** Undefined for a persona that only the daemon's flags know. */
  settings: PersonaSettings | undefined
  paths: PersonaPaths
  log: Log
}

/**
 * From --home and --persona, else TURNBELL_HOME and TURNBELL_PERSONA. `name` is the shim's in the log.
 * @throws `config_invalid`
 */
export function shimPlace(name: string): ShimPlace {
  const text = { type: 'string' } as const
  const { values } = parseArgs({ args: process.argv.slice(2), options: { home: text, persona: text } })
  const home = resolveHome(process.env, values.home)
  const config = loadConfig(home.config, process.env)
  const persona = Identity.safeParse(values.persona ?? process.env['TURNBELL_PERSONA'])
  if (!persona.success) {
    throw new TurnbellError('config_invalid', {
      detail: 'TURNBELL_PERSONA names no persona',
      hint: 'A shim is started by its daemon: turnbell daemon --persona NAME.',
    })
  }
  const identity = persona.data
  const paths = personaPaths(home, config.tenant_id, identity, process.env)
  ensurePrivateDirectory(paths.run_dir)
  const log = stderrLog(config.log.level, { name, identity })
  return { home, config, identity, settings: config.personas[identity], paths, log }
}

/**
 * Where an agent works that its daemon starts by itself: the persona's `project`.
 * @throws `config_invalid` where it is not said, or is no directory.
 */
export function workingDirectory({
  home,
  identity,
  settings,
}: Pick<ShimPlace, 'home' | 'identity' | 'settings'>): string {
  const project = settings?.project
  const directory = project === undefined ? null : path.resolve(home.root, project)
  if (directory !== null && fs.statSync(directory, { throwIfNoEntry: false })?.isDirectory()) return directory
  throw new TurnbellError('config_invalid', {
    detail:
      directory === null
        ? `personas.${identity} has no \`project\`, so its agent has nowhere to work`
        : `personas.${identity}.project: ${directory} is no directory`,
    hint: `Name the directory in ${home.config}: \`personas: {${identity}: {project: /path/to/it}}\`.`,
  })
}
