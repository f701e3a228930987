/**
 * Loads the fixtures into a hub that runs from `dist/`, which cannot read TypeScript: they are bundled on demand into a
 * file next to the packages that they share with the hub.
 */
import { build } from 'esbuild'
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

const root = path.resolve(import.meta.dirname, '../..')
const cache = path.join(root, 'node_modules/.cache')
fs.mkdirSync(cache, { recursive: true })
// Several hubs may start at once.
const folder = fs.mkdtempSync(path.join(cache, 'conformance-'))
const outfile = path.join(folder, 'fixtures.mjs')

let bundle
try {
  await build({
    entryPoints: [path.join(import.meta.dirname, 'fixtures.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'warning',
  })
  bundle = await import(pathToFileURL(outfile).href)
} finally {
  fs.rmSync(folder, { recursive: true, force: true })
}

export const { extend } = bundle
