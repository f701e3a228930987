/**
 * `slice DIRECTORY PLAN`, a process of its own that explores a part of a story, and tells its parent what it tried. Each
 * recovery opens two hubs, and a hub measures its process for as long as that lives: so none may live for thousands.
 */
import path from 'node:path'
import { explore, type Tried } from './explore.ts'
import { readStory } from './story.ts'

export interface Plan {
  /** The bundle of `recorded-process.ts`. */
  program: string
  seed: number
  torn: number
  /** How many calls have ended: after each of these a crash, and into the start after these another one. */
  points: number[]
  starts: number[]
  only?: string
}

/** Sent after each point. `whole`: at the end, when all was tried. */
export interface SoFar {
  tried: Tried
  whole: boolean
}

// Who started it says what was found so far, and ends it.
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
