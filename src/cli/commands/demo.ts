/** `turnbell demo`: runs the whole path in a temporary home and verifies the result. */
import type { Command } from 'commander'
import { toProblem, type Problem } from '../../contracts/errors/errors.ts'
import { EXIT } from '../../contracts/errors/exit-codes.ts'
import { type Cli, invocationOf } from '../cli.ts'
import { play, type Run } from '../demo/scenario.ts'
import { createStory, type Step } from '../demo/story.ts'
import {
  agentSummaries,
  directions,
  judge,
  type AgentSummary,
  type Check,
  type Direction,
} from '../demo/verdict.ts'
import { createWorld } from '../demo/world.ts'
import { examples, table } from '../render.ts'

interface Summary {
  ok: boolean
  took_ms: number
  /** Null if it was removed. */
  home: string | null
  checks: Check[]
  directions: Direction[]
  agents: AgentSummary[]
  hub: Run['hub'] | null
  steps: Step[]
  /** The error that stopped the demo early. */
  problem: Problem | null
}

export function registerDemo(program: Command, cli: Cli): void {
  const command = program
    .command('demo')
    .description('show the whole path in a temporary home: signals, doorbells, drains, a killed hub')
    .option('--keep', 'keep the home, with its journal and logs')
    .addHelpText(
      'after',
      examples([
        ['turnbell demo', 'takes a few seconds; exits 0 only if every check passed'],
        ['turnbell demo --json', 'the summary, for programs'],
      ]),
    )
  command.action(async ({ keep = false }: { keep?: boolean }) => {
    const { out, json } = invocationOf(cli, command)
    const summary = await runDemo(cli, keep, json)
    await out.result(summary, () => describe(summary, cli.colors))
    if (!summary.ok) cli.exitWith(EXIT.failed)
  })
}

async function runDemo(cli: Cli, keep: boolean, quiet: boolean): Promise<Summary> {
  const { bold } = cli.colors
  const story = createStory(cli.clock, (line, kind) => {
    if (!quiet) cli.stdout.write(kind === 'chapter' ? `\n${bold(line)}\n` : `${line}\n`)
  })
  const world = createWorld(cli, story)
  // Otherwise Ctrl-C would leave a hub and two daemons running.
  const forget = cli.onTermination(() => {
    world.clear(keep)
    process.exit(EXIT.failed)
  })
  let run: Run | null = null
  let problem: Problem | null = null
  let checks: Check[] = []
  try {
    run = await play(world)
    story.chapter('The end')
    const stopped = await world.stop()
    story.step('the daemons are stopped over their sockets, then the hub; all have ended')
    checks = [
      ...judge(run),
      { name: 'everything stopped cleanly', held: stopped.clean, detail: stopped.detail },
    ]
  } catch (error) {
    problem = toProblem(error, cli.ids.next())
    if (problem.code === 'internal')
      cli.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
  } finally {
    forget()
    world.clear(keep)
  }
  return {
    ok: problem === null && checks.every(({ held }) => held),
    took_ms: story.elapsed_ms(),
    home: keep ? world.invocation.home.root : null,
    checks,
    directions: run === null ? [] : directions(run),
    agents: run === null ? [] : agentSummaries(run),
    hub: run?.hub ?? null,
    steps: story.steps,
    problem,
  }
}

function describe(summary: Summary, { bold, green, red, dim }: Cli['colors']): string {
  const { problem, checks } = summary
  const mark = (held: boolean) => (held ? green('passed') : red('FAILED'))
  const failed = checks.filter(({ held }) => !held)
  const verdict = summary.ok
    ? green(`All checks passed, in ${(summary.took_ms / 1000).toFixed(1)} s.`)
    : red(
        problem === null
          ? `Failed: ${failed.map(({ name }) => name).join('; ')}.`
          : `Stopped early: ${problem.detail}`,
      )
  return [
    '',
    bold('What happened'),
    table(
      ['FROM', 'TO', 'SENT', 'DRAINED', 'TWICE', 'SENT MID-TURN'],
      summary.directions.map((one) => [
        one.from,
        one.to,
        ...[one.sent, one.drained, one.drained_twice, one.sent_mid_turn].map(String),
      ]),
    ),
    '',
    table(
      ['AGENT', 'TURNS', 'DOORBELLS', 'MOST IN A TURN', 'RUNG MID-TURN'],
      summary.agents.map((one) => [
        one.identity,
        ...[one.turns, one.doorbells, one.most_doorbells_in_a_turn, one.doorbells_mid_turn].map(String),
      ]),
    ),
    '',
    ...checks.map(({ name, held, detail }) => `${mark(held)}  ${name}  ${dim(detail)}`),
    '',
    verdict,
    ...(problem === null ? [] : [problem.hint]),
    ...(summary.home === null ? [] : [`The home was kept: ${summary.home}`]),
  ].join('\n')
}
