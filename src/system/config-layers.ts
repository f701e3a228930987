/**
 * What the parts of a configuration come to: default < `config.yaml` < environment < flag, one schema for all. Apart from
 * `config.ts`, which brings the package that reads YAML: a daemon only loads that where there is some.
 */
import fs from 'node:fs'
import path from 'node:path'
import type * as yaml from 'yaml'
import type { z } from 'zod'
import { Config, type ConfigInput } from '../contracts/config.ts'
import { describeIssues, TurnbellError } from '../contracts/errors.ts'
import { userDirectory } from './home.ts'

/** Environment variables that set a key. Others that begin with TURNBELL_ are for single processes. */
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
  TURNBELL_LEASH_EXEC: ['leash', 'exec'],
  TURNBELL_LEASH_NETWORK: ['leash', 'network'],
  TURNBELL_MODEL_DIR: ['memory', 'model_dir'],
  TURNBELL_LOG_LEVEL: ['log', 'level'],
  TURNBELL_CLAUDE_CODE: ['clients', 'claude_code'],
}

/** What begins as the variables and groups of the configuration do, and is none of them, is misspelt. */
const MISSPELT = new RegExp(`^TURNBELL_(${firstWords().join('|')})_`)

function firstWords(): string[] {
  const ofNames = Object.keys(ENVIRONMENT_KEYS).map((name) => name.split('_')[1])
  const ofKeys = keysAt([]).map((key) => key.toUpperCase().split('_')[0])
  return [...new Set([...ofNames, ...ofKeys])].map(String)
}

export type Tree = { [key: string]: unknown }

/**
 * `fromFile` is what `file` holds.
 *
 * @throws `config_invalid`, naming the source, the key, what was found and what is allowed.
 */
export function layered(
  fromFile: Tree,
  file: string,
  env: NodeJS.ProcessEnv,
  flags: ConfigInput = {},
): Config {
  check(fromFile, file)
  const fromEnv = readEnvironment(env)
  check(fromEnv, 'the environment', variableOf)
  const placed = withPlaces(fromFile, path.dirname(file))
  return check(merge(merge(placed, fromEnv), flags), 'the command line')
}

/**
 * What the file names means the same wherever a process was started: a person writes it from the home, or from
 * their own directory. Other sources are the starter's, and count from where that stands.
 */
function withPlaces(tree: Tree, home: string): Tree {
  const place = (said: string) => path.resolve(home, fromUser(said))
  const store = (said: string) => {
    const [, named] = /^file:(?:\/\/)?(.+)$/s.exec(said) ?? []
    return named === undefined ? said : `file:${place(named)}`
  }
  const personas = Object.keys(isTree(tree['personas']) ? tree['personas'] : {})
  const places: Place[] = [
    [['hub', 'store'], store],
    [['hub', 'tls_cert'], place],
    [['hub', 'tls_key'], place],
    [['memory', 'model_dir'], place],
    // The name of a package stays one.
    [['plugins'], fromUser],
    ...['claude_code', 'codex', 'opencode'].map((client): Place => [['clients', client], place]),
    ...personas.flatMap((identity) => [
      ...PLACES_OF_A_PERSONA.map((keys): Place => [['personas', identity, ...keys], place]),
      ...PROGRAMS_OF_A_PERSONA.map((kept): Place => [['personas', identity, kept, 'argv'], programPlace]),
    ]),
  ]
  return places.reduce((all, [keys, placed]) => changedAt(all, keys, placed), tree)
}

type Place = [keys: string[], placed: (said: string, at?: number) => string]

const PLACES_OF_A_PERSONA = [['project'], ['command', 'status_file'], ['tmux', 'socket']]
const PROGRAMS_OF_A_PERSONA = ['command', 'acp']

function fromUser(said: string): string {
  return /^~(?=$|[/\\])/.test(said) ? path.join(userDirectory(), said.slice(1)) : said
}

/** Of the words of a command line: only the first names a program, and what the others mean is that program's. */
export function programPlace(said: string, at = 0): string {
  return at === 0 && /^~[/\\]/.test(said) ? fromUser(said) : said
}

/** A copy with another text at that place, or others in a list there; the tree itself where there is none. */
function changedAt(tree: Tree, [key = '', ...inner]: string[], change: Place[1]): Tree {
  const value = tree[key]
  if (inner.length > 0) return isTree(value) ? { ...tree, [key]: changedAt(value, inner, change) } : tree
  const changed = (one: unknown, at: number) => (typeof one === 'string' ? change(one, at) : one)
  if (Array.isArray(value)) return { ...tree, [key]: value.map(changed) }
  return typeof value === 'string' ? { ...tree, [key]: change(value) } : tree
}

/** Null where there is none. */
export function configText(file: string): string | null {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new TurnbellError('home_not_permitted', {
      detail: `${file} cannot be read (${(cause as NodeJS.ErrnoException).code ?? String(cause)})`,
      hint: 'Make the file yours and readable.',
      cause,
    })
  }
}

/** What a text of YAML holds, with the function of that name of the package `yaml`. */
export function treeOf(text: string, file: string, parseDocument: typeof yaml.parseDocument): Tree {
  const document = parseDocument(text, { prettyErrors: true })
  const [error] = document.errors
  if (error) {
    throw new TurnbellError('config_invalid', {
      detail: `${file}: ${error.message}`,
      hint: 'Mend the file there; it has to be YAML before its keys can be read.',
    })
  }
  let value: unknown
  try {
    value = document.toJS()
  } catch (cause) {
    // An alias for nothing, or so many that their values would fill the memory.
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
  refuseMisspelt(env)
  const tree: Tree = {}
  for (const [name, keys] of Object.entries(ENVIRONMENT_KEYS)) {
    const text = env[name]
    if (text === undefined || text === '') continue
    const leaf = keys.at(-1) as string
    let at = tree
    for (const key of keys.slice(0, -1)) at = (at[key] ??= {}) as Tree
    at[leaf] = parseScalar(text, schemaAt(keys)._zod.def.type)
  }
  return tree
}

function refuseMisspelt(env: NodeJS.ProcessEnv): void {
  const allowed = Object.keys(ENVIRONMENT_KEYS)
  for (const [name, text] of Object.entries(env)) {
    if (!MISSPELT.test(name) || text === '' || allowed.includes(name)) continue
    throw new TurnbellError('config_invalid', {
      detail: `the environment: there is no variable ${name}; allowed: ${allowed.join(', ')}`,
    })
  }
}

/** What does not have the form of its type stays text, for the schema to refuse. */
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
    const both = isTree(under) && isTree(value)
    merged[key] = both ? merge(under, value) : value
  }
  return merged
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What sets the key at this path. */
function variableOf(at: readonly PropertyKey[]): string | undefined {
  // A list is set as a whole; what is wrong may be one of its entries.
  const key = at.filter((step) => typeof step === 'string').join('.')
  return Object.keys(ENVIRONMENT_KEYS).find((name) => ENVIRONMENT_KEYS[name]?.join('.') === key)
}

function check(
  tree: Tree,
  source: string,
  nameOf: (at: readonly PropertyKey[]) => string | undefined = () => undefined,
): Config {
  const parsed = Config.safeParse(tree)
  if (parsed.success) return parsed.data
  const found = parsed.error.issues.slice(0, 1).map((issue) =>
    // What came in a secret's place may be one.
    issue.code === 'custom' && issue.params?.['unsaid'] === true
      ? 'something that is not repeated here'
      : shown(
          issue.path.reduce<unknown>(
            (at, key) => (isTree(at) || Array.isArray(at) ? (at as Tree)[String(key)] : undefined),
            tree,
          ),
        ),
  )
  const key = parsed.error.issues.find(({ code }) => code === 'invalid_key')
  if (key?.code === 'invalid_key') {
    const why = key.issues.map(({ message }) => message).join('; ')
    throw new TurnbellError('config_invalid', {
      detail: `${source}: ${key.path.join('.')}: ${why}; found ${JSON.stringify(key.path.at(-1))}`,
    })
  }
  const [issue] = parsed.error.issues
  if (issue?.code === 'unrecognized_keys') {
    const place = issue.path.map(String)
    const keys = issue.keys.map((key) => [...place, key].join('.')).join(', ')
    throw new TurnbellError('config_invalid', {
      detail: `${source}: there is no key ${keys}; allowed here: ${keysAt(place).join(', ')}`,
    })
  }
  const name = issue === undefined ? undefined : nameOf(issue.path)
  const where = name === undefined ? source : `${source}: ${name}`
  throw new TurnbellError('config_invalid', {
    detail: `${where}: ${describeIssues(parsed.error)}; found ${found[0] ?? 'nothing'}`,
  })
}

/** YAML can say what holds itself. */
function shown(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return 'what holds itself'
  }
}

/** The keys that the schema has at a place. */
function keysAt(place: readonly string[]): string[] {
  const { shape } = schemaAt(place)._zod.def as { shape?: Record<string, unknown> }
  return Object.keys(shape ?? {})
}

/** The schema of a place: through defaults to objects, through records to their values. */
function schemaAt(place: readonly string[]): z.core.$ZodType {
  const bare = (schema: z.core.$ZodType): z.core.$ZodType => {
    const { innerType } = schema._zod.def as { innerType?: z.core.$ZodType }
    return innerType === undefined ? schema : bare(innerType)
  }
  let at: z.core.$ZodType = Config
  for (const key of place) {
    const { shape, valueType } = bare(at)._zod.def as {
      shape?: Record<string, z.core.$ZodType>
      valueType?: z.core.$ZodType
    }
    at = shape?.[key] ?? valueType ?? at
  }
  return bare(at)
}
