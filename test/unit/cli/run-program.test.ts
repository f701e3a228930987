import { expect, test } from 'vitest'
import { runProgram } from '../../../src/cli/run-program.ts'

test("a program's output and exit code are returned", async () => {
  const said = await runProgram('sh', ['-c', 'echo out; echo err >&2; exit 3'], { within_ms: 60_000 })
  expect(said).toEqual({ code: 3, stdout: 'out\n', stderr: 'err\n' })
})

test('a missing program has no exit code', async () => {
  expect(await runProgram('no-such-program', [])).toMatchObject({ code: null })
})

test('a program is killed at its time limit', async () => {
  const said = await runProgram('sleep', ['600'], { within_ms: 100 })
  expect(said).toMatchObject({ code: null, late: true })
})
