/**
 * The shim of the `command` surface, started and supervised by the persona's daemon.
 *
 * It is told who it is by TURNBELL_HOME and TURNBELL_PERSONA (or --home and --persona); what to run
 * stands in config.yaml under personas.NAME.command.
 */
import fs from 'node:fs'
import path from 'node:path'
import { commandSurface } from './command-surface.ts'
import { shimProcess, type ShimParts } from '../shim-process.ts'
import { TurnbellError } from '../../src/contracts/errors.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import { systemClock } from '../../src/system/clock.ts'
import { killGroup, programAlive, programIs, startProgram } from '../../src/system/program.ts'
import { createIds, systemRandom } from '../../src/system/random.ts'
import type { ShimPlace } from '../../src/system/shim-place.ts'
import { readText, watchText } from '../../src/system/watch-text.ts'
import { replaceFile } from '../../src/system/replace-file.ts'

function begin({ home, identity, settings: persona, paths, log }: ShimPlace): ShimParts {
  const settings = persona?.command
  if (settings === undefined) {
    throw new TurnbellError('config_invalid', {
      detail: `${home.config} has no personas.${identity}.command`,
      hint: 'Name the program there: `command: {argv: [PROGRAM]}`.',
    })
  }
  const run_file = path.join(paths.run_dir, 'command.run')

  const surface = commandSurface({
    identity,
    settings,
    start: (argv, line, extra) =>
      startProgram({
        argv,
        line,
        env: { ...process.env, TURNBELL_HOME: home.root, ...extra },
        output_file: path.join(paths.run_dir, 'command.out'),
        output_bytes_max: LIMITS.command_output_bytes_max,
      }),
    alive: programAlive,
    is: programIs,
    killGroup,
    run_file: {
      read: () => readText(run_file),
      write: (text) => replaceFile(run_file, text),
      remove: () => fs.rmSync(run_file, { force: true }),
    },
    clock: systemClock,
    ids: createIds(systemClock, systemRandom),
    log,
  })

  if (settings.status_file !== undefined) {
    watchText(path.resolve(home.root, settings.status_file), (text) => surface.statusFileRead(text))
  }

  // A running program is left to finish its turn; the next shim takes it over.
  return { surface }
}

shimProcess('command-shim', begin)
