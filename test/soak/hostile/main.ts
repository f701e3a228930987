/** The command `npm run soak -- hostile`: measures the cost of a hostile agent for others and checks its limits. */
import path from 'node:path'
import { commandOptions } from '../../support/command/command-options.mjs'
import type { Ending } from '../../support/command/ending.mjs'
import { ATTACKS } from './attacks.ts'
import { broken, hostile, MEMORY_MIB_MAX, report } from './hostile.ts'

const HELP = `usage: npm run soak -- hostile [options]

  --minutes N   duration of the attack, above 0 to 60 (2)
  --quiet N     seconds without the hostile agent before, 1 to 600 (20)
  --personas N  agents at work, 2 to 100 (10)
  --attacks A   only these, by prefixes of their names, separated by commas
  --dir DIR     parent directory of the temporary home

Starts a hub and agents that send to each other; measures them alone, then together with an agent that attacks the hub on
four connections with a valid token. Exit 1 if the hub died, used ${MEMORY_MIB_MAX} MiB or more, locked others out, or made their
sends too slow.
`

/** Returns the exit code, as described in the help. `prepare` builds the product. */
export async function main(argv: string[], ending: Ending, prepare: () => void): Promise<number> {
  const { values } = commandOptions(HELP, {
    argv,
    options: {
      minutes: { type: 'string', default: '2' },
      quiet: { type: 'string', default: '20' },
      personas: { type: 'string', default: '10' },
      attacks: { type: 'string' },
      dir: { type: 'string' },
    },
    numbers: {
      minutes: { above: 0, most: 60 },
      quiet: { least: 1, most: 600 },
      personas: { least: 2, most: 100 },
    },
    directories: ['dir'],
    places: { script: 'soak', names: ['dir'] },
  })
  const beginnings = values.attacks?.split(',') ?? ['']
  const named = ATTACKS.map(({ name }) => name).filter((name) =>
    beginnings.some((beginning) => name.startsWith(beginning)),
  )
  if (named.length === 0) {
    process.stderr.write(`no such attack; there are: ${ATTACKS.map(({ name }) => name).join(', ')}\n`)
    return 2
  }
  prepare()
  const result = await hostile({
    ...{ quiet_s: values.quiet, attack_s: values.minutes * 60, personas: values.personas, attacks: named },
    ...(values.dir === undefined ? {} : { directory: values.dir }),
    worker: path.join(import.meta.dirname, 'worker.js'),
    onStarted({ home, killNow }) {
      ending.removes(home)
      process.prependOnceListener('exit', killNow)
    },
  })
  process.stdout.write(report(result))
  const wrong = broken(result)
  if (wrong.length === 0) return 0
  for (const one of wrong) process.stdout.write(`BROKEN: ${one}\n`)
  ending.keeps(result.home)
  process.stdout.write(`the home is kept: ${result.home}\n`)
  return 1
}
