/** Runs generate.ts, which imports the product's own declarations, on Node without type stripping. */
import { build } from 'esbuild'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'

const bundle = 'node_modules/.cache/generate.mjs'
fs.mkdirSync('node_modules/.cache', { recursive: true })
await build({
  entryPoints: ['scripts/generate.ts'],
  outfile: bundle,
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
  logLevel: 'warning',
})
process.exitCode =
  spawnSync(process.execPath, [bundle, ...process.argv.slice(2)], { stdio: 'inherit' }).status ?? 1
