/** Entry point of `npm run crash-points`. Bundles the sources first, because Node 20 does not run TypeScript. */
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundled } from '../support/command/bundled.mjs'
import { commandOptions, SEEDS } from '../support/command/command-options.mjs'
import { partIn } from '../support/command/commit-part.mjs'
import { createEnding } from '../support/command/ending.mjs'

const HELP = `usage: npm run crash-points -- [options]

  --seed N        seed of random choices (1); the hub is recorded again each time, with small differences
  --points N      number of file calls to crash at, spread over all (all); with 0 only the starts
  --part I/N      one part of those points, such as 2/3 for every third from the second on
  --torn N        power cuts that keep a part of the unsynced data, at each point (2)
  --starts N      number of points at which the next start is crashed, too (8)
  --from DIR      use a stored story instead of a new one

Options printed by a failure, to repeat it with its stored story:
  --at N          the file call
  --variant NAME  the state after the crash

Records a hub at work, crashes it at each of its file calls, and compares the state after the next start with the states
that existed. Prints the tried points and states, also after Ctrl-C. Exit 1 if a state was wrong, 2 for invalid arguments
or if nothing was tried, 3 if the command itself failed.
`

const { values } = commandOptions(HELP, {
  options: {
    seed: { type: 'string', default: '1' },
    points: { type: 'string' },
    part: { type: 'string' },
    torn: { type: 'string', default: '2' },
    starts: { type: 'string' },
    at: { type: 'string' },
    variant: { type: 'string' },
    from: { type: 'string' },
  },
  numbers: { seed: SEEDS, points: 0, torn: 0, starts: 0, at: 1 },
  directories: ['from'],
  places: { script: 'crash-points', names: ['from'] },
  check({ points, part, starts, at, variant, from }) {
    if (part !== undefined) partIn(part)
    if (part !== undefined && at !== undefined)
      throw new Error('--at is the one point: it goes with no --part')
    if (variant !== undefined && at === undefined)
      throw new Error('--variant is a state of one point: it needs --at')
    if (at !== undefined && (points !== undefined || starts !== undefined))
      throw new Error('--at is the one point: it goes with no --points or --starts')
    if (at !== undefined && from === undefined)
      throw new Error(
        '--at is a point of a story that was kept, and the next one has others: it needs --from',
      )
    if (points === 0 && starts === 0) throw new Error('--points and --starts are both 0: that tries nothing')
  },
})

const ending = createEnding()
const programs = ['main', 'slice', 'recorded-process']
const out = await bundled(
  'crash-points',
  programs.map((name) => `test/crash-points/${name}.ts`),
  ending,
  {
    // Each recorded process loads all packages, which is faster from one file.
    packages: 'bundle',
    // Stack traces need only the positions.
    sourcesContent: false,
    // Bundled CommonJS packages call require for Node's modules.
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
  },
)

process.setSourceMapsEnabled(true)
const [main_file, slice, recorded] = programs.map((name) => path.join(out, `${name}.js`))
const { main } = await import(pathToFileURL(main_file).href)
const command = `node ${path.relative('', import.meta.filename)}`
process.exitCode = await main(values, { command, slice, recorded }, ending)
