/** Bundles and runs generate.ts, which imports the product's declarations, because Node 20 does not run TypeScript. */
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
// Passed on standard input, so that no file remains and concurrent runs cannot interfere.
process.exitCode =
  spawnSync(process.execPath, ['--input-type=module', '-', ...process.argv.slice(2)], {
    input: outputFiles[0].text,
    stdio: ['pipe', 'inherit', 'inherit'],
  }).status ?? 1
