/** Programs of the product, each a bundle next to the one that loads it, so that each loads only what it needs. */
import path from 'node:path'
import { pathToFileURL } from 'node:url'

export interface Bundle {
  main(argv: string[]): Promise<void>
}
export type BundleName = 'cli' | 'hub' | 'daemon' | 'bridge' | 'hook'

/**
 * `folder` is the directory of the calling bundle. Throws what loading throws. The daemon is precompiled at build time,
 * because one is started for each persona.
 */
export async function loadBundle<B extends Bundle = Bundle>(folder: string, name: BundleName): Promise<B> {
  if (name === 'daemon') {
    const { loadProgram } = await import('./code-cache.ts')
    return loadProgram<B>(path.join(folder, 'daemon.cjs')).exports
  }
  // Written so that the bundler does not resolve the import.
  return (await import(pathToFileURL(path.join(folder, `${name}.js`)).href)) as B
}
