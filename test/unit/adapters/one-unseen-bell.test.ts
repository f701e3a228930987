/** A second doorbell while the first is still unseen would be shown in the same turn: see decision 40. */
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { describeOneUnseenBell } from '../../suites/one-unseen-bell.suite.ts'
import { playedClaude } from '../../support/fakes/random-claude.ts'
import { playedCodex, playedCodexTerminal } from '../../support/fakes/random-codex.ts'
import { playedOpencode } from '../../support/fakes/random-opencode.ts'

describeOneUnseenBell('codex', { lost_ms: LIMITS.codex_bell_lost_ms, seeds: 120 }, playedCodex)
describeOneUnseenBell(
  'codex-terminal',
  { lost_ms: LIMITS.codex_bell_lost_ms, seeds: 80 },
  playedCodexTerminal,
)
describeOneUnseenBell('opencode', { lost_ms: LIMITS.opencode_bell_lost_ms, seeds: 150 }, playedOpencode)
describeOneUnseenBell('claude-code', { lost_ms: LIMITS.claude_bell_lost_ms, seeds: 200 }, playedClaude)
