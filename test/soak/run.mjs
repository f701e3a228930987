/** `npm run soak`: Node 20 runs no TypeScript, so the driver is bundled first. See `main.ts` for what it takes. */
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundled } from '../support/bundled.mjs'
import { createEnding } from '../support/ending.mjs'
import { freshProduct } from '../support/product.mjs'

const root = path.resolve(import.meta.dirname, '../..')
const ending = createEnding()

const out = await bundled('soak', ['test/soak/main.ts'], ending)

// Read when the driver is loaded; whoever names another build sees to it.
const own = process.env.TURNBELL_TEST_BIN === undefined
if (own) process.env.TURNBELL_TEST_BIN = path.join(root, 'dist/turnbell.cjs')
process.setSourceMapsEnabled(true)
const { main } = await import(pathToFileURL(path.join(out, 'main.js')).href)
process.exitCode = await main(process.argv.slice(2), ending, () => {
  if (own && !freshProduct()) process.exit(3)
})
