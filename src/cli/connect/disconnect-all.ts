/** Takes back everything that a home has connected. */
import { TurnbellError } from '../../contracts/errors.ts'
import type { Invocation } from '../cli.ts'
import { count } from '../render.ts'
import { disconnect } from './connect.ts'
import { connectionsIn, type Connectable } from './record.ts'
import { takeTrustBack } from './take-trust-back.ts'

export interface Disconnected {
  /** Nothing of turnbell acts any more in what was connected. */
  ok: boolean
  disconnected: { client: Connectable; project: string }[]
  /** What is left in a file, or why a connection could not be taken back. */
  failed: { client?: Connectable; project?: string; file?: string; detail: string; hint: string }[]
}

export async function disconnectAll(invocation: Invocation): Promise<Disconnected> {
  const disconnected: Disconnected['disconnected'] = []
  const failed: Disconnected['failed'] = []
  for (const one of connectionsIn(invocation.home).each()) {
    if (one instanceof TurnbellError) {
      failed.push({ detail: one.detail, hint: one.hint })
      continue
    }
    const { client, project } = one
    try {
      const { plan } = await disconnect(invocation, { client, project, print: false }, (connection) =>
        takeTrustBack(invocation, connection),
      )
      const left = plan.files.filter((file) => file.left !== undefined)
      for (const { file, left: what = '' } of left)
        failed.push({
          client,
          project,
          file,
          detail: `${file} still has ${what}`,
          hint: 'Remove it by hand, then try again.',
        })
      if (left.length === 0) disconnected.push({ client, project })
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
      : `${count(disconnected.length, 'connection')} taken back.`,
    ...disconnected.map(({ client, project }) => `  ${client} in ${project}`),
    ...failed.map(({ detail, hint }) => `Still there: ${detail}. ${hint}`),
  ].join('\n')
}
