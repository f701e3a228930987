/** What others have added to this hub. */
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
      summary: 'The plugins that the configuration names, with what each added, or why it was left out.',
      mutates: false,
      input: z.strictObject({}),
      output: z.object({ plugins: z.array(PluginReport) }),
      errors: [],
      allow: READERS,
      handle: (_, { plugins }) => ({ plugins: [...plugins] }),
    }),
  },
})
