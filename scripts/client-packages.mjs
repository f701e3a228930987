/** The agent clients that `npm run test:clients` drives, and the folders in which they are installed. */

const ROOT = '.clients'

/** All scenes run with these. */
export const CURRENT = {
  folder: ROOT,
  versions: {
    '@anthropic-ai/claude-code': '2.1.332',
    '@openai/codex': '0.171.0',
    'opencode-ai': '1.18.33',
    // opencode itself installs it if it is missing, and without a network it would wait for that.
    '@opencode-ai/plugin': '1.18.33',
  },
}

/** The scenes of Claude Code and Codex run with these, too, if that is requested. */
export const FORMER = {
  folder: `${ROOT}/former`,
  versions: { '@anthropic-ai/claude-code': '2.1.329', '@openai/codex': '0.169.0' },
}

/** Variable that is `former` for scenes with the former Claude Code and Codex. */
export const CLIENTS_VARIABLE = 'TURNBELL_TEST_CLIENTS'

/** Variable that is `off` for scenes in which Claude Code is reached by its hooks, unless a scene chooses the way. */
export const MODULE_VARIABLE = 'TURNBELL_TEST_MODULE'

/** Returns whether Claude Code is reached by turnbell's module in scenes that do not choose the way. */
export function usesModule(env = process.env) {
  return env[MODULE_VARIABLE] !== 'off'
}

/** Returns whether the scenes of this process use the former clients. Throws for an unknown value. */
export function usesFormer(env = process.env) {
  const value = env[CLIENTS_VARIABLE] ?? ''
  if (value !== '' && value !== 'former')
    throw new Error(`${CLIENTS_VARIABLE} is ${JSON.stringify(value)}; it may be "former" or unset`)
  return value === 'former'
}

/** Returns the folder with a client's package, relative to the project. */
export function folderOf(name, env = process.env) {
  return usesFormer(env) && name in FORMER.versions ? FORMER.folder : CURRENT.folder
}

const NAMES = {
  '@anthropic-ai/claude-code': 'Claude Code',
  '@openai/codex': 'Codex',
  'opencode-ai': 'opencode',
}

/** Returns the versions for a person, such as "Codex 0.171.0, opencode 1.18.33". */
export function named({ versions }) {
  return Object.entries(NAMES)
    .filter(([name]) => name in versions)
    .map(([name, title]) => `${title} ${versions[name]}`)
    .join(', ')
}
