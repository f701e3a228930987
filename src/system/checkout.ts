/** What lies beside the build in a checkout, and is no part of the published package. */
import fs from 'node:fs'

/** The module at a path from the checkout's root; null where `built`, a file in its `dist/`, was installed. */
export async function loadFromCheckout(file: string, built: string): Promise<object | null> {
  const url = new URL(`../${file}`, built)
  return fs.existsSync(url) ? ((await import(url.href)) as object) : null
}
