import type { ParseArgsConfig } from 'node:util'

export type Bounds =
  | number
  | { least: number; most?: number }
  | { above: number; most?: number }
  | { from: number; most?: number }

type Options = NonNullable<ParseArgsConfig['options']>

interface Wanted<O extends Options, N extends string> {
  options?: O
  numbers?: Readonly<Record<N, Bounds>>
  directories?: readonly string[]
  files?: readonly string[]
  places?: { script: string; names: readonly string[] }
  names?: boolean | readonly string[]
  argv?: string[]
  check?: (values: Values<O, N>) => void
}

/** One with a default is always there. */
type Values<O extends Options, N extends string> = {
  [K in keyof O]:
    | (K extends N ? number : O[K]['type'] extends 'boolean' ? boolean : string)
    | (O[K] extends { default: string | boolean } ? never : undefined)
}

export function commandOptions<O extends Options, N extends string = never>(
  help: string,
  wanted: Wanted<O, N>,
): { values: Values<O, N>; positionals: string[] }

export const SEEDS: { least: number; most: number }
export function number(name: string, text: string, bounds: Bounds): number
export function needDirectory(name: string, directory: string): void
