/** What turnbell can do. One line per facade, in the order in which they are shown. */
import type { Facade } from '../kernel/define.ts'
import { personas } from './personas.ts'
import { plugins } from './plugins.ts'
import { projects } from './projects.ts'
import { signals } from './signals.ts'
import { tool } from './tool.ts'

export const FACADES: readonly Facade[] = [signals, tool, personas, projects, plugins]
