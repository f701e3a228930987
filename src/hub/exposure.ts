/** Exposure of facets and facades, as configured under `mcp`. */
import type { Config } from '../contracts/config.ts'
import type { Kernel } from '../kernel/dispatch.ts'
import type { Grants } from '../kernel/policy.ts'
import type { Log } from '../ports/log.ts'

export function grantsOf({ mcp }: Config): Grants {
  return { facets: mcp.expose, pro: mcp.pro, intents: mcp.intents }
}

/** Warns about unknown facets and facades in the configuration, which are probably misspelt. */
export function warnOfUnknown(kernel: Kernel, log: Pick<Log, 'warn'>): void {
  const { registry } = kernel
  const { facets, intents } = kernel.grants()
  const known = [...new Set(registry.facades.map(({ facet }) => facet))]
  const unknown = facets.filter((facet) => !known.includes(facet))
  if (unknown.length > 0) {
    const detail = `${unknown.join(', ')}; known facets: ${known.join(', ')}`
    log.warn({ key: 'mcp.expose', detail }, 'exposed facet has no facade')
  }
  for (const [intent, facades] of Object.entries(intents)) {
    const missing = facades.filter((name) => registry.facade(name) === null)
    if (missing.length === 0) continue
    log.warn({ key: `mcp.intents.${intent}`, detail: missing.join(', ') }, 'intent names an unknown facade')
  }
}

/** Applies the exposure of a new configuration. */
export function applyExposure(kernel: Kernel, config: Config, log: Log): void {
  const before = JSON.stringify(kernel.grants())
  kernel.setGrants(grantsOf(config))
  if (JSON.stringify(kernel.grants()) === before) return
  log.info({ ...kernel.grants() }, 'exposure changed by the configuration')
  warnOfUnknown(kernel, log)
}
