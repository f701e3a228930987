/** `turnbell doctor`: checks the installation and prints a fix for each problem. */
import type { Command } from 'commander'
import { EXIT } from '../../contracts/errors/exit-codes.ts'
import { type Cli, invocationOf } from '../cli.ts'
import { runChecks } from '../doctor/checks.ts'
import { documentOf, type Finding } from '../doctor/finding.ts'
import { applyFixes, type Fixed } from '../doctor/fix.ts'
import { count, examples } from '../render.ts'

export function registerDoctor(program: Command, cli: Cli): void {
  const command = program
    .command('doctor')
    .description('check the installation and print a fix for each problem; exits 1 if something is broken')
    .option('--fix', 'rewrite outdated wiring and services, and make files private that others can read')
    .addHelpText(
      'after',
      examples([
        ['turnbell doctor', 'checks node, home, hub, daemons and clients'],
        ['turnbell doctor --fix', 'prints each change first, and keeps a copy of the changed files'],
        ['turnbell doctor --json', 'the same for programs'],
      ]),
    )
  command.action(async ({ fix = false }: { fix?: boolean }) => {
    const invocation = invocationOf(cli, command)
    let findings = await runChecks(invocation)
    let fixed: Fixed[] = []
    let refused: Finding[] = []
    if (fix) {
      ;({ fixed, refused } = await applyFixes(invocation, findings))
      findings = [...(fixed.length > 0 ? await runChecks(invocation) : findings), ...refused]
    }
    const ok = findings.every(({ state }) => state !== 'broken')
    const result = { ok, findings: findings.map(documentOf), ...(fix ? { fixed } : {}) }
    await invocation.out.result(result, () =>
      [describeFindings(findings, cli), ...(fix ? [describeFixed(fixed, refused)] : [])].join('\n'),
    )
    if (!ok) cli.exitWith(EXIT.failed)
  })
}

function describeFixed(fixed: readonly Fixed[], refused: readonly Finding[]): string {
  if (fixed.length === 0 && refused.length === 0) return 'There was nothing to fix.'
  const failed = refused.length === 0 ? '' : ` ${count(refused.length, 'fix', 'fixes')} failed.`
  return `${count(fixed.length, 'thing')} fixed.${failed}`
}

const MARKS = { ok: 'ok', warning: 'note', broken: 'BROKEN' } as const

function describeFindings(findings: readonly Finding[], { colors }: Cli): string {
  const paint = { ok: colors.green, warning: colors.yellow, broken: colors.red }
  const width = Math.max(...findings.map(({ check }) => check.length))
  const lines = findings.flatMap(({ check, state, detail, hint }) => [
    `${paint[state](MARKS[state].padEnd(6))}  ${check.padEnd(width)}  ${detail}`,
    ...(hint === null ? [] : [`${' '.repeat(8 + width)}  ${colors.dim(`-> ${hint}`)}`]),
  ])
  const bad = findings.filter(({ state }) => state === 'broken').length
  const verdict = bad === 0 ? 'Nothing is broken.' : `${count(bad, 'thing')} broken.`
  return [...lines, '', verdict].join('\n')
}
