/**
 * Settings of a person or an organisation by which a client runs none of the hooks that turnbell writes. Everything is
 * wired and in order then, and no doorbell ever rings: a turn's end is learned from a hook.
 */
import fs from 'node:fs'
import path from 'node:path'
import { parse } from 'smol-toml'
import type { ClientKind } from '../../contracts/ids.ts'
import { handwrittenJson } from '../../contracts/json.ts'
import { userDirectory } from '../../system/home.ts'
import { readText } from '../../system/watch-text.ts'
import type { Cli } from '../cli.ts'

export interface SwitchedOff {
  detail: string
  hint: string
}

type Machine = Pick<Cli, 'env' | 'platform'>
/** One file of settings; `values` is null where the client cannot read it, and skips it. */
interface Layer {
  file: string
  managed: boolean
  values: Record<string, unknown> | null
}

/** Null where the client runs hooks, or knows none. `system` is where an administrator's settings are. */
export function hooksSwitchedOff(
  cli: Machine,
  client: ClientKind,
  project: string,
  system = systemFolder(cli.platform, client),
): SwitchedOff | null {
  switch (client) {
    case 'claude-code':
      return ofClaudeCode(claudeLayers(cli, project, system))
    case 'codex':
      return ofCodex(cli, project, system)
    case 'opencode':
      return null
  }
}

/** Settings files that Claude Code reads in this project and skips as a whole, because they are not plain JSON. */
export function skippedSettings(
  cli: Machine,
  project: string,
  system = systemFolder(cli.platform, 'claude-code'),
): string[] {
  return claudeLayers(cli, project, system).flatMap(({ file, values }) => (values === null ? [file] : []))
}

function systemFolder(platform: NodeJS.Platform, client: ClientKind): string {
  if (client === 'codex') return platform === 'win32' ? 'C:\\ProgramData\\OpenAI\\Codex' : '/etc/codex'
  if (platform === 'darwin') return '/Library/Application Support/ClaudeCode'
  return platform === 'win32' ? 'C:\\Program Files\\ClaudeCode' : '/etc/claude-code'
}

/** The strongest first: the first that sets a value decides. */
function claudeLayers({ env }: Machine, project: string, system: string): Layer[] {
  const own = env['CLAUDE_CONFIG_DIR'] || path.join(userDirectory(env['HOME']), '.claude')
  const drop_in = path.join(system, 'managed-settings.d')
  const parts = fs.existsSync(drop_in) ? fs.readdirSync(drop_in).filter((name) => name.endsWith('.json')) : []
  const managed = [
    ...parts
      .sort()
      .reverse()
      .map((name) => path.join(drop_in, name)),
    path.join(system, 'managed-settings.json'),
  ]
  const others = [
    path.join(project, '.claude', 'settings.local.json'),
    path.join(project, '.claude', 'settings.json'),
    path.join(own, 'settings.json'),
  ]
  return [...managed.map((file) => layer(file, true)), ...others.map((file) => layer(file, false))].flatMap(
    (one) => one ?? [],
  )
}

function layer(file: string, managed: boolean): Layer | null {
  const text = readText(file)
  if (text === null || text.trim() === '') return null
  try {
    const value = handwrittenJson(text)
    return { file, managed, values: isMap(value) ? value : null }
  } catch {
    return { file, managed, values: null }
  }
}

function ofClaudeCode(layers: readonly Layer[]): SwitchedOff | null {
  const deciding = layers.find(({ values }) => typeof values?.['disableAllHooks'] === 'boolean')
  if (deciding?.values?.['disableAllHooks'] === true) return off('Claude Code', 'disableAllHooks', deciding)
  const only = layers.find(({ managed, values }) => managed && values?.['allowManagedHooksOnly'] === true)
  return only === undefined ? null : off('Claude Code', 'allowManagedHooksOnly', only)
}

function ofCodex({ env }: Machine, project: string, system: string): SwitchedOff | null {
  const own = env['CODEX_HOME'] || path.join(userDirectory(env['HOME']), '.codex')
  const requirements = path.join(system, 'requirements.toml')
  if (tomlIn(requirements)?.['allow_managed_hooks_only'] === true)
    return off('Codex', 'allow_managed_hooks_only', { file: requirements, managed: true })
  const files = [
    { file: path.join(system, 'managed_config.toml'), managed: true },
    { file: path.join(project, '.codex', 'config.toml'), managed: false },
    { file: path.join(own, 'config.toml'), managed: false },
  ]
  for (const one of files) {
    const features = tomlIn(one.file)?.['features']
    const hooks = isMap(features) ? features['hooks'] : undefined
    if (typeof hooks === 'boolean') return hooks ? null : off('Codex', 'features.hooks = false', one)
  }
  return null
}

function off(client: string, key: string, { file, managed }: Pick<Layer, 'file' | 'managed'>): SwitchedOff {
  return {
    detail: `${client} runs no hooks of turnbell: ${key} in ${file}. Its tools work, but no doorbell rings`,
    hint: managed
      ? `Whoever administers this machine can allow them, by ${key} in ${file}. Until then look with \`turnbell pending\`.`
      : `Take ${key} out of ${file}.`,
  }
}

function tomlIn(file: string): Record<string, unknown> | null {
  const text = readText(file)
  try {
    return text === null ? null : parse(text)
  } catch {
    return null
  }
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
