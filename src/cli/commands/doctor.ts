/** `turnbell doctor`: looks at everything that must be in order, and says how to mend what is not. */
import type { Command } from 'commander'
import { EXIT } from '../../contracts/exit-codes.ts'
import { type Cli, invocationOf } from '../cli.ts'
import { checkClients } from '../doctor/clients.ts'
import { checkConnections } from '../doctor/connections.ts'
import { checkDaemons } from '../doctor/daemons.ts'
import type { Finding } from '../doctor/finding.ts'
import { checkConfig, checkHome } from '../doctor/home.ts'
import { checkHub } from '../doctor/hub.ts'
import { checkMachine } from '../doctor/machine.ts'
import { checkModel } from '../doctor/model.ts'
import { count, examples } from '../render.ts'

export function registerDoctor(program: Command, cli: Cli): void {
  const command = program
    .command('doctor')
    .description('what is in order here, what is not, and how to mend it; exits 1 if something is broken')
    .addHelpText(
      'after',
      examples([
        ['turnbell doctor', 'node, home, hub, daemons and clients, each with its mend'],
        ['turnbell doctor --json', 'the same for programs'],
      ]),
    )
  command.action(async () => {
    const invocation = invocationOf(cli, command)
    const findings = [...checkMachine(invocation), ...checkHome(invocation), checkConfig(invocation)]
    // Everything below reads the configuration.
    const readable = findings.every(({ check, state }) => check !== 'config' || state === 'ok')
    if (readable) {
      findings.push(
        ...(await checkHub(invocation)),
        ...(await checkDaemons(invocation)),
        ...(await checkClients(invocation)),
        ...checkConnections(invocation),
        ...checkModel(invocation),
      )
    }
    const ok = findings.every(({ state }) => state !== 'broken')
    await invocation.out.result({ ok, findings }, () => describeFindings(findings, cli))
    if (!ok) cli.exitWith(EXIT.failed)
  })
}

const MARKS = { ok: 'ok', warning: 'note', broken: 'BROKEN' } as const

function describeFindings(findings: readonly Finding[], { colors }: Cli): string {
  const paint = { ok: colors.green, warning: colors.yellow, broken: colors.red }
  const width = Math.max(...findings.map(({ check }) => check.length))
  const lines = findings.flatMap(({ check, state, detail, mend }) => [
    `${paint[state](MARKS[state].padEnd(6))}  ${check.padEnd(width)}  ${detail}`,
    ...(mend === null ? [] : [`${' '.repeat(8 + width)}  ${colors.dim(`-> ${mend}`)}`]),
  ])
  const bad = findings.filter(({ state }) => state === 'broken').length
  const verdict = bad === 0 ? 'Nothing is broken.' : `${count(bad, 'thing')} broken.`
  return [...lines, '', verdict].join('\n')
}
