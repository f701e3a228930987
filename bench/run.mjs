/**
 * `npm run bench [-- NAME…]`. Node 20 runs no TypeScript, so the bench and the processes it starts
 * are bundled first, the hub exactly as build.mjs bundles the product's: both must be the same code.
 */
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundled } from '../test/support/bundled.mjs'
import { createEnding } from '../test/support/ending.mjs'
import { freshProduct } from '../test/support/product.mjs'

/** What the bench starts, each a process of its own. */
const PROGRAMS = [
  'main',
  'sender',
  'peer-sender',
  'echo',
  'journal-process',
  'hub-without-sync',
  'hub-with-blocking-sync',
  'hub-on-slow-disk',
  'hub-with-gc',
  'stored-process',
  'links',
  'bare-ws',
  'bare-hub',
]
const root = path.resolve(import.meta.dirname, '..')
const ending = createEnding()

const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'))
const sources = PROGRAMS.map((name) => `bench/${name}.ts`)
const out = await bundled('bench', sources, ending, {
  minifyWhitespace: true,
  minifySyntax: true,
  sourcemap: true,
  define: {
    'globalThis.TURNBELL_VERSION': JSON.stringify(version),
    'globalThis.BENCH_ROOT': JSON.stringify(root),
  },
})

const { main } = await import(pathToFileURL(path.join(out, 'main.js')).href)
// Beside sources that changed, the hub without sync would be another hub than the one in dist/.
await main(process.argv.slice(2), ending, () => {
  if (!freshProduct()) process.exit(1)
})
