/** Runs the surface suite against the command adapter; the test simulates the agent program. */
import { commandSurface, type ProgramExit } from '../../adapters/command/command-surface.ts'
import { CommandSettings } from '../../src/contracts/config.ts'
import type { Doorbell } from '../../src/contracts/doorbell.ts'
import { silentLog } from '../../src/ports/log.ts'
import { systemClock } from '../../src/system/clock.ts'
import { createIds, systemRandom } from '../../src/system/random.ts'
import { atRest, fakeClock } from '../support/fakes/fake-clock.ts'
import { describeSurface, type PlaceMode } from '../suites/surface.suite.ts'

const ids = createIds(systemClock, systemRandom)

describeSurface('command with a status file', { takes: false, receipts: false }, async (host) => {
  const clock = fakeClock()
  let mode: PlaceMode = 'takes'
  const rung: string[] = []

  const surface = commandSurface({
    identity: 'ada',
    settings: CommandSettings.parse({ argv: ['ring'], status_file: 'status' }),
    start(_argv, line) {
      const ended = (code: number | null): ProgramExit => ({ code, reason: `exit code ${code}`, output: '' })
      if (mode === 'gone')
        return { pid: undefined, started: null, exited: Promise.resolve(ended(null)), kill() {} }
      if (mode === 'takes' || mode === 'duplicates' || mode === 'delays') {
        rung.push((JSON.parse(line) as Doorbell).text)
      }
      const exited =
        mode === 'delays'
          ? new Promise<ProgramExit>((resolve) => clock.after(1_500, () => resolve(ended(0))))
          : Promise.resolve(ended(mode === 'breaks' ? 1 : 0))
      return { pid: 1, started: 'then', exited: exited, kill() {} }
    },
    alive: () => false,
    is: () => false,
    killGroup() {},
    run_file: { read: () => null, write() {}, remove() {} },
    clock,
    ids,
    log: silentLog,
  })
  surface.open(host)
  surface.statusFileRead('idle')

  const write = async (word: string) => {
    surface.statusFileRead(word)
    await atRest()
  }
  return {
    surface,
    clock,
    mode: (next) => void (mode = next),
    rung: () => rung,
    beginTurn: () => write('busy\n'),
    endTurn: () => write('idle\n'),
    close: () => surface.close(),
  }
})
