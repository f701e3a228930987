/** `npm run crash-points`: Node 20 runs no TypeScript, so what runs here is bundled first. */
import { build } from 'esbuild'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { commandOptions } from '../support/command-options.mjs'
import { createEnding } from '../support/ending.mjs'

const HELP = `usage: node test/crash-points/run.mjs [options]

  --seed N        of all chances (1)
  --points N      how many of the file calls, spread over all; all of them where it is left out
  --torn N        power cuts that tear what was not synced, at each point (2)
  --starts N      at how many points the start after the crash is itself crashed (8)

What a failure prints, to try it again:
  --from DIR      the recorded story
  --at N          the one file call
  --variant NAME  the one state that a crash there leaves

Records a hub at work, ends it at each of its file calls, and holds what the next start finds against what was true.
Prints the points and states tried. Exit 1 when one was wrong, 2 when there was nothing to try.
`

const { values } = commandOptions(HELP, {
  options: {
    seed: { type: 'string', default: '1' },
    points: { type: 'string' },
    torn: { type: 'string', default: '2' },
    starts: { type: 'string', default: '8' },
    at: { type: 'string' },
    variant: { type: 'string' },
    from: { type: 'string' },
  },
  numbers: { seed: 0, points: 0, torn: 0, starts: 0, at: 1 },
  directories: ['from'],
})

const root = path.resolve(import.meta.dirname, '../..')
process.chdir(root)

const ending = createEnding()
const out = ending.removes(fs.mkdtempSync(path.join(os.tmpdir(), 'turnbell-crash-points-')))

await build({
  entryPoints: ['main', 'slice', 'recorded-process'].map((name) => `test/crash-points/${name}.ts`),
  outdir: out,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  logLevel: 'error',
  // Bundled CommonJS packages still call require for Node's own modules.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
})

const { main } = await import(pathToFileURL(path.join(out, 'main.mjs')).href)
const programs = { recorded: path.join(out, 'recorded-process.mjs'), slice: path.join(out, 'slice.mjs') }
process.exitCode = await main(values, programs, ending)
