/**
 * Checks the connections of `turnbell connect`: the entries are unchanged, refer to an existing turnbell, and are read by
 * the client.
 */
import fs from 'node:fs'
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { onPath } from '../../system/process/node-program.ts'
import { shellWord } from '../../system/process/shell-word.ts'
import type { Invocation } from '../cli.ts'
import { connect, planFor } from '../connect/connect.ts'
import { hooksSwitchedOff, skippedSettings } from '../connect/hook-policy.ts'
import { otherProject, otherSurface } from '../connect/persona-mismatch.ts'
import { connectionsIn, type ClientConnection, type Connection } from '../connect/connection-record.ts'
import { broken, fine, fixedBy, refusedBy, warning, type Finding } from './finding.ts'

export function checkConnections(invocation: Invocation): Finding[] {
  return connectionsIn(invocation.home)
    .each()
    .flatMap((record) =>
      record instanceof TurnbellError
        ? refusedBy('connections', record, invocation.cli.ids)
        : [checkConnection(invocation, record), ...checkClientSettings(invocation, record)],
    )
}

function checkConnection(invocation: Invocation, connection: Connection): Finding {
  const { client, project } = connection
  const persona = connection.client === 'git' ? null : connection.persona
  const subject = persona ?? 'git'
  const check = `connection ${client}`
  const named = persona === null ? '' : ` --persona ${persona}`
  const again = `\`turnbell connect ${client}${named} --project ${shellWord(project)}\``
  const apart = `\`turnbell disconnect ${client} --project ${shellWord(project)}\``
  if (!fs.existsSync(project)) {
    return warning(
      check,
      `${project} is gone; ${subject} was connected there`,
      `If the project was moved, connect it at its new path. In both cases: ${apart}.`,
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
    const finding = broken(
      check,
      `${project} refers to missing programs: ${gone.join(', ')}`,
      stale.length > 0
        ? `Run ${again} or \`turnbell doctor --fix\`.`
        : `Install turnbell again, so that it is on PATH; or ${apart}.`,
    )
    return stale.length > 0 ? fixedBy(finding, fix) : finding
  }
  if (stale.length > 0) {
    const finding = warning(
      check,
      `${subject} in ${project}: changed after it was connected: ${stale.join(', ')}`,
      `Run ${again} or \`turnbell doctor --fix\`; or ${apart}.`,
    )
    return fixedBy(finding, fix)
  }
  if (persona === null) return fine(check, `git notifies turnbell of commits in ${project}`)
  const settings = invocation.config().personas[persona]
  if (settings === undefined) {
    return warning(
      check,
      `${project} acts for ${persona}, which is not configured in this home`,
      `\`turnbell persona add ${persona} --surface ${client} --project ${shellWord(project)}\`; or ${apart}.`,
    )
  }
  const { client: kind } = connection as ClientConnection
  const surface = otherSurface(settings, kind)
  if (surface !== null) {
    return warning(
      check,
      `${project} acts for ${persona}, whose surface is ${surface}; its daemon does not ring ${client}`,
      `\`turnbell persona add ${persona} --surface ${client}\`; or ${apart}, and connect another persona.`,
    )
  }
  const other_project = otherProject(settings, project)
  if (other_project !== null) {
    return warning(
      check,
      `${project} acts for ${persona}, whose project is ${other_project}`,
      `If the project was moved: \`turnbell persona add ${persona} --surface ${settings.surface} --project ${shellWord(project)}\`; or ${apart}.`,
    )
  }
  return fine(check, `${project} acts for ${persona}`)
}

/** Checks settings of the client that disable the entries. */
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
        `Claude Code skips the whole file ${file}: it is not plain JSON`,
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
