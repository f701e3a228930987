/**
 * Detects settings of a user or an organisation that disable the hooks of a client, or only turnbell's module in it.
 * Without hooks no doorbell rings although everything is wired, because turnbell learns the end of a turn from a hook.
 */
import fs from 'node:fs'
import path from 'node:path'
import { parse } from 'smol-toml'
import type { ClientKind } from '../../contracts/ids.ts'
import { handwrittenJson } from '../../contracts/validation/json.ts'
import { userDirectory } from '../../system/config/home.ts'
import { readText } from '../../system/files/watch-file.ts'
import type { Cli } from '../cli.ts'
import { isObject } from '../../contracts/validation/is-object.ts'

export interface SwitchedOff {
  detail: string
  hint: string
}

type Machine = Pick<Cli, 'env' | 'administratorFolder'>
/** One file of settings. `values` is null if the client cannot parse the file, and skips it. */
interface Layer {
  file: string
  managed: boolean
  values: Record<string, unknown> | null
}

/** Returns null if the client runs hooks, or has none. */
export function hooksSwitchedOff(cli: Machine, client: ClientKind, project: string): SwitchedOff | null {
  switch (client) {
    case 'claude-code': {
      const found = hookSwitch(claudeLayers(cli, project))
      return found === null ? null : off('Claude Code', found.key, found.layer)
    }
    case 'codex':
      return ofCodex(cli, project)
    case 'opencode':
      return null
  }
}

/** Returns the settings files of this project that Claude Code skips, because they are not plain JSON. */
export function skippedSettings(cli: Machine, project: string): string[] {
  return claudeLayers(cli, project).flatMap(({ file, values }) => (values === null ? [file] : []))
}

/**
 * Returns the settings that keep Claude Code from loading turnbell's module; null if these files allow it. Without a
 * project only the user's and the administrator's settings are read.
 */
export function moduleSwitchedOff(cli: Machine, project: string | null): SwitchedOff | null {
  const layers = claudeLayers(cli, project)
  const hooks = hookSwitch(layers)
  if (hooks !== null) {
    const { hint } = off('Claude Code', hooks.key, hooks.layer)
    return { detail: `${hooks.key} in ${hooks.layer.file} disables modules and hooks of plugins`, hint }
  }
  const only = layers.find(({ managed, values }) => managed && managedModulesOnly(values) !== undefined)
  if (only === undefined || managedModulesOnly(only.values) !== true) return null
  return {
    detail: `allowManagedModsOnly in ${only.file} disables modules of plugins`,
    hint: `Nothing has to be done. For the module, ask the administrator of this machine to change allowManagedModsOnly in ${only.file}.`,
  }
}

/** Returns the folder of the administrator's settings. */
export function administratorFolder(platform: NodeJS.Platform, client: ClientKind): string {
  if (client === 'codex') return platform === 'win32' ? 'C:\\ProgramData\\OpenAI\\Codex' : '/etc/codex'
  if (platform === 'darwin') return '/Library/Application Support/ClaudeCode'
  return platform === 'win32' ? 'C:\\Program Files\\ClaudeCode' : '/etc/claude-code'
}

/** Returns the layers by precedence: the first that sets a value decides. */
function claudeLayers({ env, administratorFolder }: Machine, project: string | null): Layer[] {
  const system = administratorFolder('claude-code')
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
  const in_project = ['settings.local.json', 'settings.json'].map((name) =>
    path.join(project ?? '', '.claude', name),
  )
  const others = [...(project === null ? [] : in_project), path.join(own, 'settings.json')]
  return [...managed.map((file) => layer(file, true)), ...others.map((file) => layer(file, false))].flatMap(
    (one) => one ?? [],
  )
}

function layer(file: string, managed: boolean): Layer | null {
  const text = readText(file)
  if (text === null || text.trim() === '') return null
  try {
    const value = handwrittenJson(text)
    return { file, managed, values: isObject(value) ? value : null }
  } catch {
    return { file, managed, values: null }
  }
}

/** Returns the key and file that disable hooks of Claude Code, which also disable modules. */
function hookSwitch(layers: readonly Layer[]): { key: string; layer: Layer } | null {
  const deciding = layers.find(({ values }) => typeof values?.['disableAllHooks'] === 'boolean')
  if (deciding?.values?.['disableAllHooks'] === true) return { key: 'disableAllHooks', layer: deciding }
  const only = layers.find(({ managed, values }) => managed && values?.['allowManagedHooksOnly'] === true)
  return only === undefined ? null : { key: 'allowManagedHooksOnly', layer: only }
}

/** An option of the client's built-in plugin that guards managed machines; undefined if it is not set. */
function managedModulesOnly(values: Layer['values']): boolean | undefined {
  const guard = ['pluginConfigs', 'cc-plugin-sec-default@builtin', 'options']
  const options = guard.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), values)
  const only = isObject(options) ? options['allowManagedModsOnly'] : undefined
  return typeof only === 'boolean' ? only : undefined
}

function ofCodex({ env, administratorFolder }: Machine, project: string): SwitchedOff | null {
  const system = administratorFolder('codex')
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
    const hooks = isObject(features) ? features['hooks'] : undefined
    if (typeof hooks === 'boolean') return hooks ? null : off('Codex', 'features.hooks = false', one)
  }
  return null
}

function off(client: string, key: string, { file, managed }: Pick<Layer, 'file' | 'managed'>): SwitchedOff {
  return {
    detail: `${client} runs no hooks of turnbell because of ${key} in ${file}; tools work, but no doorbell rings`,
    hint: managed
      ? `Ask the administrator of this machine to change ${key} in ${file}. Until then check \`turnbell pending\`.`
      : `Remove ${key} from ${file}.`,
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
