/**
 * The shim of the `command` surface, started and supervised by the persona's daemon.
 *
 * TURNBELL_HOME and TURNBELL_PERSONA (or --home and --persona) name the persona; the program is set in config.yaml
 * under personas.NAME.command.
 */
import fs from 'node:fs'
import path from 'node:path'
import { commandSurface } from './command-surface.ts'
import { runShim, type ShimParts } from '../shim-process.ts'
import { TurnbellError } from '../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import { systemClock } from '../../src/system/clock.ts'
import {
  killGroup,
  programAlive,
  programIs,
  startSurfaceCommand,
} from '../../src/system/process/surface-command.ts'
import { createIds, systemRandom } from '../../src/system/random.ts'
import type { ShimEnvironment } from '../../src/system/clients/shim-environment.ts'
import { readText, watchFile } from '../../src/system/files/watch-file.ts'
import { writeFileAtomic } from '../../src/system/files/atomic-write.ts'

function createParts({ home, identity, settings: persona, paths, log }: ShimEnvironment): ShimParts {
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
      startSurfaceCommand({
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
      write: (text) => writeFileAtomic(run_file, text),
      remove: () => fs.rmSync(run_file, { force: true }),
    },
    clock: systemClock,
    ids: createIds(systemClock, systemRandom),
    log,
  })

  if (settings.status_file !== undefined) {
    watchFile(path.resolve(home.root, settings.status_file), (text) => surface.statusFileRead(text))
  }

  // A running program finishes its turn; the next shim adopts it.
  return { surface }
}

runShim('command-shim', createParts)
