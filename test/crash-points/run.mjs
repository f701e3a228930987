/** `npm run crash-points`: Node 20 runs no TypeScript, so what runs here is bundled first. */
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundled } from '../support/bundled.mjs'
import { commandOptions, SEEDS } from '../support/command-options.mjs'
import { partIn } from '../support/commit-part.mjs'
import { createEnding } from '../support/ending.mjs'

const HELP = `usage: npm run crash-points -- [options]

  --seed N        of all chances here (1); what the hub does is recorded anew each time, and never quite the same
  --points N      how many of the file calls, spread over all; all of them where it is left out, and with 0
                  only the starts
  --part I/N      one part of those points, such as 2/3 for every third from the second on
  --torn N        power cuts that tear what was not synced, at each point (2)
  --starts N      at how many points the start after the crash is itself crashed (8)
  --from DIR      a story that was kept, instead of a new one

What a failure prints, to try it again, of the story that it keeps:
  --at N          the one file call
  --variant NAME  the one state that a crash there leaves

Records a hub at work, ends it at each of its file calls, and holds what the next start finds against what was true.
Prints the points and states tried, after Ctrl-C those so far. Exit 1 when one was wrong, 2 for what makes no sense or
tries nothing, 3 where the command itself could not go on.
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
    // Each process that is recorded loads all of it: sooner from one file.
    packages: 'bundle',
    // A stack needs only the places.
    sourcesContent: false,
    // Bundled CommonJS packages still call require for Node's own modules.
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
