/**
 * Runs a part of `npm run crash-points`: the real hub is recorded under a workload, with crashes at calls all over the
 * trace. `test/crash-points` describes the calls and the possible states.
 */
import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { explore } from '../crash-points/explore.ts'
import { placeForFiles, recordStory } from '../crash-points/recorded.ts'
import { bundle } from '../support/command/bundle.ts'
import { partOfCommit } from '../support/command/commit-part.mjs'
import { temporaryDirectory } from '../support/temporary-directory.ts'

/**
 * Number of points, spread over the trace. The commit's hash chooses one of three parts; `npm run prove` crashes at
 * every call.
 */
const POINTS = 90
const PARTS = 3
/** The start after this share of the story is crashed as well, at every n-th of its own points. */
const START = { share: 0.4, every: 4 }

test('the state after a crash at any point is one that existed before', async () => {
  const [directory, root] = [temporaryDirectory(), placeForFiles()]
  onTestFinished(() => fs.rmSync(root, { recursive: true }))
  const program = await bundle('test/crash-points/recorded-process.ts', temporaryDirectory())
  const story = await recordStory(program, directory, root)
  const calls = story.trace.calls.length
  const startAt =
    1 + story.trace.calls.findIndex((call, at) => at > calls * START.share && call.do === 'write')
  const stride = Math.floor(calls / POINTS)
  const part = partOfCommit(PARTS)
  const tried = await explore(story, {
    ...{ seed: 1, torn: 1 },
    wanted: (at) => at % stride === 0 && (at / stride) % PARTS === part - 1,
    starts: {
      ...{ program, trace: path.join(directory, 'start.jsonl'), every: START.every },
      wanted: (at) => at === startAt,
    },
  })
  expect(tried.failures).toEqual([])
  expect(tried.starts).toBe(2)
  // The story contains each kind of call, so a kind that is no longer recorded is detected.
  expect(new Set(Object.keys(tried.points))).toEqual(
    new Set([
      ...['writes', 'truncates', 'syncs', 'renames', 'creations', 'links', 'removes'],
      ...['directories made', 'directories removed'],
    ]),
  )
}, 300_000)
