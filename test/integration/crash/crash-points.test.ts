/**
 * A part of `npm run crash-points`: the real hub is recorded while it does everything by which it changes files, and a
 * crash comes after calls all over the trace. Which calls those are, and what a crash may leave, is `test/crash-points`.
 */
import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { explore } from '../../crash-points/explore.ts'
import { placeForFiles, recordStory } from '../../crash-points/recorded.ts'
import { bundle } from '../../support/bundle.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const POINTS = 120

test('whatever the hub has done when it crashes, the next start finds a state that was true', async () => {
  const [directory, root] = [temporaryDirectory(), placeForFiles()]
  onTestFinished(() => fs.rmSync(root, { recursive: true }))
  const program = await bundle('test/crash-points/recorded-process.ts', temporaryDirectory())
  const story = await recordStory(program, directory, root)
  const calls = story.trace.calls.length
  const tried = await explore(story, {
    ...{ seed: 1, torn: 1 },
    wanted: (at) => at % Math.floor(calls / POINTS) === 0,
    starts: { program, trace: path.join(directory, 'start.jsonl'), wanted: () => false },
  })
  expect(tried.failures).toEqual([])
  // Each kind of call is in the story, so none of them can go past unseen.
  expect(Object.keys(tried.points).sort()).toEqual(
    ['creations', 'directories made', 'directories removed', 'links', 'removes', 'renames'].concat([
      ...['syncs', 'truncates', 'writes'],
    ]),
  )
}, 120_000)
