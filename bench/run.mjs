/**
 * `npm run bench [-- NAME…]`. Bundles the bench and its processes first, because Node 20 does not run TypeScript; with
 * the settings of build.mjs, because all hubs must have the same code.
 */
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundleSettings } from '../scripts/bundle-settings.mjs'
import { bundled } from '../test/support/command/bundled.mjs'
import { createEnding } from '../test/support/command/ending.mjs'
import { freshProduct } from '../test/support/command/product.mjs'

/** Programs that the bench starts as separate processes. */
const PROGRAMS = [
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
// The sources shared with the tests find the product relative to themselves; the bundle is in another folder.
process.env.TURNBELL_TEST_BIN = path.join(root, 'dist/turnbell.cjs')

const sources = ['bench/main.ts', ...PROGRAMS.map((name) => `bench/programs/${name}.ts`)]
const out = await bundled('bench', sources, ending, {
  ...bundleSettings,
  // All in one folder, independent of the source folder.
  entryNames: '[name]',
  define: { ...bundleSettings.define, 'globalThis.BENCH_ROOT': JSON.stringify(root) },
})

const { main } = await import(pathToFileURL(path.join(out, 'main.js')).href)
// If sources changed, the hub without sync would differ from the one in dist/.
await main(process.argv.slice(2), ending, () => {
  if (!freshProduct()) process.exit(1)
})
