/** Modules of a checkout that are not part of the published package. */
import fs from 'node:fs'

/**
 * Loads a module relative to the root of the checkout. Returns null in an installed package, where `built` is not in a
 * checkout's `dist/`.
 */
export async function loadFromCheckout(file: string, built: string): Promise<object | null> {
  const url = new URL(`../${file}`, built)
  return fs.existsSync(url) ? ((await import(url.href)) as object) : null
}
