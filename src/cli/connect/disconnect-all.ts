/** Removes all connections of a home. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Invocation } from '../cli.ts'
import { count, sentence } from '../render.ts'
import { disconnect } from './connect.ts'
import { connectionsIn, type Connectable } from './connection-record.ts'
import { revokeTrust } from './revoke-trust.ts'

export interface Disconnected {
  /** True if no active entry of turnbell remains. */
  ok: boolean
  disconnected: { client: Connectable; project: string }[]
  /** Entries that remain in a file, and connections that could not be removed. */
  failed: { client?: Connectable; project?: string; file?: string; detail: string; hint: string }[]
}

export async function disconnectAll(invocation: Invocation): Promise<Disconnected> {
  const disconnected: Disconnected['disconnected'] = []
  const failed: Disconnected['failed'] = []
  for (const record of connectionsIn(invocation.home).each()) {
    if (record instanceof TurnbellError) {
      failed.push({ detail: record.detail, hint: record.hint })
      continue
    }
    const { client, project } = record
    try {
      const { plan } = await disconnect(invocation, { client, project, print: false }, (connection) =>
        revokeTrust(invocation, connection),
      )
      const remaining = plan.files.filter((file) => file.left !== undefined)
      for (const { file, left = '' } of remaining)
        failed.push({
          client,
          project,
          file,
          detail: `${file} still contains ${left}.`,
          hint: 'Remove it by hand, then try again.',
        })
      if (remaining.length === 0) disconnected.push({ client, project })
    } catch (error) {
      if (!(error instanceof TurnbellError)) throw error
      failed.push({ client, project, detail: error.detail, hint: error.hint })
    }
  }
  return { ok: failed.length === 0, disconnected, failed }
}

export function describeDisconnected({ disconnected, failed }: Disconnected): string {
  return [
    disconnected.length === 0 && failed.length === 0
      ? 'Nothing is connected.'
      : `${count(disconnected.length, 'connection')} removed.`,
    ...disconnected.map(({ client, project }) => `  ${client} in ${project}`),
    ...failed.map(({ detail, hint }) => `Failed: ${sentence(detail)} ${hint}`),
  ].join('\n')
}
