import type { ParseArgsConfig } from 'node:util'

interface Wanted {
  options: NonNullable<ParseArgsConfig['options']>
  numbers?: Readonly<Record<string, number>>
  directories?: readonly string[]
  files?: readonly string[]
  names?: boolean | readonly string[]
  argv?: string[]
}

/** Values of options that are texts, as bench has them. */
export function commandOptions(
  help: string,
  wanted: Wanted,
): { values: Partial<Record<string, string>>; positionals: string[] }

export function wholeNumber(name: string, text: string, least: number): number
export function needDirectory(name: string, directory: string): void
