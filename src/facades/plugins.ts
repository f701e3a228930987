/** Plugins of the hub. */
import * as z from 'zod'
import { defineAction, defineFacade, READERS } from '../kernel/define.ts'
import { PluginReport } from '../contracts/plugin.ts'

export const plugins = defineFacade({
  name: 'plugins',
  summary: 'The plugins of this hub.',
  compact: 'The plugins of this hub.',
  facet: 'core',
  actions: {
    list: defineAction({
      summary: 'Configured plugins, with what each provides or why it was not loaded.',
      mutates: false,
      input: z.strictObject({}),
      output: z.object({ plugins: z.array(PluginReport) }),
      errors: [],
      allow: READERS,
      handle: (_, { modules: { plugins } }) => ({ plugins: [...plugins] }),
    }),
  },
})
