/**
 * Merges the sources of a configuration: default < `config.yaml` < environment < flag, validated by one schema. It does
 * not import the YAML package, so that a daemon loads that only if the home has a `config.yaml`.
 */
import fs from 'node:fs'
import path from 'node:path'
import type * as yaml from 'yaml'
import type { z } from 'zod'
import { Config, type ConfigInput } from '../../contracts/config.ts'
import { describeIssues, TurnbellError } from '../../contracts/errors/errors.ts'
import { userDirectory } from './home.ts'
import { isObject } from '../../contracts/validation/is-object.ts'

/** Environment variables that set a key. Other variables that start with TURNBELL_ belong to single processes. */
export const ENVIRONMENT_KEYS: Record<string, readonly string[]> = {
  TURNBELL_TENANT: ['tenant_id'],
  TURNBELL_HUB_HOST: ['hub', 'host'],
  TURNBELL_HUB_PORT: ['hub', 'port'],
  TURNBELL_HUB_URL: ['hub', 'url'],
  TURNBELL_STORE: ['hub', 'store'],
  TURNBELL_BEHIND_PROXY: ['hub', 'behind_proxy'],
  TURNBELL_RECONNECT_RING: ['daemon', 'reconnect_ring'],
  TURNBELL_RECONNECT_GRACE_MS: ['daemon', 'reconnect_grace_ms'],
  TURNBELL_RECONNECT_PATIENCE_MS: ['daemon', 'reconnect_patience_ms'],
  TURNBELL_BELL_RECEIPT_MS: ['daemon', 'bell_receipt_ms'],
  TURNBELL_REDOORBELL_MAX: ['daemon', 'redoorbell_max'],
  TURNBELL_TOOLS: ['mcp', 'expose'],
  TURNBELL_PRO: ['mcp', 'pro'],
  TURNBELL_SANDBOX_EXEC: ['sandbox', 'exec'],
  TURNBELL_SANDBOX_NETWORK: ['sandbox', 'network'],
  TURNBELL_MODEL_DIR: ['memory', 'model_dir'],
  TURNBELL_ACTIVITY: ['activity', 'capture'],
  TURNBELL_LOG_LEVEL: ['log', 'level'],
  TURNBELL_CLAUDE_CODE: ['clients', 'claude_code'],
}

/** Former names that are still accepted, with the current ones. */
const KEY_ALIASES: Record<string, string> = { leash: 'sandbox' }
const VARIABLE_ALIASES: Record<string, string> = {
  TURNBELL_LEASH_EXEC: 'TURNBELL_SANDBOX_EXEC',
  TURNBELL_LEASH_NETWORK: 'TURNBELL_SANDBOX_NETWORK',
}

/** An unknown variable that starts like a variable or a group of the configuration is a misspelling. */
const MISSPELLED = new RegExp(`^TURNBELL_(${firstWords().join('|')})_`)

function firstWords(): string[] {
  const variables = [...Object.keys(ENVIRONMENT_KEYS), ...Object.keys(VARIABLE_ALIASES)]
  const ofVariables = variables.map((name) => name.split('_')[1])
  const ofKeys = keysAt([]).map((key) => key.toUpperCase().split('_')[0])
  return [...new Set([...ofVariables, ...ofKeys])].map(String)
}

export type Tree = { [key: string]: unknown }

/**
 * Merges the parsed `file`, the environment and the flags, and validates the result.
 *
 * @throws `config_invalid` with the source, the key, the value and the allowed values.
 */
export function mergeLayers(
  fromFile: Tree,
  file: string,
  env: NodeJS.ProcessEnv,
  flags: ConfigInput = {},
): Config {
  validate(fromFile, file)
  const fromEnv = readEnvironment(env)
  validate(fromEnv, 'the environment', (keys) => variableOf(keys, env))
  const resolved = withResolvedPaths(withoutAliases(fromFile), path.dirname(file))
  return validate(merge(merge(resolved, fromEnv), flags), 'the command line')
}

/** Replaces former keys by the current ones. A tree with both stays unchanged, because the schema then rejects it. */
function withoutAliases(tree: Tree): Tree {
  const entries = Object.entries(tree).map(([key, value]) => [currentKey(key, tree), value])
  return Object.fromEntries(entries) as Tree
}

function currentKey(key: string, tree: Tree): string {
  const current = Object.hasOwn(KEY_ALIASES, key) ? KEY_ALIASES[key] : undefined
  return current === undefined || Object.hasOwn(tree, current) ? key : current
}

/** Returns the path as the source spells it. */
function asWritten(keys: readonly PropertyKey[], tree: Tree): PropertyKey[] {
  const [first, ...rest] = keys
  const written = Object.keys(tree).find((key) => key !== first && currentKey(key, tree) === first)
  return written === undefined ? [...keys] : [written, ...rest]
}

/**
 * Resolves the paths of the file against the home, so that they do not depend on the working directory of a process.
 * Paths of the other sources are relative to the working directory.
 */
function withResolvedPaths(tree: Tree, home: string): Tree {
  const inHome = (text: string) => path.resolve(home, expandTilde(text))
  const store = (text: string) => {
    const [, directory] = /^file:(?:\/\/)?(.+)$/s.exec(text) ?? []
    return directory === undefined ? text : `file:${inHome(directory)}`
  }
  const personas = Object.keys(isObject(tree['personas']) ? tree['personas'] : {})
  const values: PathValue[] = [
    [['hub', 'store'], store],
    [['hub', 'tls_cert'], inHome],
    [['hub', 'tls_key'], inHome],
    [['memory', 'model_dir'], inHome],
    // Package names must not be resolved as paths.
    [['plugins'], expandTilde],
    ...['claude_code', 'codex', 'opencode'].map((client): PathValue => [['clients', client], inHome]),
    ...personas.flatMap((identity) => [
      ...PERSONA_PATHS.map((keys): PathValue => [['personas', identity, ...keys], inHome]),
      ...PERSONA_COMMANDS.map((key): PathValue => [['personas', identity, key, 'argv'], expandProgram]),
    ]),
  ]
  return values.reduce((all, [keys, resolve]) => changedAt(all, keys, resolve), tree)
}

type PathValue = [keys: string[], resolve: (text: string, at?: number) => string]

const PERSONA_PATHS = [['project'], ['command', 'status_file'], ['tmux', 'socket']]
const PERSONA_COMMANDS = ['command', 'acp']

function expandTilde(text: string): string {
  return /^~(?=$|[/\\])/.test(text) ? path.join(userDirectory(), text.slice(1)) : text
}

/** Expands `~` in the first word of a command line. The other words are arguments and stay unchanged. */
export function expandProgram(word: string, at = 0): string {
  return at === 0 && /^~[/\\]/.test(word) ? expandTilde(word) : word
}

/** Returns a copy with the text at `keys` changed, or each text of a list there; the same tree if the key is absent. */
function changedAt(tree: Tree, [key = '', ...inner]: string[], change: PathValue[1]): Tree {
  const value = tree[key]
  if (inner.length > 0) return isObject(value) ? { ...tree, [key]: changedAt(value, inner, change) } : tree
  const changed = (one: unknown, at: number) => (typeof one === 'string' ? change(one, at) : one)
  if (Array.isArray(value)) return { ...tree, [key]: value.map(changed) }
  return typeof value === 'string' ? { ...tree, [key]: change(value) } : tree
}

/** Returns null if the file does not exist. */
export function readConfigText(file: string): string | null {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new TurnbellError('home_not_permitted', {
      detail: `${file} cannot be read (${(cause as NodeJS.ErrnoException).code ?? String(cause)})`,
      hint: 'Make yourself the owner of the file and make it readable.',
      cause,
    })
  }
}

/** Parses YAML with the `parseDocument` of the package `yaml`, which is passed in. */
export function parseTree(text: string, file: string, parseDocument: typeof yaml.parseDocument): Tree {
  const document = parseDocument(text, { prettyErrors: true })
  const [error] = document.errors
  if (error) {
    throw new TurnbellError('config_invalid', {
      detail: `${file}: ${error.message}`,
      hint: 'Fix the YAML syntax at that position.',
    })
  }
  let value: unknown
  try {
    value = document.toJS()
  } catch (cause) {
    // The document has an undefined alias, or aliases that would expand to too much memory.
    throw new TurnbellError('config_invalid', { detail: `${file}: ${(cause as Error).message}`, cause })
  }
  if (value === null || value === undefined) return {}
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new TurnbellError('config_invalid', {
      detail: `${file}: expected keys and values at the top level`,
    })
  }
  return value as Tree
}

function readEnvironment(env: NodeJS.ProcessEnv): Tree {
  rejectMisspelled(env)
  const tree: Tree = {}
  for (const [name, keys] of Object.entries(ENVIRONMENT_KEYS)) {
    const text = env[name] || env[aliasOf(name, env) ?? '']
    if (text === undefined || text === '') continue
    const leaf = keys.at(-1) as string
    let at = tree
    for (const key of keys.slice(0, -1)) at = (at[key] ??= {}) as Tree
    at[leaf] = parseScalar(text, schemaAt(keys)._zod.def.type)
  }
  return tree
}

/** Returns the former name of a variable if it is set. */
function aliasOf(variable: string, env: NodeJS.ProcessEnv): string | undefined {
  const alias = Object.keys(VARIABLE_ALIASES).find((name) => VARIABLE_ALIASES[name] === variable)
  return alias !== undefined && env[alias] ? alias : undefined
}

function rejectMisspelled(env: NodeJS.ProcessEnv): void {
  const allowed = Object.keys(ENVIRONMENT_KEYS)
  for (const [name, text] of Object.entries(env)) {
    if (!MISSPELLED.test(name) || text === '' || allowed.includes(name)) continue
    const current = Object.hasOwn(VARIABLE_ALIASES, name) ? VARIABLE_ALIASES[name] : undefined
    if (current !== undefined && !env[current]) continue
    throw new TurnbellError('config_invalid', {
      detail:
        current === undefined
          ? `the environment: there is no variable ${name}; allowed: ${allowed.join(', ')}`
          : `the environment: ${name} is the former name of ${current}, and both are set`,
    })
  }
}

/** Returns the text itself if it does not match the type, so that the schema rejects it. */
function parseScalar(text: string, type: string): unknown {
  if (type === 'array')
    return text
      .split(',')
      .map((one) => one.trim())
      .filter((one) => one !== '')
  if (type === 'boolean' && /^(true|false)$/.test(text)) return text === 'true'
  return type === 'number' && /^\d+$/.test(text) ? Number(text) : text
}

function merge(below: Tree, above: Tree): Tree {
  const merged: Tree = { ...below }
  for (const [key, value] of Object.entries(above)) {
    if (value === undefined) continue
    const under = merged[key]
    const both = isObject(under) && isObject(value)
    merged[key] = both ? merge(under, value) : value
  }
  return merged
}

/** Returns the variable that sets the key at this path. */
function variableOf(at: readonly PropertyKey[], env: NodeJS.ProcessEnv): string | undefined {
  // A variable sets a list as a whole, and the path may point to one of its entries.
  const key = at.filter((step) => typeof step === 'string').join('.')
  const variable = Object.keys(ENVIRONMENT_KEYS).find((name) => ENVIRONMENT_KEYS[name]?.join('.') === key)
  return variable !== undefined && !env[variable] ? (aliasOf(variable, env) ?? variable) : variable
}

function validate(
  tree: Tree,
  source: string,
  nameOf: (at: readonly PropertyKey[]) => string | undefined = () => undefined,
): Config {
  const parsed = Config.safeParse(withoutAliases(tree))
  if (parsed.success) return parsed.data
  const { issues } = parsed.error
  const key = issues.find(({ code }) => code === 'invalid_key')
  if (key?.code === 'invalid_key') {
    const reason = key.issues.map(({ message }) => message).join('; ')
    throw new TurnbellError('config_invalid', {
      detail: `${source}: ${key.path.join('.')}: ${reason}; found ${JSON.stringify(key.path.at(-1))}`,
    })
  }
  const [issue] = issues
  if (issue?.code === 'unrecognized_keys') {
    const keys = issue.keys.map((key) => [...asWritten(issue.path, tree), key].join('.')).join(', ')
    throw new TurnbellError('config_invalid', {
      detail: `${source}: there is no key ${keys}; allowed here: ${keysAt(issue.path.map(String)).join(', ')}`,
    })
  }
  const name = issue === undefined ? undefined : nameOf(issue.path)
  const where = name === undefined ? source : `${source}: ${name}`
  const written = issues.map((one) => ({ ...one, path: asWritten(one.path, tree) }))
  const [value] = written.slice(0, 1).map((one) => foundAt(one, tree))
  throw new TurnbellError('config_invalid', {
    detail: `${where}: ${describeIssues({ issues: written })}; found ${value ?? 'nothing'}`,
  })
}

/** Returns the value that an issue is about. */
function foundAt(issue: z.core.$ZodIssue, tree: Tree): string | undefined {
  // A rejected value at the place of a secret may be the secret.
  if (issue.code === 'custom' && issue.params?.['redacted'] === true)
    return 'a value that is not repeated here'
  return toJson(
    issue.path.reduce<unknown>(
      (at, key) => (isObject(at) || Array.isArray(at) ? (at as Tree)[String(key)] : undefined),
      tree,
    ),
  )
}

/** A YAML value may contain itself through an alias. */
function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return 'a value that contains itself'
  }
}

/** Returns the keys that the schema allows at a path. */
function keysAt(keys: readonly string[]): string[] {
  const { shape } = schemaAt(keys)._zod.def as { shape?: Record<string, unknown> }
  return Object.keys(shape ?? {})
}

/** Returns the schema at a path; defaults are unwrapped, and any key of a record leads to the schema of its values. */
function schemaAt(keys: readonly string[]): z.core.$ZodType {
  const bare = (schema: z.core.$ZodType): z.core.$ZodType => {
    const { innerType } = schema._zod.def as { innerType?: z.core.$ZodType }
    return innerType === undefined ? schema : bare(innerType)
  }
  let at: z.core.$ZodType = Config
  for (const key of keys) {
    const { shape, valueType } = bare(at)._zod.def as {
      shape?: Record<string, z.core.$ZodType>
      valueType?: z.core.$ZodType
    }
    at = shape?.[key] ?? valueType ?? at
  }
  return bare(at)
}
