/** Runs a program in the project, without a shell: `argv` is passed unchanged. */
import * as z from 'zod'
import { defineStep } from '../step-type.ts'
import { TurnbellError } from '../../../contracts/errors/errors.ts'
import { LIMITS } from '../../../contracts/limits/limits.ts'
import { ProgramArgv, ProgramDirectory } from '../../../contracts/runs/routine.ts'

const EXIT_CODE_MAX = 255

export const execStep = defineStep({
  name: 'exec',
  summary: 'Runs a program in the project: its exit code and the end of what it wrote are the result.',
  mutates: true,
  leash: 'exec',
  input: z.strictObject({
    argv: ProgramArgv,
    cwd: ProgramDirectory,
    timeout_ms: z.number().int().min(100).max(LIMITS.program_ms_max).default(LIMITS.program_ms),
    expect_exit: z.number().int().min(0).max(EXIT_CODE_MAX).default(0),
  }),
  check({ argv, cwd }, { reach, root }) {
    reach.permitProgram(argv)
    reach.directory(root(), cwd)
  },
  async run({ argv, cwd, timeout_ms, expect_exit }, { reach, root }) {
    reach.permitProgram(argv)
    const {
      exit_code,
      timed_out,
      stdout,
      stderr,
      truncated: cut,
    } = await reach.run({
      argv,
      root: root(),
      cwd,
      timeout_ms,
    })
    const result = { exit_code, stdout, stderr, cut }
    if (exit_code === expect_exit && !timed_out) return { result }
    const command = argv.join(' ').slice(0, 200)
    if (timed_out) {
      const detail = `${command} was terminated after ${timeout_ms} ms.`
      return {
        result,
        failure: new TurnbellError('timed_out', { detail, hint: 'Pass a longer timeout_ms.' }),
      }
    }
    const how =
      exit_code === null ? 'was terminated by a signal' : `ended with code ${exit_code}, not ${expect_exit}`
    return { result, failure: new TurnbellError('program_failed', { detail: `${command} ${how}.` }) }
  },
})
