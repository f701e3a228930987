/**
 * A part of `npm run crash-points`: the real hub is recorded at work, and a
 * crash comes after calls all over the trace. Which calls those are, and what a crash may leave, is `test/crash-points`.
 */
import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { explore } from '../crash-points/explore.ts'
import { placeForFiles, recordStory } from '../crash-points/recorded.ts'
import { bundle } from '../support/bundle.ts'
import { partOfCommit } from '../support/commit-part.mjs'
import { temporaryDirectory } from '../support/temporary-directory.ts'

/** Spread over the trace. The commit's hash chooses one of three parts; `npm run prove` crashes at every call. */
const POINTS = 90
const PARTS = 3
/** The start after this share of the story is crashed into as well, at every so many of its own points. */
const START = { share: 0.4, every: 4 }

test('whatever the hub has done when it crashes, the next start finds a state that was true', async () => {
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
  // Each kind of call is in the story, so none of them can go past unseen.
  expect(new Set(Object.keys(tried.points))).toEqual(
    new Set([
      ...['writes', 'truncates', 'syncs', 'renames', 'creations', 'links', 'removes'],
      ...['directories made', 'directories removed'],
    ]),
  )
}, 300_000)
