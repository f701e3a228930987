/** The agent clients as programs on this machine: where they are, and what they must not inherit. */
import fs from 'node:fs'
import path from 'node:path'
import { OWN_SERVER_PERSONA } from '../contracts/codex-environment.ts'
import type { Config } from '../contracts/config.ts'
import { TurnbellError } from '../contracts/errors.ts'
import type { ClientKind } from '../contracts/ids.ts'
import { settingsDirectory, type Home } from './home.ts'
import { readText } from './watch-text.ts'

/** How each is called, by people, on PATH and in the configuration. */
const CLIENTS = {
  'claude-code': { name: 'Claude Code', program: 'claude', key: 'claude_code' },
  codex: { name: 'Codex', program: 'codex', key: 'codex' },
  opencode: { name: 'opencode', program: 'opencode', key: 'opencode' },
} as const satisfies Record<ClientKind, object>

/** The configured program, else the one on PATH. Throws `client_missing`. */
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
  const found = candidates.find(isExecutable)
  if (found !== undefined && client === 'opencode') return installedOpencode(found)
  if (found !== undefined) return client === 'codex' ? nativeCodex(found) : found
  throw new TurnbellError('client_missing', {
    detail:
      configured === undefined
        ? `There is no \`${program}\` on PATH.`
        : `${configured} cannot be run (clients.${key}).`,
    hint: `Install ${name}, or name it in ${where.home.config}: \`clients: {${key}: /path/to/${program}}\`.`,
  })
}

function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK)
    return fs.statSync(file).isFile()
  } catch {
    return false
  }
}

// --- Codex

/**
 * The native program behind a `codex` that npm installed, which is a Node script that starts it. Killing
 * the script would leave the program running, with its thread's lock in its hands.
 */
function nativeCodex(program: string): string {
  const real = fs.realpathSync(program)
  if (!isScript(real)) return real
  const platform = `codex-${process.platform}-${process.arch}`
  for (let folder = path.dirname(real); path.dirname(folder) !== folder; folder = path.dirname(folder)) {
    for (const found of [`node_modules/@openai/${platform}`, platform]) {
      const native = inVendor(path.join(folder, found, 'vendor'))
      if (native !== null) return native
    }
  }
  return real
}

/** `vendor/<target triple>/bin/codex` */
function inVendor(vendor: string): string | null {
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

/** npm brings a note of this kind, and puts the program in its place only where it may run scripts. */
const NOTE_BYTES_MAX = 64 * 1024

/** The program, also where npm was not allowed to put it in its place. Throws `client_missing`. */
function installedOpencode(program: string): string {
  const real = fs.realpathSync(program)
  if (fs.statSync(real).size > NOTE_BYTES_MAX || !/postinstall/.test(readText(real) ?? '')) return program
  const package_dir = path.dirname(path.dirname(real))
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `opencode-${platform}-${process.arch}`
  const file = process.platform === 'win32' ? 'opencode.exe' : 'opencode'
  const places = [path.join(package_dir, 'node_modules'), path.dirname(package_dir)]
  const native = places.map((place) => path.join(place, name, 'bin', file)).find(isExecutable)
  if (native !== undefined) return native
  throw new TurnbellError('client_missing', {
    detail: `${program} is only a note: npm installed opencode without running its scripts.`,
    hint: `Run \`node ${path.join(package_dir, 'postinstall.mjs')}\`, or install opencode without --ignore-scripts.`,
  })
}

/**
 * opencode fetches a package of its own before it loads the first plugin, and does nothing else meanwhile.
 * Only where that has been done a plugin costs nothing, and works without a network.
 */
export function opencodeLoadsPlugins(env: NodeJS.ProcessEnv): boolean {
  const lock = readText(path.join(settingsDirectory(env), 'opencode', 'package-lock.json'))
  return lock !== null && lock.includes('"@opencode-ai/plugin"')
}

// --- what must not be inherited

/** Variables with which a Claude Code session marks the processes it starts. */
const MARKS = /^(CLAUDECODE|CLAUDE_PID|CLAUDE_CODE_(SESSION_ID|MESSAGING_SOCKET|MESSAGING_TOKEN|ENTRYPOINT))$/
const OUTER =
  /^(CLAUDECODE|CLAUDE_PID|CLAUDE_ENV_FILE|CLAUDE_PROJECT_DIR|CLAUDE_PLUGIN_.*|CLAUDE_CODE_.*|AI_AGENT)$/

/** Variables with which Codex marks the processes it starts; CODEX_HOME is a person's own setting. */
const CODEX_SESSION = /^CODEX_(THREAD_ID|SESSION_ID|SANDBOX.*|INTERNAL_.*|CI)$/

/** The same of opencode; its other variables are a person's settings. */
const OPENCODE_SESSION = /^OPENCODE(_(PID|SERVER_PASSWORD|SERVER_USERNAME|CLIENT|RUN_ID))?$/

/**
 * A session that is started from within another must not take itself for its child. Where there is no
 * outer session the same prefix only carries a person's own settings, which stay.
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
