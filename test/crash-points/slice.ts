/**
 * `slice DIRECTORY PLAN`: a separate process that explores a part of a story and reports its progress to its parent.
 * Each recovery opens two hubs, and each hub keeps process metrics until the process ends, so one process may not run
 * thousands of them.
 */
import path from 'node:path'
import { explore, type Tried } from './explore.ts'
import { readStory } from './story.ts'

export interface Plan {
  /** The bundle of `recorded-process.ts`. */
  program: string
  seed: number
  torn: number
  /** Number of completed calls at each crash, and at each crash whose next start is crashed, too. */
  points: number[]
  starts: number[]
  only?: string
}

/** Sent after each point. `whole`: sent at the end, when all points were tried. */
export interface SoFar {
  tried: Tried
  whole: boolean
}

// The parent prints the results so far and ends this process.
process.on('SIGINT', () => undefined)
process.on('disconnect', () => process.exit())

const [directory = '', text = '{}'] = process.argv.slice(2)
const { program, seed, torn, points, starts, only } = JSON.parse(text) as Plan
const [chosen, started] = [new Set(points), new Set(starts)]
const say = (word: SoFar, sent: () => void) => process.send?.(word, sent)
const tried = await explore(readStory(directory), {
  ...{ seed, torn, wanted: (at) => chosen.has(at) },
  starts: { program, trace: path.join(directory, 'start.jsonl'), wanted: (at) => started.has(at) },
  ...(only === undefined ? {} : { only }),
  onTried: (so_far) => say({ tried: so_far, whole: false }, () => undefined),
})
say({ tried, whole: true }, () => process.disconnect())
