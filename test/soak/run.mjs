/** `npm run soak`: Node 20 runs no TypeScript, so the driver is bundled first. See `main.ts` for what it takes. */
import { build } from 'esbuild'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

const root = path.resolve(import.meta.dirname, '../..')
const product = path.join(root, 'dist/turnbell.cjs')

if (!fs.existsSync(product)) {
  process.stderr.write('building dist/ first: it is missing\n')
  const { status } = spawnSync(process.execPath, ['build.mjs'], { cwd: root, stdio: ['ignore', 2, 2] })
  if (status !== 0) process.exit(1)
}

// Inside node_modules, so that packages left out of the bundle are found from there.
const cache = path.join(root, 'node_modules/.cache')
fs.mkdirSync(cache, { recursive: true })
const out = fs.mkdtempSync(path.join(cache, 'turnbell-soak-'))
process.on('exit', () => fs.rmSync(out, { recursive: true, force: true }))
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

process.env.TURNBELL_TEST_BIN ??= product
process.setSourceMapsEnabled(true)
const { main } = await import(pathToFileURL(path.join(out, 'main.js')).href)
process.exitCode = await main(process.argv.slice(2))
