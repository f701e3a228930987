/** The `soak` command: simulates a day of a team of real processes and prints the figures. */
import path from 'node:path'
import { commandOptions, SEEDS } from '../support/command/command-options.mjs'
import type { Ending } from '../support/command/ending.mjs'
import type { SoakResult } from './figures.ts'
import { report } from './report.ts'
import { soak, type SoakOptions } from './soak.ts'

const MINUTES_MAX = 24 * 60
/** Minimum: two are measured and never killed, which leaves one. */
const PERSONAS = { least: 3, most: 999 }
/** Maximum: ten per second, beyond which no other work is done. */
const KILLS = { from: 0, most: 600 }

/** Faults per minute, with the same maximum. */
const FAULTS_PER_MINUTE = { from: 0, most: 600 }
const BAD_DAYS = 'bad-days'

const HELP = `usage: npm run soak -- [${BAD_DAYS}] [options]

  --minutes N           length of the day, above 0 to ${MINUTES_MAX} (30; bad days 10)
  --personas N          personas, each with its daemon, ${PERSONAS.least} to ${PERSONAS.most} (50; bad days 12)
  --seed N              seed of all random choices (the time); the scheduling is the machine's
  --kills-per-minute N  kills (-9) and suspensions together, ${KILLS.from} to ${KILLS.most} (12)
  --faults-per-minute N only on bad days, ${FAULTS_PER_MINUTE.from} to ${FAULTS_PER_MINUTE.most} (12)
  --dir DIR             parent directory of the temporary home

Bad days add faults of the machine and of callers, several at a time: a full or read-only disk (as root; otherwise these
are reported as left out), clock changes, deleted directories, bursts, unauthenticated callers, and a hostile agent.
Prints its progress every 30 s on stderr, and the figures at the end, or those so far after Ctrl-C.
Exit 1 if a promise was broken; the home is then kept and its path printed. Exit 2 for invalid arguments or if no signal
was sent; 3 if the command itself failed.
`

/** Returns the exit code, as described in the help. `prepare` builds the product after the arguments are validated. */
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
    ...(wanted.faults_per_minute === null
      ? {}
      : {
          faults: {
            per_minute: wanted.faults_per_minute,
            worker: path.join(import.meta.dirname, 'hostile/worker.js'),
          },
        }),
    say: (line) => process.stderr.write(`${line}\n`),
    onStarted(started) {
      home = ending.removes(started.home)
      // Processes that still write are killed before their files are removed.
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
    process.stderr.write('no signal received a receipt, so nothing was tried: use more --minutes\n')
  return code
}

/** A run without a signal has tested no promise. */
export function exitCode({ broken, signals }: Pick<SoakResult, 'broken' | 'signals'>): 0 | 1 | 2 {
  if (broken.length > 0) return 1
  return signals.receipts === 0 ? 2 : 0
}

interface Wanted extends Pick<
  SoakOptions,
  'minutes' | 'personas' | 'seed' | 'kills_per_minute' | 'directory'
> {
  /** Null on an ordinary day. */
  faults_per_minute: number | null
}

function wantedIn(argv: string[]): Wanted {
  const is_bad = argv[0] === BAD_DAYS
  const [minutes, personas] = is_bad ? ['10', '12'] : ['30', '50']
  const { values } = commandOptions(HELP, {
    argv: is_bad ? argv.slice(1) : argv,
    options: {
      minutes: { type: 'string', default: minutes },
      personas: { type: 'string', default: personas },
      seed: { type: 'string' },
      'kills-per-minute': { type: 'string', default: '12' },
      ...(is_bad ? { 'faults-per-minute': { type: 'string', default: '12' } } : {}),
      dir: { type: 'string' },
    },
    numbers: {
      minutes: { above: 0, most: MINUTES_MAX },
      personas: PERSONAS,
      seed: SEEDS,
      'kills-per-minute': KILLS,
      'faults-per-minute': FAULTS_PER_MINUTE,
    },
    directories: ['dir'],
    places: { script: 'soak', names: ['dir'] },
  })
  return {
    ...{ minutes: values.minutes, personas: values.personas, kills_per_minute: values['kills-per-minute'] },
    faults_per_minute: values['faults-per-minute'] ?? null,
    seed: values.seed ?? Date.now() % SEEDS.most,
    ...(values.dir === undefined ? {} : { directory: values.dir }),
  }
}
