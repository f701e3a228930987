/** Loads the configured plugins one by one; a plugin with a problem is skipped and reported. */
import { inspect } from 'node:util'
import {
  manifestFrom,
  requireActions,
  requireKinds,
  requireOwnName,
  requireSteps,
} from './validate-plugin.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { PluginReport } from '../../contracts/plugin.ts'
import type { RecordKind } from '../../contracts/memory/records.ts'
import type { Facade } from '../../kernel/define.ts'
import { PLUGIN_API, pluginFacades, type Plugin, type PluginApi } from '../../kernel/plugins/plugin.ts'
import { createRegistry } from '../../kernel/registry.ts'
import { createKinds } from '../../modules/records/kinds.ts'
import type { StepType } from '../../modules/routines/step-type.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'

export interface PluginNeeds {
  /** Paths or package names, in the order of the configuration. */
  plugins: readonly string[]
  /** Imports a plugin. Its default export is the manifest, or a function of `PLUGIN_API` that returns it. */
  load: (plugin: string) => Promise<unknown>
  /** Built-in facades and steps; their names are reserved. */
  facades: readonly Facade[]
  steps: readonly StepType[]
  clock: Pick<Clock, 'after'>
  log: Pick<Log, 'warn' | 'info'>
}

export interface Plugins {
  /** Built-in facades and those of plugins. */
  facades: readonly Facade[]
  /** Record kinds of plugins that belong to no facade. */
  kinds: readonly RecordKind[]
  /** Step types of plugins. */
  steps: readonly StepType[]
  reports: readonly PluginReport[]
}

/** Never rejects: the hub starts without the plugins that cannot be loaded. */
export async function loadPlugins(needs: PluginNeeds): Promise<Plugins> {
  let facades = needs.facades
  let kinds: readonly RecordKind[] = []
  let steps: readonly StepType[] = []
  const reports: PluginReport[] = []
  for (const plugin of needs.plugins) {
    const report: PluginReport = {
      ...{ plugin, name: null, facades: [], kinds: [], steps: [], problem: null },
    }
    try {
      const manifest = await inTime(manifestOf(needs.load(plugin)), needs.clock)
      report.name = manifest.name
      const theirs = pluginFacades(manifest)
      requireOwnName(manifest, needs.facades)
      requireActions(theirs)
      // `createRegistry` and `createKinds` throw if a name is in use.
      createRegistry([...facades, ...theirs])
      createKinds(createRegistry(facades, [...kinds, ...(manifest.kinds ?? [])]).kinds)
      requireKinds(manifest.kinds ?? [], [...facades, ...theirs])
      requireSteps([...needs.steps, ...steps], manifest.steps ?? [])
      facades = [...facades, ...theirs]
      kinds = [...kinds, ...(manifest.kinds ?? [])]
      steps = [...steps, ...(manifest.steps ?? [])]
      report.facades = theirs.map(({ name }) => name)
      report.kinds = (manifest.kinds ?? []).map(({ name }) => name)
      report.steps = (manifest.steps ?? []).map(({ name }) => name)
      const { problem: _, ...added } = report
      needs.log.info(added, 'plugin loaded')
    } catch (err) {
      report.problem = reasonOf(err)
      needs.log.warn({ plugin, err, detail: report.problem }, `plugin ${plugin} skipped`)
    }
    reports.push(report)
  }
  return { facades, kinds, steps, reports }
}

async function manifestOf(loading: Promise<unknown>): Promise<Plugin> {
  const { default: exported } = ((await loading) ?? {}) as { default?: unknown }
  if (exported === undefined) throw new Error('its module has no default export')
  const manifest: unknown =
    typeof exported === 'function' ? await (exported as (api: PluginApi) => unknown)(PLUGIN_API) : exported
  return manifestFrom(manifest)
}

/** Returns the reason as text; a plugin may throw any value. */
function reasonOf(thrown: unknown): string {
  try {
    const message: unknown = thrown instanceof Error ? thrown.message : thrown
    const text = typeof message === 'string' && message.trim() !== '' ? message : null
    const reason = text ?? `it threw ${inspect(thrown)} while it was loaded`
    return reason.slice(0, LIMITS.plugin_problem_length_max)
  } catch {
    return 'it threw a value that cannot be shown while it was loaded'
  }
}

/** Rejects after `plugin_load_ms`, because a module may wait forever in a top-level await. */
function inTime<T>(loading: Promise<T>, clock: PluginNeeds['clock']): Promise<T> {
  return new Promise((resolve, reject) => {
    const patience_ms = LIMITS.plugin_load_ms
    const timer = clock.after(patience_ms, () =>
      reject(new Error(`it was not loaded within ${patience_ms} ms`)),
    )
    loading.then(resolve, reject).finally(() => timer.cancel())
  })
}
