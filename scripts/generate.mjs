/** Runs generate.ts, which imports the product's own declarations, on Node without type stripping. */
import { build } from 'esbuild'
import { spawnSync } from 'node:child_process'

const { outputFiles } = await build({
  entryPoints: ['scripts/generate.ts'],
  write: false,
  bundle: true,
  platform: 'node',
  format: 'esm',
  packages: 'external',
  logLevel: 'warning',
})
// By way of standard input: nothing is left behind, and two runs cannot take each other's bundle.
process.exitCode =
  spawnSync(process.execPath, ['--input-type=module', '-', ...process.argv.slice(2)], {
    input: outputFiles[0].text,
    stdio: ['pipe', 'inherit', 'inherit'],
  }).status ?? 1
