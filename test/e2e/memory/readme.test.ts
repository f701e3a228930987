/** Runs the five lines for one agent from the README. */
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BIN, cleanEnvironment, end, startHub, temporaryHome } from '../../support/processes/processes.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const run = promisify(execFile)
let hub: Awaited<ReturnType<typeof startHub>>
let home: string
beforeAll(async () => {
  home = temporaryHome()
  hub = await startHub(home)
})
afterAll(() => end(hub))

test('the five lines for one agent in the README work', async () => {
  const readme = fs.readFileSync(path.resolve(import.meta.dirname, '../../../README.md'), 'utf8')
  const [, page = ''] = readme.split('## Shared memory for one agent\n')
  const lines = (/```sh\n([\s\S]*?)```/.exec(page)?.[1] ?? '').trim().split('\n')
  expect(lines).toHaveLength(5)

  const programs = temporaryDirectory()
  fs.writeFileSync(path.join(programs, 'turnbell'), `#!/bin/sh\nexec "${process.execPath}" "${BIN}" "$@"\n`, {
    mode: 0o755,
  })
  const project = temporaryDirectory()
  const env = cleanEnvironment({
    ...{ TURNBELL_HOME: home, HOME: home, PATH: `${programs}:${process.env['PATH'] ?? ''}` },
  })
  const typed = async (line: string) => (await run('sh', ['-c', line], { cwd: project, env })).stdout
  await typed('git init --quiet')
  const said: string[] = []
  for (const line of lines) said.push(await typed(line))

  const [, , why = '', assembled = ''] = said
  expect(why).toContain('A token cannot be taken back.')
  expect(assembled).toContain('Sessions in Redis, not tokens')
  expect(assembled).toContain('need Redis on port 6379')
  const staged = (await typed('git diff --cached --name-only')).split('\n')
  expect(staged).toContain('.turnbell/blackboard.jsonl')
  expect(staged).toContain('.turnbell/decisions/index.json')
  expect(staged.filter((name) => /lock|\.new|archive\/|embeddings/.test(name))).toEqual([])
})
