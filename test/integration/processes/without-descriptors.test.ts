import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { bundle } from '../../support/bundle.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import type { Told } from '../../support/without-descriptors.ts'

test('a process without room for more files is told so by whatever it would start, and goes on', async () => {
  const directory = temporaryDirectory()
  const script = await bundle('test/support/without-descriptors.ts', directory)
  const limited = ['-c', 'ulimit -n 64; exec "$0" "$@"', process.execPath, script, directory]
  const { stdout, stderr } = spawnSync('sh', limited, { encoding: 'utf8' })
  expect(stdout, stderr).not.toBe('')
  expect(JSON.parse(stdout) as Told).toEqual({
    program: 'program_failed',
    git: 'git_unavailable',
    child: expect.stringContaining('EMFILE') as string,
  })
})
