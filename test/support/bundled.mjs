/** Node 20 runs no TypeScript: commands for developers bundle what they run first. */
import { build } from 'esbuild'
import fs from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '../..')
// Inside node_modules, so that packages left out of the bundles are found from there.
const cache = path.join(root, 'node_modules/.cache')

/**
 * Answers the folder with a bundle for each of these sources, by its name, which goes with `ending`. `name` is the command's;
 * `more` are further settings of esbuild.
 */
export async function bundled(name, sources, ending, more = {}) {
  fs.mkdirSync(cache, { recursive: true })
  const out = ending.removes(fs.mkdtempSync(path.join(cache, `turnbell-${name}-`)))
  await build({
    entryPoints: sources.map((source) => path.join(root, source)),
    outdir: out,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    packages: 'external',
    sourcemap: 'inline',
    logLevel: 'warning',
    ...more,
  })
  // Bundles are ES modules by the package.json beside them, as dist/ is by the project's own.
  fs.writeFileSync(path.join(out, 'package.json'), '{"type":"module"}')
  return out
}
