import { execFile } from 'node:child_process'
import path from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const RUN = path.resolve(import.meta.dirname, '../../../bench/run.mjs')

test('the help lists what runs only if it is named', async () => {
  const said = await new Promise((resolve) => {
    execFile(process.execPath, [RUN, '--help'], (_, stdout) => resolve(stdout))
  })
  expect(said).toMatch(/^All of them if none is named: (?!.*claude-).* team\.$/m)
  expect(said).toMatch(/^Only if named, .*: claude-events claude-run\.$/m)
})

/** Returns the first line that the bench prints when it is called in this directory. */
function complaint(cwd: string, npm: NodeJS.ProcessEnv) {
  const { npm_lifecycle_event: _, ...env } = process.env
  const called = { cwd, env: { ...env, ...npm } }
  return new Promise((resolve) => {
    execFile(process.execPath, [RUN, '--dir', 'homes'], called, (error, said, complained) =>
      resolve({ code: error?.code, said, complained: complained.split('\n')[0] }),
    )
  })
}

test('a directory is resolved from where the bench was called, which npm passes on', async () => {
  const place = temporaryDirectory()
  const missing = { code: 2, said: '', complained: `--dir: ${place}/homes is no directory` }
  const npm = { npm_lifecycle_event: 'bench', INIT_CWD: place }
  const both = [complaint(place, {}), complaint(path.dirname(RUN), npm)]
  expect(await Promise.all(both)).toEqual([missing, missing])
})
