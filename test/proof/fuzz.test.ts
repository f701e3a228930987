/** Runs the bounded part of `test/fuzz`: regression inputs, the seeds of every target, and mutations of them. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { TARGETS } from '../fuzz/targets/all.ts'
import { TARGET_NAMES } from '../fuzz/targets/names.mjs'

const INPUTS = 20_000
const RUN = fileURLToPath(new URL('../fuzz/run.mjs', import.meta.url))

test('the help lists every fuzz target', () => {
  expect(TARGETS.map(({ name }) => name)).toEqual(TARGET_NAMES)
})

test(
  `${INPUTS} inputs break no promise of any parser that faces the outside`,
  { timeout: 600_000 },
  async () => {
    const run = promisify(execFile)(process.execPath, [RUN, '--inputs', String(INPUTS), '--seed', '1'])
    const { stdout } = await run.catch((error: { stdout: string; stderr: string }) => error)
    process.stdout.write(stdout)
    const lines = stdout.trimEnd().split('\n')
    const told = lines.map((line) => /^(\S+) +(\d+) inputs .*?(\d+) crashes/.exec(line)?.slice(1, 4))
    expect(told.map((line) => line?.[0]).toSorted()).toEqual([...TARGET_NAMES, 'total'].toSorted())
    expect(told.map((line) => line?.[2]).filter((crashes) => crashes !== '0')).toEqual([])
    expect(Number(told.at(-1)?.[1])).toBeGreaterThanOrEqual(INPUTS)
  },
)
