/**
 * The shim of the `command` surface, started and supervised by the persona's daemon.
 *
 * It is told who it is by TURNBELL_HOME and TURNBELL_PERSONA (or --home and --persona); what to run
 * stands in config.yaml under personas.NAME.command.
 */
import fs from 'node:fs'
import path from 'node:path'
import { commandSurface } from './command-surface.ts'
import { attachShim } from '../shim.ts'
import { TurnbellError } from '../../src/contracts/errors.ts'
import { exitCodeOf } from '../../src/contracts/exit-codes.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import { systemClock } from '../../src/system/clock.ts'
import { connectLocally } from '../../src/system/local-socket.ts'
import { leaveWithParent } from '../../src/system/parent.ts'
import { printProblem } from '../../src/system/problem-output.ts'
import { shimPlace } from '../../src/system/shim-place.ts'
import { killGroup, programAlive, startProgram } from '../../src/system/program.ts'
import { createIds, systemRandom } from '../../src/system/random.ts'
import { readText, watchText } from '../../src/system/watch-text.ts'

function main(): void {
  const { home, identity, settings: persona, paths, log } = shimPlace('command-shim')
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
        output_bytes_max: LIMITS.command_output_bytes_max,
      }),
    alive: programAlive,
    killGroup,
    run_file: {
      read: () => readText(run_file),
      write: (text) => fs.writeFileSync(run_file, text, { mode: 0o600 }),
      remove: () => fs.rmSync(run_file, { force: true }),
    },
    clock: systemClock,
    ids: createIds(systemClock, systemRandom),
    log,
  })

  const leaveIfOrphaned = leaveWithParent()

  const shim = attachShim({
    surface,
    dial: (handlers) => connectLocally(paths.surface_socket, handlers),
    clock: systemClock,
    log,
    onDetached: leaveIfOrphaned,
  })
  surface.open(shim)
  if (settings.status_file !== undefined) {
    watchText(path.resolve(home.root, settings.status_file), (text) => surface.statusFileRead(text))
  }

  // A running program is left to finish its turn; the next shim takes it over.
  for (const os_signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(os_signal, () => {
      surface.close()
      shim.close()
      process.exit(0)
    })
  }
}

try {
  main()
} catch (error) {
  printProblem(error, false)
  process.exit(exitCodeOf(error))
}
