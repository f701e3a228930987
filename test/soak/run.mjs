/** `npm run soak`: Node 20 runs no TypeScript, so the driver is bundled first. See `main.ts` for what it takes. */
import { build } from 'esbuild'
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { createEnding } from '../support/ending.mjs'
import { freshProduct } from '../support/product.mjs'

const root = path.resolve(import.meta.dirname, '../..')
const ending = createEnding()

// Inside node_modules, so that packages left out of the bundle are found from there.
const cache = path.join(root, 'node_modules/.cache')
fs.mkdirSync(cache, { recursive: true })
const out = ending.removes(fs.mkdtempSync(path.join(cache, 'turnbell-soak-')))
await build({
  entryPoints: [path.join(root, 'test/soak/main.ts')],
  outdir: out,
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  packages: 'external',
  sourcemap: 'inline',
  logLevel: 'warning',
})
fs.writeFileSync(path.join(out, 'package.json'), '{"type":"module"}')

// Read when the driver is loaded; whoever names another build sees to it.
const own = process.env.TURNBELL_TEST_BIN === undefined
if (own) process.env.TURNBELL_TEST_BIN = path.join(root, 'dist/turnbell.cjs')
process.setSourceMapsEnabled(true)
const { main } = await import(pathToFileURL(path.join(out, 'main.js')).href)
process.exitCode = await main(process.argv.slice(2), ending, () => {
  if (own && !freshProduct()) process.exit(1)
})
