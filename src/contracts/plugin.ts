/** Load result of a configured plugin. */
import * as z from 'zod'

export const PluginReport = z.object({
  /** Path or package from the configuration. */
  plugin: z.string(),
  /** Name from the plugin's manifest; null if it could not be read. */
  name: z.string().nullable(),
  /** Its facades, record kinds and step types; empty if it was not loaded. */
  facades: z.array(z.string()),
  kinds: z.array(z.string()),
  steps: z.array(z.string()),
  /** Reason why it was not loaded; null if it is loaded. */
  problem: z.string().nullable(),
})
export type PluginReport = z.infer<typeof PluginReport>
