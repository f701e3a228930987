/**
 * The clients that `turnbell connect` has wired: whether what was written still stands, and points to this turnbell.
 */
import fs from 'node:fs'
import { planFor } from '../connect/connect.ts'
import { connectionsIn, type Connection } from '../connect/record.ts'
import type { Invocation } from '../cli.ts'
import { fine, refusedBy, warning, type Finding } from './finding.ts'
import { shellWord } from '../../system/shell-word.ts'

export function checkConnections(invocation: Invocation): Finding[] {
  try {
    return connectionsIn(invocation.home)
      .all()
      .map((connection) => checkConnection(invocation, connection))
  } catch (error) {
    return [refusedBy('connections', error, invocation.cli.ids)]
  }
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
  try {
    const stale = planFor(invocation, connection, connection).files.filter(
      ({ before, after }) => before !== after,
    )
    if (stale.length > 0) {
      const files = stale.map(({ file }) => file).join(', ')
      return warning(
        check,
        `${who} in ${project}: not as it was written: ${files}`,
        `Once more: ${again}; or ${apart}.`,
      )
    }
  } catch (error) {
    return refusedBy(check, error, invocation.cli.ids)
  }
  if (persona === null) return fine(check, `git tells of commits in ${project}`)
  if (invocation.config().personas[persona] === undefined) {
    return warning(
      check,
      `${project} acts for ${persona}, whom this home does not know`,
      `\`turnbell persona add ${persona} --surface ${client} --project ${shellWord(project)}\`; or ${apart}.`,
    )
  }
  return fine(check, `${project} acts for ${persona}`)
}
