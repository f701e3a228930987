/**
 * Starts other processes (a program of a step, git, and a child) from a process without free file descriptors, and
 * prints their errors.
 */
import fs from 'node:fs'
import { toProblem } from '../../../src/contracts/errors/errors.ts'
import { startChild } from '../../../src/system/process/supervised-child.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { createGitRunner } from '../../../src/system/git/git-runner.ts'
import { createStepRunner } from '../../../src/system/process/step-runner.ts'

/** The code of each rejection, and why the child ended. */
export interface Told {
  program: string
  git: string
  child: string
}

const root = process.argv[2] as string
const { env } = process

function takeAll(): void {
  try {
    for (;;) fs.openSync('/dev/null', 'r')
  } catch {
    // The last descriptor is in use.
  }
}

const refusal = (work: Promise<unknown>) =>
  work.then(
    () => 'it ran',
    (error: unknown) => toProblem(error, 'test').code,
  )
const childEnd = () =>
  new Promise<string>((resolve) => {
    startChild({
      ...{ program: process.execPath, args: ['--version'], env },
      onLine() {},
      onExit: (_, reason) => resolve(reason),
    })
  })

takeAll()
const step = { argv: ['true'], root, cwd: '.', timeout_ms: 1_000, output_bytes_max: 1_000 }
const told: Told = {
  program: await refusal(createStepRunner({ env, clock: systemClock }).run(step)),
  git: await refusal(createGitRunner({ env, clock: systemClock }).open(root)),
  child: await childEnd(),
}
process.stdout.write(JSON.stringify(told))
