/** Records the workload once, and verifies that the trace contains every change to the files. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { Ending } from '../support/command/ending.mjs'
import { withSaid, type Recording } from './hub-process.ts'
import { play } from './play.ts'
import { beginningOf, keepTold, readStory, traceIn, type Story } from './story.ts'
import type { Tree } from './recorded-files.ts'
import { workload } from './workload.ts'

/** Returns an in-memory directory if the system has one, because the test depends on contents and not on speed. */
export function placeForFiles(): string {
  const shared = '/dev/shm'
  const root = fs.mkdtempSync(path.join(isWritable(shared) ? shared : os.tmpdir(), 'turnbell-crash-points-'))
  fs.chmodSync(root, 0o700)
  return fs.realpathSync(root)
}

function isWritable(directory: string): boolean {
  try {
    fs.accessSync(directory, fs.constants.W_OK)
    return true
  } catch {
    return false
  }
}

/**
 * `program` is the bundle of `recorded-process.ts`. The story is stored in `directory`. Throws if the trace is
 * incomplete.
 */
export async function recordStory(
  program: string,
  directory: string,
  root: string,
  ending?: Ending,
): Promise<Story> {
  const recording: Recording = { program, root, trace: traceIn(directory) }
  if (ending !== undefined) recording.ending = ending
  return withSaid(recording, async () => {
    keepTold(directory, await play(recording, workload))
    const story = readStory(directory)
    const files = beginningOf(story)
    for (const call of story.trace.calls) files.apply(call)
    needComplete(files.killed(), root)
    return story
  })
}

function needComplete(tree: Tree, root: string): void {
  const real = fs.readdirSync(root, { recursive: true }).map((name) => path.join(root, String(name)))
  const names = new Set([...real, ...tree.keys()])
  for (const name of names) {
    const leaf = tree.get(name)
    const stat = fs.lstatSync(name, { throwIfNoEntry: false })
    const same =
      leaf === 'directory'
        ? stat?.isDirectory() === true
        : leaf !== undefined && stat?.isFile() === true && fs.readFileSync(name).equals(leaf.bytes)
    if (!same) throw new Error(`the trace is not complete: ${name} is not what the recorded calls make of it`)
  }
}
