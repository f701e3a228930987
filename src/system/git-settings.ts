/** What every git process is told, so that looking at a repository runs nothing of it and changes nothing. */
import os from 'node:os'

/** What git needs of our own environment. `GIT_DIR` and its like would lead it to another repository. */
const HANDED_ON = [
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
  // A partial clone would fetch what it misses. The second is for versions that do not know the first.
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: 'none',
} as const

/** Stronger than any file of the repository or of its owner. */
const SETTINGS: readonly (readonly [string, string])[] = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', os.devNull],
  ['log.showSignature', 'false'],
  ['submodule.recurse', 'false'],
  ['credential.helper', ''],
  ['color.ui', 'false'],
  ['core.quotePath', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
]

/** Names settings in the environment, where a name may hold any character. */
export const GIT_VERSION_MIN = [2, 31] as const

/** The whole environment of a git process; `filters` are the filter drivers that must not run. */
export function gitEnvironment(own: NodeJS.ProcessEnv, filters: readonly string[]): NodeJS.ProcessEnv {
  const settings = [
    ...SETTINGS,
    ...filters.flatMap((name): [string, string][] => [
      [`filter.${name}.clean`, ''],
      [`filter.${name}.smudge`, ''],
      [`filter.${name}.process`, ''],
      // One that is required and does nothing would be an error.
      [`filter.${name}.required`, 'false'],
    ]),
  ]
  const env: NodeJS.ProcessEnv = { ...FIXED, GIT_CONFIG_COUNT: String(settings.length) }
  for (const name of HANDED_ON) if (own[name] !== undefined) env[name] = own[name]
  settings.forEach(([key, value], n) => {
    env[`GIT_CONFIG_KEY_${n}`] = key
    env[`GIT_CONFIG_VALUE_${n}`] = value
  })
  return env
}

/** True for a git that obeys all of this: `git version 2.39.5 (Apple Git-154)`. */
export function gitIsNewEnough(version: string): boolean {
  const found = /(\d+)\.(\d+)/.exec(version)
  const [major, minor] = [Number(found?.[1] ?? 0), Number(found?.[2] ?? 0)]
  return major > GIT_VERSION_MIN[0] || (major === GIT_VERSION_MIN[0] && minor >= GIT_VERSION_MIN[1])
}
