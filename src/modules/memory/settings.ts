/** What a project wants of its memory, as its `config.yml` says. */
import { parse } from 'yaml'
import * as z from 'zod'
import { describeParams } from '../../contracts/describe.ts'
import { nearest } from '../../contracts/names.ts'
import { PROJECT_CONFIG_DEFAULT, ProjectConfig } from '../../contracts/project-config.ts'
import type { ProjectStore } from '../../ports/project-store.ts'

export interface Settings {
  config: ProjectConfig
  /** What of it means nothing. */
  warnings: readonly string[]
}

/** As the project's store hands it over. */
export type ConfigText = Awaited<ReturnType<ProjectStore['configText']>>

export const SETTINGS_DEFAULT: Settings = { config: PROJECT_CONFIG_DEFAULT, warnings: [] }

/**
 * Somebody else's mistake in a file that git brings along must not keep an agent from its memory: what is wrong is
 * told, and counts as if it were not there. Keys that a newer version knows are passed over, unless they look like a
 * slip of the pen.
 */
export function readSettings(text: ConfigText): Settings {
  if (text === null) return SETTINGS_DEFAULT
  if (typeof text !== 'string')
    return { ...SETTINGS_DEFAULT, warnings: [`config.yml is not read: ${text.reason}`] }
  let said: unknown
  try {
    said = parse(text, { logLevel: 'error' }) ?? {}
  } catch (error) {
    return { ...SETTINGS_DEFAULT, warnings: [`config.yml is no YAML: ${(error as Error).message}`] }
  }
  const warnings = misspelt(ProjectConfig, said)
  for (let tries = 0; tries < MISTAKES_MAX; tries += 1) {
    const read = ProjectConfig.safeParse(said)
    if (read.success) return { config: read.data, warnings }
    warnings.push(`config.yml: ${describeParams(ProjectConfig, said, read.error, 'its content')}`)
    said = read.error.issues.reduce((kept, issue) => without(kept, issue.path), said)
  }
  return { ...SETTINGS_DEFAULT, warnings }
}

/** Keys that nobody knows, each with the one that was probably meant. */
function misspelt(schema: unknown, said: unknown, above = ''): string[] {
  if (schema instanceof z.ZodPrefault) return misspelt(schema.unwrap(), said, above)
  const mapping = Mapping.safeParse(said)
  if (!(schema instanceof z.ZodObject) || !mapping.success) return []
  const known = Object.keys(schema.shape)
  return Object.entries(mapping.data).flatMap(([key, value]) => {
    if (known.includes(key)) return misspelt(schema.shape[key], value, `${above}${key}.`)
    const meant = nearest(key, known)
    return meant === null ? [] : [`config.yml: ${above}${key}: unknown (did you mean ${meant}?)`]
  })
}

/** A mistake may stand in front of another. */
const MISTAKES_MAX = 3
const Mapping = z.record(z.string(), z.unknown())

/** Without what stands there. */
function without(value: unknown, [key, ...rest]: readonly PropertyKey[]): unknown {
  const mapping = Mapping.safeParse(value)
  if (key === undefined || !mapping.success) return {}
  const { [String(key)]: inner, ...others } = mapping.data
  return rest.length === 0 ? others : { ...others, [String(key)]: without(inner, rest) }
}
