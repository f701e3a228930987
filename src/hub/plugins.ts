/** Plugins that the configuration names: taken in one by one, and left out with a word where one does not fit. */
import { inspect } from 'node:util'
import { manifestFrom, requireActions, requireKinds, requireOwnName, requireSteps } from './plugin-fit.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { PluginReport } from '../contracts/plugin.ts'
import type { RecordKind } from '../contracts/records.ts'
import type { Facade } from '../kernel/define.ts'
import { PLUGIN_API, pluginFacades, type Plugin, type PluginApi } from '../kernel/plugin.ts'
import { createRegistry } from '../kernel/registry.ts'
import { createKinds } from '../modules/records/kinds.ts'
import type { StepType } from '../modules/routines/step-type.ts'
import type { Clock } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'

export interface PluginNeeds {
  /** Paths or package names, in the order of the configuration. */
  plugins: readonly string[]
  /** Imports one; its module's default export is the manifest, or makes it of `PLUGIN_API`. */
  load: (plugin: string) => Promise<unknown>
  /** What is there already; no plugin may claim one of its names. */
  facades: readonly Facade[]
  steps: readonly StepType[]
  clock: Pick<Clock, 'after'>
  log: Pick<Log, 'warn' | 'info'>
}

export interface Plugins {
  /** Ours and theirs. */
  facades: readonly Facade[]
  /** Theirs, besides those that facades declare. */
  kinds: readonly RecordKind[]
  /** Theirs. */
  steps: readonly StepType[]
  reports: readonly PluginReport[]
}

/** Never rejects: a hub starts with whatever fits. */
export async function takeInPlugins(needs: PluginNeeds): Promise<Plugins> {
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
      // Refuses what claims a name that is taken.
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
      needs.log.info(added, 'a plugin was taken in')
    } catch (err) {
      report.problem = reasonOf(err)
      needs.log.warn({ plugin, err, detail: report.problem }, `the plugin ${plugin} was left out`)
    }
    reports.push(report)
  }
  return { facades, kinds, steps, reports }
}

async function manifestOf(loading: Promise<unknown>): Promise<Plugin> {
  const { default: told } = ((await loading) ?? {}) as { default?: unknown }
  if (told === undefined) throw new Error('its module has no default export')
  const manifest: unknown =
    typeof told === 'function' ? await (told as (api: PluginApi) => unknown)(PLUGIN_API) : told
  return manifestFrom(manifest)
}

/** Whatever was thrown, in words: a plugin may throw anything, and each has to be told from the others. */
function reasonOf(thrown: unknown): string {
  try {
    const said: unknown = thrown instanceof Error ? thrown.message : thrown
    const words = typeof said === 'string' && said.trim() !== '' ? said : null
    const reason = words ?? `it threw ${inspect(thrown)} while it was loaded`
    return reason.slice(0, LIMITS.plugin_problem_length_max)
  } catch {
    return 'it threw what cannot be told while it was loaded'
  }
}

/** A module may wait for something at its top level, and for ever. */
function inTime<T>(loading: Promise<T>, clock: PluginNeeds['clock']): Promise<T> {
  return new Promise((resolve, reject) => {
    const patience_ms = LIMITS.plugin_load_ms
    const timer = clock.after(patience_ms, () =>
      reject(new Error(`it was not loaded within ${patience_ms} ms`)),
    )
    loading.then(resolve, reject).finally(() => timer.cancel())
  })
}
