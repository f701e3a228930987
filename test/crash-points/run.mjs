/**
 * `node test/crash-points/run.mjs [--seed N] [--points N|all] [--torn N] [--starts N]`, and again for what has failed
 * `--from DIR --at K --variant NAME`. Node 20 runs no TypeScript, so what runs here is bundled first.
 */
import { build } from 'esbuild'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

const root = path.resolve(import.meta.dirname, '../..')
process.chdir(root)

const out = fs.mkdtempSync(path.join(os.tmpdir(), 'turnbell-crash-points-'))
process.on('exit', () => fs.rmSync(out, { recursive: true, force: true }))

await build({
  entryPoints: ['main', 'slice', 'recorded-process'].map((name) => `test/crash-points/${name}.ts`),
  outdir: out,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  logLevel: 'error',
  // Bundled CommonJS packages still call require for Node's own modules.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
})

const { main } = await import(pathToFileURL(path.join(out, 'main.mjs')).href)
await main(process.argv.slice(2), {
  recorded: path.join(out, 'recorded-process.mjs'),
  slice: path.join(out, 'slice.mjs'),
})
