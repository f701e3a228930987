import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { bundle } from '../../support/command/bundle.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import type { Told } from '../../support/disk/without-descriptors.ts'

test('a process without free descriptors gets an error from everything it would start, and continues', async () => {
  const directory = temporaryDirectory()
  const script = await bundle('test/support/disk/without-descriptors.ts', directory)
  const limited = ['-c', 'ulimit -n 64; exec "$0" "$@"', process.execPath, script, directory]
  const { stdout, stderr } = spawnSync('sh', limited, { encoding: 'utf8' })
  expect(stdout, stderr).not.toBe('')
  expect(JSON.parse(stdout) as Told).toEqual({
    program: 'program_failed',
    git: 'git_unavailable',
    child: expect.stringContaining('EMFILE') as string,
  })
})
