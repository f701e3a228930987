/** The command: a day of a team of real processes, and its figures. */
import { parseArgs } from 'node:util'
import { needDirectory } from '../support/command-options.mjs'
import type { Ending } from '../support/ending.mjs'
import { report } from './report.ts'
import { soak, type SoakOptions } from './soak.ts'

const HELP = `usage: node test/soak/run.mjs [options]

  --minutes N           how long the day takes (30)
  --personas N          each with a daemon of its own (50)
  --seed N              of all chances (the time); who runs when is the machine's
  --kills-per-minute N  kill -9 and stops together (12)
  --dir DIR             where the temporary home is made

Says every 30 s on stderr how it goes, and prints the figures at the end, or those so far after Ctrl-C.
Exit 1 when a promise was broken; the home is kept then, and it is said where.
`

const OPTIONS = {
  minutes: { type: 'string', default: '30' },
  personas: { type: 'string', default: '50' },
  seed: { type: 'string' },
  'kills-per-minute': { type: 'string', default: '12' },
  dir: { type: 'string' },
  help: { type: 'boolean', default: false },
} as const

/** Ten a second: more of them, and nothing else happens. */
const KILLS_MAX = 600

/**
 * Answers the exit code: 0, or 1 where a promise was broken; 2 for what was not understood. `prepare` sees to what is
 * started, once it is known that something will be.
 */
export async function main(argv: string[], ending: Ending, prepare: () => void): Promise<number> {
  let wanted: Pick<SoakOptions, 'minutes' | 'personas' | 'seed' | 'kills_per_minute' | 'directory'> | null
  try {
    wanted = wantedIn(argv)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`)
    return 2
  }
  if (wanted === null) {
    process.stdout.write(HELP)
    return 0
  }
  prepare()
  process.stderr.write(`seed ${wanted.seed}\n`)
  let home = ''
  const keepHome = () => {
    ending.keeps(home)
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
    keepHome()
    throw error
  })
  process.stdout.write(`${asked}\n${report(result)}`)
  if (result.broken.length === 0) return 0
  process.stdout.write(`the home is kept: ${result.home}\n`)
  return 1
}

function wantedIn(argv: string[]) {
  const { values } = parseArgs({ args: argv, options: OPTIONS, strict: true })
  if (values.help) return null
  if (values.dir !== undefined) needDirectory('dir', values.dir)
  const number = (name: string, text: string, fits: (value: number) => boolean): number => {
    const value = Number(text)
    if (text.trim() === '' || !fits(value))
      throw new Error(`--${name}: ${JSON.stringify(text)} is no such number`)
    return value
  }
  const whole = Number.isSafeInteger
  return {
    minutes: number('minutes', values.minutes, (value) => value > 0 && value <= 24 * 60),
    personas: number('personas', values.personas, (value) => whole(value) && value >= 3 && value <= 999),
    seed: number('seed', values.seed ?? String(Date.now()), (value) => whole(value) && value >= 0),
    kills_per_minute: number(
      'kills-per-minute',
      values['kills-per-minute'],
      (value) => value >= 0 && value <= KILLS_MAX,
    ),
    ...(values.dir === undefined ? {} : { directory: values.dir }),
  }
}
