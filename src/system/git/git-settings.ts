/**
 * Environment and settings of every git process, so that inspecting a repository runs none of its programs and changes
 * nothing.
 */
import os from 'node:os'

/** Variables that git needs. `GIT_DIR` and similar ones would select another repository. */
const INHERITED = [
  'PATH',
  'HOME',
  'XDG_CONFIG_HOME',
  'TMPDIR',
  'GIT_CONFIG_GLOBAL',
  'GIT_CONFIG_SYSTEM',
  'GIT_CONFIG_NOSYSTEM',
  'GIT_CEILING_DIRECTORIES',
  // Windows
  'SYSTEMROOT',
  'PATHEXT',
  'USERPROFILE',
  'HOMEDRIVE',
  'HOMEPATH',
  'APPDATA',
  'PROGRAMDATA',
  'TEMP',
  'TMP',
] as const

const FIXED = {
  LC_ALL: 'C',
  TERM: 'dumb',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_LITERAL_PATHSPECS: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_PAGER: 'cat',
  // Otherwise a partial clone would fetch missing objects. The second variable is for versions that do not support the
  // first.
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: 'none',
} as const

/** These override all configuration files. */
const SETTINGS: readonly (readonly [string, string])[] = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', os.devNull],
  ['log.showSignature', 'false'],
  // It could be any file, of which names of authors would be shown.
  ['mailmap.file', os.devNull],
  ['submodule.recurse', 'false'],
  ['credential.helper', ''],
  ['color.ui', 'false'],
  ['core.quotePath', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
]

/** First version with settings by name in the environment, where a name may contain any character. */
export const GIT_VERSION_MIN = [2, 31] as const

/** Returns the whole environment of a git process; `filters` are the filter drivers to disable. */
export function gitEnvironment(own: NodeJS.ProcessEnv, filters: readonly string[]): NodeJS.ProcessEnv {
  const settings = [
    ...SETTINGS,
    ...filters.flatMap((name): [string, string][] => [
      [`filter.${name}.clean`, ''],
      [`filter.${name}.smudge`, ''],
      [`filter.${name}.process`, ''],
      // A required filter that does nothing would be an error.
      [`filter.${name}.required`, 'false'],
    ]),
  ]
  const env: NodeJS.ProcessEnv = { ...FIXED, GIT_CONFIG_COUNT: String(settings.length) }
  for (const name of INHERITED) if (own[name] !== undefined) env[name] = own[name]
  settings.forEach(([key, value], n) => {
    env[`GIT_CONFIG_KEY_${n}`] = key
    env[`GIT_CONFIG_VALUE_${n}`] = value
  })
  return env
}

/** Whether this version supports all of it: `git version 2.39.5 (Apple Git-154)`. */
export function gitIsNewEnough(version: string): boolean {
  const version_match = /(\d+)\.(\d+)/.exec(version)
  const [major, minor] = [Number(version_match?.[1] ?? 0), Number(version_match?.[2] ?? 0)]
  return major > GIT_VERSION_MIN[0] || (major === GIT_VERSION_MIN[0] && minor >= GIT_VERSION_MIN[1])
}
