/** Bundles one module of the product with its imports into a file that a child process can run. */
import { build } from 'esbuild'
import path from 'node:path'

const REQUIRE =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);"

/** `entry` is relative to the repository. Returns the file, placed in `directory`. */
export async function bundle(entry: string, directory: string): Promise<string> {
  const outfile = path.join(directory, `${path.basename(entry, '.ts')}.mjs`)
  await build({
    entryPoints: [path.join(import.meta.dirname, '../../..', entry)],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    logLevel: 'error',
    banner: { js: REQUIRE },
  })
  return outfile
}
