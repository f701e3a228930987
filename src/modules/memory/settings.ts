/** Settings of a project's memory, from its `config.yml`. */
import { parse } from 'yaml'
import * as z from 'zod'
import { describeParams } from '../../contracts/validation/describe-issues.ts'
import { nearest } from '../../contracts/text/names.ts'
import { PROJECT_CONFIG_DEFAULT, ProjectConfig } from '../../contracts/memory/project-config.ts'
import type { ProjectStore } from '../../ports/project-store.ts'

export interface Settings {
  config: ProjectConfig
  /** Mistakes in the file, each as a sentence. */
  warnings: readonly string[]
}

/** Content of the file as the project store returns it. */
export type ConfigText = Awaited<ReturnType<ProjectStore['configText']>>

export const SETTINGS_DEFAULT: Settings = { config: PROJECT_CONFIG_DEFAULT, warnings: [] }

/**
 * Reads the settings. A mistake in a file that comes with a git repository must not block an agent: invalid values are
 * reported as warnings and treated as absent. Unknown keys are ignored, because a newer version may know them, unless
 * they look like a misspelling.
 */
export function readSettings(text: ConfigText): Settings {
  if (text === null) return SETTINGS_DEFAULT
  if (typeof text !== 'string')
    return { ...SETTINGS_DEFAULT, warnings: [`config.yml is not read: ${text.reason}`] }
  let content: unknown
  try {
    content = parse(text, { logLevel: 'error' }) ?? {}
  } catch (error) {
    return { ...SETTINGS_DEFAULT, warnings: [`config.yml is not valid YAML: ${(error as Error).message}`] }
  }
  const warnings = misspelledKeys(ProjectConfig, content)
  for (let tries = 0; tries < MISTAKES_MAX; tries += 1) {
    const parsed = ProjectConfig.safeParse(content)
    if (parsed.success) return { config: parsed.data, warnings }
    warnings.push(`config.yml: ${describeParams(ProjectConfig, content, parsed.error, 'its content')}`)
    content = parsed.error.issues.reduce((rest, issue) => removePath(rest, issue.path), content)
  }
  return { ...SETTINGS_DEFAULT, warnings }
}

/** Describes unknown keys that resemble a known one. */
function misspelledKeys(schema: unknown, content: unknown, prefix = ''): string[] {
  if (schema instanceof z.ZodPrefault) return misspelledKeys(schema.unwrap(), content, prefix)
  const mapping = Mapping.safeParse(content)
  if (!(schema instanceof z.ZodObject) || !mapping.success) return []
  const known = Object.keys(schema.shape)
  return Object.entries(mapping.data).flatMap(([key, value]) => {
    if (known.includes(key)) return misspelledKeys(schema.shape[key], value, `${prefix}${key}.`)
    const suggestion = nearest(key, known)
    return suggestion === null ? [] : [`config.yml: ${prefix}${key}: unknown (did you mean ${suggestion}?)`]
  })
}

/** Maximum number of parses; a mistake may hide others. */
const MISTAKES_MAX = 3
const Mapping = z.record(z.string(), z.unknown())

/** Returns a copy without the value at the path. */
function removePath(value: unknown, [key, ...rest]: readonly PropertyKey[]): unknown {
  const mapping = Mapping.safeParse(value)
  if (key === undefined || !mapping.success) return {}
  const { [String(key)]: inner, ...others } = mapping.data
  return rest.length === 0 ? others : { ...others, [String(key)]: removePath(inner, rest) }
}
