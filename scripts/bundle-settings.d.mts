import type { BuildOptions } from 'esbuild'

export const bundleSettings: BuildOptions
export const commonModule: BuildOptions
export const clientModule: BuildOptions
