/**
 * `npm run bench [-- NAME…]`. Node 20 runs no TypeScript, so the bench and the processes it starts
 * are bundled first, the hub exactly as build.mjs bundles the product's: both must be the same code.
 */
import { build } from 'esbuild'
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

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
]
const root = path.resolve(import.meta.dirname, '..')
const product = path.join(root, 'dist/turnbell.cjs')
process.chdir(root)

if (!fs.existsSync(product) || newest('src') > fs.statSync(product).mtimeMs) {
  // Beside sources that changed, the hub without sync would be another hub than the one in dist/.
  process.stderr.write('building dist/ first: it is missing or older than src/\n')
  const { status } = spawnSync(process.execPath, ['build.mjs'], { stdio: ['ignore', 2, 2] })
  if (status !== 0) process.exit(1)
}

// Inside node_modules, so that packages left out of the bundles are found from there.
const cache = path.join(root, 'node_modules/.cache')
fs.mkdirSync(cache, { recursive: true })
const out = fs.mkdtempSync(path.join(cache, 'turnbell-bench-'))
process.on('exit', () => fs.rmSync(out, { recursive: true, force: true }))

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
await main(process.argv.slice(2))

function newest(directory) {
  return fs
    .readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((latest, entry) => {
      return Math.max(latest, fs.statSync(path.join(entry.parentPath ?? entry.path, entry.name)).mtimeMs)
    }, 0)
}
