/** A program in the project. No shell: every entry of `argv` arrives as it is. */
import * as z from 'zod'
import { defineStep } from '../step-type.ts'
import { TurnbellError } from '../../../contracts/errors.ts'
import { LIMITS } from '../../../contracts/limits.ts'
import { ProgramArgv, ProgramDirectory } from '../../../contracts/routine.ts'

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
    const { exit_code, timed_out, stdout, stderr, cut } = await reach.run({
      argv,
      root: root(),
      cwd,
      timeout_ms,
    })
    const result = { exit_code, stdout, stderr, cut }
    if (exit_code === expect_exit && !timed_out) return { result }
    const command = argv.join(' ').slice(0, 200)
    if (timed_out) {
      const detail = `${command} did not end in ${timeout_ms} ms and was ended.`
      return {
        result,
        failure: new TurnbellError('timed_out', { detail, hint: 'Give it a longer timeout_ms.' }),
      }
    }
    const how =
      exit_code === null ? 'was ended from outside' : `ended with code ${exit_code}, not ${expect_exit}`
    return { result, failure: new TurnbellError('program_failed', { detail: `${command} ${how}.` }) }
  },
})
