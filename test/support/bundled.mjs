/** Node 20 runs no TypeScript: commands for developers bundle what they run first. */
import fs from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '../..')
// Inside node_modules, so that packages left out of the bundles are found from there.
const cache = path.join(root, 'node_modules/.cache')

/**
 * Answers the folder with a bundle for each of these sources, by its name, which goes with `ending`. `name` is the command's;
 * `more` are further settings of esbuild. Never answers a command that ends meanwhile.
 */
export async function bundled(name, sources, ending, more = {}) {
  // Loaded here: a command that refuses its options does not wait for it.
  const { context, formatMessages, stop } = await import('esbuild')
  fs.mkdirSync(cache, { recursive: true })
  const out = ending.removes(fs.mkdtempSync(path.join(cache, `turnbell-${name}-`)))
  const bundler = await context({
    absWorkingDir: root,
    entryPoints: sources.map((source) => path.join(root, source)),
    outdir: out,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    packages: 'external',
    sourcemap: 'inline',
    ...more,
    // By itself it would also say that it was interrupted.
    logLevel: 'silent',
  })
  let ready = false
  // A bundler that loses its parent says so at length, and may write what is removed with it.
  ending.onInterrupt(async () => {
    if (!ready) process.stderr.write('ended before all was prepared: nothing was tried\n')
    await bundler.cancel()
    await stop()
  })
  try {
    const { warnings } = await ending.unlessInterrupted(bundler.rebuild())
    for (const text of await formatMessages(warnings, { kind: 'warning' })) process.stderr.write(text)
    ready = true
  } finally {
    await bundler.dispose()
  }
  // Bundles are ES modules by the package.json beside them, as dist/ is by the project's own.
  fs.writeFileSync(path.join(out, 'package.json'), '{"type":"module"}')
  return out
}
