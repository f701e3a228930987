/** The command: a day of a team of real processes, and its figures. */
import { commandOptions, SEEDS } from '../support/command-options.mjs'
import type { Ending } from '../support/ending.mjs'
import type { SoakResult } from './figures.ts'
import { report } from './report.ts'
import { soak, type SoakOptions } from './soak.ts'

const MINUTES_MAX = 24 * 60
/** Two are watched and never killed: so one is left. */
const PERSONAS = { least: 3, most: 999 }
/** Ten a second: more of them, and nothing else happens. */
const KILLS = { from: 0, most: 600 }

const HELP = `usage: npm run soak -- [options]

  --minutes N           how long the day takes, above 0 to ${MINUTES_MAX} (30)
  --personas N          each with a daemon of its own, ${PERSONAS.least} to ${PERSONAS.most} (50)
  --seed N              of all chances (the time); who runs when is the machine's
  --kills-per-minute N  kill -9 and stops together, ${KILLS.from} to ${KILLS.most} (12)
  --dir DIR             where the temporary home is made

Says every 30 s on stderr how it goes, and prints the figures at the end, or those so far after Ctrl-C.
Exit 1 when a promise was broken; the home is kept then, and it is said where. Exit 2 for what makes no sense or tries
nothing: no signal was sent; 3 where the command itself could not go on.
`

/** Answers the exit code: see the help. `prepare` sees to what is started, once it is known that something will be. */
export async function main(argv: string[], ending: Ending, prepare: () => void): Promise<number> {
  const wanted = wantedIn(argv)
  prepare()
  process.stderr.write(`seed ${wanted.seed}\n`)
  let home: string | null = null
  const keepHome = () => {
    ending.keeps(home ?? '')
    process.stderr.write(`the home is kept: ${home}\n`)
  }
  const asked = `seed ${wanted.seed}, ${wanted.personas} personas, ${wanted.minutes} minutes`
  const result = await soak({
    ...wanted,
    say: (line) => process.stderr.write(`${line}\n`),
    onStarted(started) {
      home = ending.removes(started.home)
      // What still writes there is gone before it is removed.
      process.prependOnceListener('exit', started.killNow)
      ending.onInterrupt(() => {
        process.stdout.write(`${asked}, interrupted\n${report(started.figures())}`)
      })
    },
    onBroken: keepHome,
  }).catch((error: unknown) => {
    if (home === null) {
      process.stderr.write(
        `no home could be made: ${error instanceof Error ? error.message : String(error)}\n`,
      )
      return null
    }
    keepHome()
    throw error
  })
  if (result === null) return 2
  process.stdout.write(`${asked}\n${report(result)}`)
  const code = exitCode(result)
  if (code === 1) process.stdout.write(`the home is kept: ${result.home}\n`)
  if (code === 2)
    process.stderr.write('no signal was given a receipt, so nothing was tried: a day takes more --minutes\n')
  return code
}

/** Without a signal no promise was put to the test. */
export function exitCode({ broken, signals }: Pick<SoakResult, 'broken' | 'signals'>): 0 | 1 | 2 {
  if (broken.length > 0) return 1
  return signals.receipts === 0 ? 2 : 0
}

type Wanted = Pick<SoakOptions, 'minutes' | 'personas' | 'seed' | 'kills_per_minute' | 'directory'>

function wantedIn(argv: string[]): Wanted {
  const { values } = commandOptions(HELP, {
    argv,
    options: {
      minutes: { type: 'string', default: '30' },
      personas: { type: 'string', default: '50' },
      seed: { type: 'string' },
      'kills-per-minute': { type: 'string', default: '12' },
      dir: { type: 'string' },
    },
    numbers: {
      minutes: { above: 0, most: MINUTES_MAX },
      personas: PERSONAS,
      seed: SEEDS,
      'kills-per-minute': KILLS,
    },
    directories: ['dir'],
    places: { script: 'soak', names: ['dir'] },
  })
  return {
    ...{ minutes: values.minutes, personas: values.personas, kills_per_minute: values['kills-per-minute'] },
    seed: values.seed ?? Date.now() % SEEDS.most,
    ...(values.dir === undefined ? {} : { directory: values.dir }),
  }
}
