/** Location of the agent clients' programs, and environment variables that they must not inherit. */
import fs from 'node:fs'
import path from 'node:path'
import { OWN_SERVER_PERSONA } from '../../contracts/clients/codex.ts'
import type { Config } from '../../contracts/config.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { ClientKind } from '../../contracts/ids.ts'
import { settingsDirectory, type Home } from '../config/home.ts'
import { readText } from '../files/watch-file.ts'
import { isExecutable } from '../process/node-program.ts'

/** Names of each client: for people, on PATH and in the configuration. */
const CLIENTS = {
  'claude-code': { name: 'Claude Code', program: 'claude', key: 'claude_code' },
  codex: { name: 'Codex', program: 'codex', key: 'codex' },
  opencode: { name: 'opencode', program: 'opencode', key: 'opencode' },
} as const satisfies Record<ClientKind, object>

/** Returns the configured program, or the one on PATH. Throws `client_missing`. */
export function clientProgram(
  client: ClientKind,
  where: { home: Home; config: Config; env: NodeJS.ProcessEnv },
): string {
  const { name, program, key } = CLIENTS[client]
  const configured = where.config.clients[key]
  const candidates =
    configured === undefined
      ? (where.env['PATH'] ?? '')
          .split(path.delimiter)
          .filter((directory) => directory !== '')
          .map((directory) => path.join(directory, program))
      : [path.resolve(where.home.root, configured)]
  const program_file = candidates.find(isExecutable)
  if (program_file !== undefined && client === 'opencode') return installedOpencode(program_file)
  if (program_file !== undefined) return client === 'codex' ? nativeCodex(program_file) : program_file
  throw new TurnbellError('client_missing', {
    detail:
      configured === undefined
        ? `There is no \`${program}\` on PATH.`
        : `${configured} cannot be run (clients.${key}).`,
    hint: `Install ${name}, or name it in ${where.home.config}: \`clients: {${key}: /path/to/${program}}\`.`,
  })
}

// --- Codex

/**
 * Returns the native program behind the Node.js script that npm installs as `codex`. Killing only the script would
 * leave the program running with its thread's lock.
 */
function nativeCodex(program: string): string {
  const real = fs.realpathSync(program)
  if (!isScript(real)) return real
  const platform = `codex-${process.platform}-${process.arch}`
  for (let folder = path.dirname(real); path.dirname(folder) !== folder; folder = path.dirname(folder)) {
    for (const found of [`node_modules/@openai/${platform}`, platform]) {
      const native = vendoredProgram(path.join(folder, found, 'vendor'))
      if (native !== null) return native
    }
  }
  return real
}

/** `vendor/<target triple>/bin/codex` */
function vendoredProgram(vendor: string): string | null {
  if (!fs.existsSync(vendor)) return null
  const name = process.platform === 'win32' ? 'codex.exe' : 'codex'
  const programs = fs.readdirSync(vendor).map((triple) => path.join(vendor, triple, 'bin', name))
  return programs.find((program) => fs.existsSync(program)) ?? null
}

function isScript(file: string): boolean {
  const handle = fs.openSync(file, 'r')
  try {
    const head = Buffer.alloc(2)
    fs.readSync(handle, head, 0, 2, 0)
    return head.toString('latin1') === '#!'
  } finally {
    fs.closeSync(handle)
  }
}

// --- opencode

/** npm installs a small script instead of the program if it must not run install scripts. */
const PLACEHOLDER_BYTES_MAX = 64 * 1024

/** Returns the program, also if npm could not move it into place. Throws `client_missing`. */
function installedOpencode(program: string): string {
  const real = fs.realpathSync(program)
  if (fs.statSync(real).size > PLACEHOLDER_BYTES_MAX || !/postinstall/.test(readText(real) ?? ''))
    return program
  const package_dir = path.dirname(path.dirname(real))
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `opencode-${platform}-${process.arch}`
  const file = process.platform === 'win32' ? 'opencode.exe' : 'opencode'
  const places = [path.join(package_dir, 'node_modules'), path.dirname(package_dir)]
  const native = places.map((place) => path.join(place, name, 'bin', file)).find(isExecutable)
  if (native !== undefined) return native
  throw new TurnbellError('client_missing', {
    detail: `${program} is a placeholder: npm installed opencode without running its scripts.`,
    hint: `Run \`node ${path.join(package_dir, 'postinstall.mjs')}\`, or install opencode without --ignore-scripts.`,
  })
}

/**
 * Whether plugins load without delay. Before its first plugin opencode fetches a package and does nothing else
 * meanwhile; afterwards plugins load at once and offline.
 */
export function opencodeLoadsPluginsFast(env: NodeJS.ProcessEnv): boolean {
  const lock = readText(path.join(settingsDirectory(env), 'opencode', 'package-lock.json'))
  return lock !== null && lock.includes('"@opencode-ai/plugin"')
}

// --- environment variables that must not be inherited

/** Variables by which Claude Code marks its child processes. */
const MARKS = /^(CLAUDECODE|CLAUDE_PID|CLAUDE_CODE_(SESSION_ID|MESSAGING_SOCKET|MESSAGING_TOKEN|ENTRYPOINT))$/
const OUTER =
  /^(CLAUDECODE|CLAUDE_PID|CLAUDE_ENV_FILE|CLAUDE_PROJECT_DIR|CLAUDE_PLUGIN_.*|CLAUDE_CODE_.*|AI_AGENT)$/

/** Variables by which Codex marks its child processes; CODEX_HOME is a user setting. */
const CODEX_SESSION = /^CODEX_(THREAD_ID|SESSION_ID|SANDBOX.*|INTERNAL_.*|CI)$/

/** The same for opencode; its other variables are user settings. */
const OPENCODE_SESSION = /^OPENCODE(_(PID|SERVER_PASSWORD|SERVER_USERNAME|CLIENT|RUN_ID))?$/

/**
 * Removes the marks of an outer session, so that a nested session does not take itself for its child. Without an outer
 * session, variables with the same prefix are user settings and stay.
 */
export function withoutOuterSession(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const outer = Object.keys(env).some((name) => MARKS.test(name))
  const dropped = (name: string) =>
    (outer && OUTER.test(name)) ||
    CODEX_SESSION.test(name) ||
    OPENCODE_SESSION.test(name) ||
    name === OWN_SERVER_PERSONA ||
    /^TURNBELL_(HOST_PID|RESPAWN|SESSION_ID)$/.test(name)
  return Object.fromEntries(Object.entries(env).filter(([name]) => !dropped(name)))
}
