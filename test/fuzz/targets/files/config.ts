/** Fuzzes config.yaml of a home, the environment variables, and config.yml of a project. */
import fs from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { parse } from 'yaml'
import { Config } from '../../../../src/contracts/config.ts'
import { TurnbellError } from '../../../../src/contracts/errors/errors.ts'
import { ProjectConfig } from '../../../../src/contracts/memory/project-config.ts'
import { readSettings } from '../../../../src/modules/memory/settings.ts'
import { loadConfig } from '../../../../src/system/config/config.ts'
import { deleteInYaml, setInYaml } from '../../../../src/system/config/edit-config-file.ts'
import { linesOf } from '../../seeds.ts'
import { insist, type Target } from '../../target.ts'

const AT = ['personas', 'ada', 'surface'] as const

export const config: Target = {
  name: 'config',
  promise:
    'a configuration is read, or refused with its key; one key is set and taken out, and the rest is as it was',
  share: 1,
  bytes_max: 4_096,
  words: [
    '\n  ',
    ': ',
    '- ',
    '&a ',
    '*a',
    '<<: *a',
    '!!binary ',
    '|\n  ',
    '>-\n  ',
    '? ',
    '--- ',
    '%YAML 1.1',
    '# c\n',
  ],

  open({ directory }) {
    const file = path.join(directory, 'config.yaml')
    return {
      seeds: [
        'hub:\n  port: 5000 # mine\n  host: localhost\n\npersonas:\n  ada: {surface: codex}\n  bob:\n    surface: mcp\n',
        'personas:\n  ada:\n    surface: tmux\n    tmux: {pane: "%1", client: codex}\nleash:\n  exec: [git]\n  network: []\n',
        'routines:\n  look:\n    steps:\n      - {id: a, call: signals.pending}\nworkflow:\n  test: [npm, test]\n',
        'version: 1\nproject_name: x\narchive:\n  auto_archive_on_commit: false\ncontext_assembly:\n  default_max_tokens: 4000\n',
        ...linesOf(Config, 30),
        ...linesOf(ProjectConfig, 10),
        '',
        '[1, 2]',
        'a: &a [*a]\n',
      ],
      attempt(input) {
        const text = input.toString()
        fs.writeFileSync(file, input)
        const { warnings } = readSettings(text)
        const env = text.includes('\0')
          ? {}
          : { TURNBELL_TOOLS: text.slice(0, 40), TURNBELL_HUB_PORT: text.slice(0, 5) }
        const told = [loaded(file, {}), loaded(file, env), changed(text)]
        return `${told.join(' ')} ${Math.min(warnings.length, 3)}`
      },
    }
  },
}

function loaded(file: string, env: Record<string, string>): string {
  try {
    insist(Config.safeParse(loadConfig(file, env)).success, () => 'what was read is no configuration')
    return 'read'
  } catch (error) {
    if (!(error instanceof TurnbellError)) throw error
    insist(error.code === 'config_invalid', () => error.message)
    return error.code
  }
}

function changed(text: string): string {
  try {
    const set = setInYaml(text, AT, 'mcp')
    says(set, 'mcp')
    const deleted = deleteInYaml(set, AT)
    says(deleted, undefined)
    for (const after of [set, deleted])
      insist(
        isDeepStrictEqual(rest(after), rest(text)),
        () => `more was changed than was asked for: ${after.slice(0, 200)}`,
      )
    return 'set'
  } catch (error) {
    if (!(error instanceof TurnbellError)) throw error
    return error.code
  }
}

interface Said {
  personas?: { ada?: { surface?: unknown } | null } | null
}

/** Returns the other settings; the generated container is empty then. */
function rest(text: string): unknown {
  const said = parse(text, unsignedNought, { logLevel: 'error' }) as Said | null
  if (said?.personas?.ada) delete said.personas.ada.surface
  if (said?.personas && Object.keys(said.personas.ada ?? {}).length === 0) delete said.personas.ada
  if (said !== null && Object.keys(said.personas ?? {}).length === 0) delete said.personas
  return said ?? {}
}

/**
 * A number that underflows to zero may have a sign that its written text lacks. (A reviver's 0 would not replace a -0.)
 */
const unsignedNought = (_: unknown, value: unknown) => (value === 0 ? 'nought' : value)

function says(text: string, expected: unknown): void {
  const said = parse(text, { logLevel: 'error' }) as Said | null
  insist(said?.personas?.ada?.surface === expected, () => `not ${String(expected)}: ${text.slice(0, 200)}`)
}
