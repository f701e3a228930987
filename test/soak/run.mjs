/**
 * Entry point of `npm run soak`. Bundles the driver first, because Node 20 does not run TypeScript. `main.ts` describes
 * the arguments, also of `npm run soak -- bad-days`, and `hostile/main.ts` those of `npm run soak -- hostile`.
 */
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundled } from '../support/command/bundled.mjs'
import { createEnding } from '../support/command/ending.mjs'
import { freshProduct } from '../support/command/product.mjs'

const root = path.resolve(import.meta.dirname, '../..')
const ending = createEnding()

const argv = process.argv.slice(2)
const is_hostile = argv[0] === 'hostile'
const sources = is_hostile
  ? ['test/soak/hostile/main.ts', 'test/soak/hostile/worker.ts']
  : ['test/soak/main.ts', 'test/soak/hostile/worker.ts']
const out = await bundled('soak', sources, ending)

// Read when the driver is loaded. Another build named in the environment is not rebuilt.
const own = process.env.TURNBELL_TEST_BIN === undefined
if (own) process.env.TURNBELL_TEST_BIN = path.join(root, 'dist/turnbell.cjs')
process.setSourceMapsEnabled(true)
const { main } = await import(pathToFileURL(path.join(out, 'main.js')).href)
process.exitCode = await main(is_hostile ? argv.slice(1) : argv, ending, () => {
  if (own && !freshProduct()) process.exit(3)
})
