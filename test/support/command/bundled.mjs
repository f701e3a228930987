/** Bundles the TypeScript sources of developer commands, because Node 20 does not run TypeScript. */
import fs from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '../../..')
// Inside node_modules, so that unbundled packages are resolved.
const cache = path.join(root, 'node_modules/.cache')

/**
 * Returns the folder that contains a bundle for each of these sources, by name; `ending` removes it. `name` is the name
 * of the command; `more` are additional esbuild settings. Never resolves while the command is ending.
 */
export async function bundled(name, sources, ending, more = {}) {
  // Loaded lazily, so that a command that rejects its options does not wait for it.
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
    // Otherwise esbuild would also report that it was interrupted.
    logLevel: 'silent',
  })
  let ready = false
  // An esbuild process that loses its parent prints a long error and may write while its files are being removed.
  ending.onInterrupt(async () => {
    if (!ready) process.stderr.write('ended during the preparation: nothing was tried\n')
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
  // The package.json next to them makes the bundles ES modules, as the project's package.json does for dist/.
  fs.writeFileSync(path.join(out, 'package.json'), '{"type":"module"}')
  return out
}
