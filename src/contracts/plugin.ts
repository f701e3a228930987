/** What became of a plugin that the configuration names. */
import * as z from 'zod'

export const PluginReport = z.object({
  /** As the configuration names it: a path or a package. */
  plugin: z.string(),
  /** As it calls itself; null where it could not be read. */
  name: z.string().nullable(),
  /** Its facades, record kinds and step types; empty where it was left out. */
  facades: z.array(z.string()),
  kinds: z.array(z.string()),
  steps: z.array(z.string()),
  /** Why it was left out; null for one that is loaded. */
  problem: z.string().nullable(),
})
export type PluginReport = z.infer<typeof PluginReport>
