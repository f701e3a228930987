/** Reads the configuration: default < `config.yaml` < environment < flag, one schema for all. */
import fs from 'node:fs'
import { parseDocument } from 'yaml'
import type { z } from 'zod'
import { Config, type ConfigInput } from '../contracts/config.ts'
import { describeIssues, TurnbellError } from '../contracts/errors.ts'

/** Environment variables that set a key. All others that begin with TURNBELL_ are left to their owners. */
export const ENVIRONMENT_KEYS: Record<string, readonly string[]> = {
  TURNBELL_TENANT: ['tenant_id'],
  TURNBELL_HUB_HOST: ['hub', 'host'],
  TURNBELL_HUB_PORT: ['hub', 'port'],
  TURNBELL_HUB_URL: ['hub', 'url'],
  TURNBELL_STORE: ['hub', 'store'],
  TURNBELL_BEHIND_PROXY: ['hub', 'behind_proxy'],
  TURNBELL_RECONNECT_RING: ['daemon', 'reconnect_ring'],
  TURNBELL_RECONNECT_PATIENCE_MS: ['daemon', 'reconnect_patience_ms'],
  TURNBELL_BELL_RECEIPT_MS: ['daemon', 'bell_receipt_ms'],
  TURNBELL_REDOORBELL_MAX: ['daemon', 'redoorbell_max'],
  TURNBELL_LOG_LEVEL: ['log', 'level'],
  TURNBELL_CLAUDE_CODE: ['clients', 'claude_code'],
}

type Tree = { [key: string]: unknown }

/**
 * @throws `config_invalid`, naming the source, the key, what was found and what is allowed.
 */
export function loadConfig(file: string, env: NodeJS.ProcessEnv, flags: ConfigInput = {}): Config {
  const fromFile = readFile(file)
  check(fromFile, file)
  const fromEnv = readEnvironment(env)
  check(fromEnv, 'the environment')
  return check(merge(merge(fromFile, fromEnv), flags), 'the command line')
}

function readFile(file: string): Tree {
  let text: string
  try {
    text = fs.readFileSync(file, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw new TurnbellError('config_invalid', { detail: `${file} cannot be read: ${String(cause)}`, cause })
  }
  const document = parseDocument(text, { prettyErrors: true })
  const [error] = document.errors
  if (error) throw new TurnbellError('config_invalid', { detail: `${file}: ${error.message}` })
  const value: unknown = document.toJS()
  if (value === null || value === undefined) return {}
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new TurnbellError('config_invalid', {
      detail: `${file}: expected keys and values at the top level`,
    })
  }
  return value as Tree
}

function readEnvironment(env: NodeJS.ProcessEnv): Tree {
  const tree: Tree = {}
  for (const [name, path] of Object.entries(ENVIRONMENT_KEYS)) {
    const text = env[name]
    if (text === undefined || text === '') continue
    const leaf = path.at(-1) as string
    let at = tree
    for (const key of path.slice(0, -1)) at = (at[key] ??= {}) as Tree
    at[leaf] = parseScalar(text)
  }
  return tree
}

function parseScalar(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true'
  return /^\d+$/.test(text) ? Number(text) : text
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

function check(tree: Tree, source: string): Config {
  const parsed = Config.safeParse(tree)
  if (parsed.success) return parsed.data
  const found = parsed.error.issues
    .slice(0, 1)
    .map((issue) =>
      JSON.stringify(
        issue.path.reduce<unknown>((at, key) => (isTree(at) ? at[String(key)] : undefined), tree),
      ),
    )
  const [issue] = parsed.error.issues
  if (issue?.code === 'unrecognized_keys') {
    const place = issue.path.map(String)
    const keys = issue.keys.map((key) => [...place, key].join('.')).join(', ')
    throw new TurnbellError('config_invalid', {
      detail: `${source}: there is no key ${keys}; allowed here: ${keysAt(place).join(', ')}`,
    })
  }
  throw new TurnbellError('config_invalid', {
    detail: `${source}: ${describeIssues(parsed.error)}; found ${found[0] ?? 'nothing'}`,
  })
}

/** The keys that the schema has at a place: through defaults to objects, through records to their values. */
function keysAt(place: readonly string[]): string[] {
  let at: z.core.$ZodType = Config
  const bare = (schema: z.core.$ZodType): z.core.$ZodType => {
    const { innerType } = schema._zod.def as { innerType?: z.core.$ZodType }
    return innerType === undefined ? schema : bare(innerType)
  }
  for (const key of place) {
    const { shape, valueType } = bare(at)._zod.def as {
      shape?: Record<string, z.core.$ZodType>
      valueType?: z.core.$ZodType
    }
    at = shape?.[key] ?? valueType ?? at
  }
  const { shape } = bare(at)._zod.def as { shape?: Record<string, unknown> }
  return Object.keys(shape ?? {})
}
