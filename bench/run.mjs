/**
 * `npm run bench [-- NAME…]`. Node 20 runs no TypeScript, so the bench and the processes it starts
 * are bundled first, as build.mjs bundles the product: both hubs must be the same code.
 */
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundleSettings } from '../scripts/bundle-settings.mjs'
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

const sources = PROGRAMS.map((name) => `bench/${name}.ts`)
const out = await bundled('bench', sources, ending, {
  ...bundleSettings,
  define: { ...bundleSettings.define, 'globalThis.BENCH_ROOT': JSON.stringify(root) },
})

const { main } = await import(pathToFileURL(path.join(out, 'main.js')).href)
// Beside sources that changed, the hub without sync would be another hub than the one in dist/.
await main(process.argv.slice(2), ending, () => {
  if (!freshProduct()) process.exit(1)
})
