/**
 * `npm run bench [-- NAME…]`. Node 20 runs no TypeScript, so the bench and the processes it starts
 * are bundled first, the hub exactly as build.mjs bundles the product's: both must be the same code.
 */
import { build } from 'esbuild'
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
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
  'hub-on-slow-disk',
  'hub-with-gc',
  'stored-process',
  'links',
  'bare-ws',
  'bare-hub',
]
const root = path.resolve(import.meta.dirname, '..')
process.chdir(root)
const ending = createEnding()

// Inside node_modules, so that packages left out of the bundles are found from there.
const cache = path.join(root, 'node_modules/.cache')
fs.mkdirSync(cache, { recursive: true })
const out = ending.removes(fs.mkdtempSync(path.join(cache, 'turnbell-bench-')))

const { version } = JSON.parse(fs.readFileSync('package.json', 'utf8'))
await build({
  entryPoints: PROGRAMS.map((name) => `bench/${name}.ts`),
  outdir: out,
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  packages: 'external',
  minifyWhitespace: true,
  minifySyntax: true,
  sourcemap: true,
  logLevel: 'warning',
  define: { 'globalThis.TURNBELL_VERSION': JSON.stringify(version) },
})
// Bundles are ES modules by the package.json beside them, as dist/ is by the project's own.
fs.writeFileSync(path.join(out, 'package.json'), '{"type":"module"}')

const { main } = await import(pathToFileURL(path.join(out, 'main.js')).href)
// Beside sources that changed, the hub without sync would be another hub than the one in dist/.
await main(process.argv.slice(2), () => {
  if (!freshProduct()) process.exit(1)
})
