/** The product's programs, each a bundle beside the one that starts it, so that each loads only what it needs. */
import path from 'node:path'
import { pathToFileURL } from 'node:url'

export interface Bundle {
  main(argv: string[]): Promise<void>
}
export type BundleName = 'cli' | 'hub' | 'daemon' | 'bridge'

/**
 * `folder` is that of the bundle that asks. Throws what loading it throws. A daemon is started for each persona, and
 * starts must be quick: it was compiled when it was built.
 */
export async function loadBundle(folder: string, name: BundleName): Promise<Bundle> {
  if (name === 'daemon') {
    const { loadProgram } = await import('./code-cache.ts')
    return loadProgram<Bundle>(path.join(folder, 'daemon.cjs')).exports
  }
  // Made so that the bundler leaves the import alone.
  return (await import(pathToFileURL(path.join(folder, `${name}.js`)).href)) as Bundle
}
