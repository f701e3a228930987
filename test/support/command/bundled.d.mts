import type { BuildOptions } from 'esbuild'
import type { Ending } from './ending.mjs'

export function bundled(
  name: string,
  sources: readonly string[],
  ending: Ending,
  more?: BuildOptions,
): Promise<string>
