/** Claude Code with the module: no signal is lost or shown twice, whatever is late, repeated, lost or replaced. */
import { test } from 'vitest'
import { openClaudeRun } from '../../../support/fakes/random-claude-module.ts'
import { playRuns } from '../../../support/random-runs.ts'

const SEEDS = 100

test(`a session of Claude Code with the module keeps its promises in ${SEEDS} runs`, async () => {
  await playRuns({ seeds: SEEDS, steps_min: 20, steps_max: 80 }, openClaudeRun)
})
