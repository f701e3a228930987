/** What the configuration lets the hub offer. */
import type { Config } from '../contracts/config.ts'
import type { Kernel } from '../kernel/dispatch.ts'
import type { Grants } from '../kernel/policy.ts'
import type { Log } from '../ports/log.ts'

export function grantsOf({ mcp }: Config): Grants {
  return { facets: mcp.expose, pro: mcp.pro, intents: mcp.intents }
}

/** Says what was probably misspelt: a facet or a facade that nothing here has. */
export function warnOfUnknown(kernel: Kernel, log: Pick<Log, 'warn'>): void {
  const { registry } = kernel
  const { facets, intents } = kernel.grants()
  const known = [...new Set(registry.facades.map(({ facet }) => facet))]
  const strange = facets.filter((facet) => !known.includes(facet))
  if (strange.length > 0) {
    const detail = `${strange.join(', ')}; there are ${known.join(', ')}`
    log.warn({ key: 'mcp.expose', detail }, 'a facet is exposed that no facade belongs to')
  }
  for (const [intent, facades] of Object.entries(intents)) {
    const missing = facades.filter((name) => registry.facade(name) === null)
    if (missing.length === 0) continue
    log.warn(
      { key: `mcp.intents.${intent}`, detail: missing.join(', ') },
      'an intent names a facade that is not there',
    )
  }
}

/** Takes in the configuration as it is now. */
export function exposeAnew(kernel: Kernel, config: Config, log: Log): void {
  const before = JSON.stringify(kernel.grants())
  kernel.offer(grantsOf(config))
  if (JSON.stringify(kernel.grants()) === before) return
  log.info({ ...kernel.grants() }, 'the configuration offers something else now')
  warnOfUnknown(kernel, log)
}
