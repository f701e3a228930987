/**
 * The clients that `turnbell connect` has wired: whether what was written still stands, leads to a turnbell that is there,
 * and is read by the client.
 */
import fs from 'node:fs'
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors.ts'
import { onPath } from '../../system/node-program.ts'
import { shellWord } from '../../system/shell-word.ts'
import type { Invocation } from '../cli.ts'
import { connect, planFor } from '../connect/connect.ts'
import { hooksSwitchedOff, skippedSettings } from '../connect/hook-policy.ts'
import { otherProject, otherSurface } from '../connect/misfit.ts'
import { connectionsIn, type ClientConnection, type Connection } from '../connect/record.ts'
import { broken, fine, fixedBy, refusedBy, warning, type Finding } from './finding.ts'

export function checkConnections(invocation: Invocation): Finding[] {
  return connectionsIn(invocation.home)
    .each()
    .flatMap((one) =>
      one instanceof TurnbellError
        ? refusedBy('connections', one, invocation.cli.ids)
        : [checkConnection(invocation, one), ...checkClientSettings(invocation, one)],
    )
}

function checkConnection(invocation: Invocation, connection: Connection): Finding {
  const { client, project } = connection
  const persona = connection.client === 'git' ? null : connection.persona
  const who = persona ?? 'git'
  const check = `connection ${client}`
  const named = persona === null ? '' : ` --persona ${persona}`
  const again = `\`turnbell connect ${client}${named} --project ${shellWord(project)}\``
  const apart = `\`turnbell disconnect ${client} --project ${shellWord(project)}\``
  if (!fs.existsSync(project)) {
    return warning(
      check,
      `${project} is gone; ${who} was connected there`,
      `If it was moved, connect it in its new place. Then, or if it is gone for good: ${apart}.`,
    )
  }
  let stale: string[]
  try {
    const { files } = planFor(invocation, connection, connection)
    stale = files.filter(({ before, after }) => before !== after).map(({ file }) => file)
  } catch (error) {
    return refusedBy(check, error, invocation.cli.ids)
  }
  const gone = connection.starts.filter((word) => isGone(word, invocation))
  const fix = {
    does: `connect ${client} in ${project} again: ${stale.map((file) => path.relative(project, file)).join(', ')}`,
    changes: stale,
    run: async () => void (await connect(invocation, { ...subjectOf(connection), print: false })),
  }
  if (gone.length > 0) {
    const found = broken(
      check,
      `${project} leads to what is gone: ${gone.join(', ')}`,
      stale.length > 0
        ? `Once more: ${again}, or \`turnbell doctor --fix\`.`
        : `Install turnbell again, so that PATH has it; or ${apart}.`,
    )
    return stale.length > 0 ? fixedBy(found, fix) : found
  }
  if (stale.length > 0) {
    const found = warning(
      check,
      `${who} in ${project}: not as it was written: ${stale.join(', ')}`,
      `Once more: ${again}, or \`turnbell doctor --fix\`; or ${apart}.`,
    )
    return fixedBy(found, fix)
  }
  if (persona === null) return fine(check, `git tells of commits in ${project}`)
  const settings = invocation.config().personas[persona]
  if (settings === undefined) {
    return warning(
      check,
      `${project} acts for ${persona}, whom this home does not know`,
      `\`turnbell persona add ${persona} --surface ${client} --project ${shellWord(project)}\`; or ${apart}.`,
    )
  }
  const { client: kind } = connection as ClientConnection
  const surface = otherSurface(settings, kind)
  if (surface !== null) {
    return warning(
      check,
      `${project} acts for ${persona}, whose daemon reaches its agent by ${surface} and rings no ${client}`,
      `\`turnbell persona add ${persona} --surface ${client}\`; or ${apart}, and connect another persona.`,
    )
  }
  const elsewhere = otherProject(settings, project)
  if (elsewhere !== null) {
    return warning(
      check,
      `${project} acts for ${persona}, whose project is ${elsewhere}`,
      `If it has moved: \`turnbell persona add ${persona} --surface ${settings.surface} --project ${shellWord(project)}\`; or ${apart}.`,
    )
  }
  return fine(check, `${project} acts for ${persona}`)
}

/** What keeps the client from doing what was written. */
function checkClientSettings({ cli }: Invocation, { client, project }: Connection): Finding[] {
  if (client === 'git') return []
  const check = `settings ${client}`
  const off = hooksSwitchedOff(cli, client, project)
  const skipped = client === 'claude-code' ? skippedSettings(cli, project) : []
  return [
    ...(off === null ? [] : [broken(check, off.detail, off.hint)]),
    ...skipped.map((file) =>
      warning(
        check,
        `Claude Code skips the whole of ${file}: it is not plain JSON`,
        'Remove comments and trailing commas from it.',
      ),
    ),
  ]
}

const isGone = (word: string, { cli }: Invocation) =>
  path.isAbsolute(word) ? !fs.existsSync(word) : onPath(word, cli.env, cli.platform).length === 0

function subjectOf(connection: Connection) {
  const { project } = connection
  if (connection.client === 'git') return { client: connection.client, project }
  return { client: connection.client, persona: connection.persona, project }
}
