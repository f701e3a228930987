/** Servers that daemons started for Codex and opencode: they outlive the daemon while a window is joined to them. */
import path from 'node:path'
import { ClientKind } from '../../contracts/ids.ts'
import { joined } from '../../system/joined.ts'
import { notedPid } from '../../system/process-note.ts'
import type { Invocation } from '../cli.ts'
import { facts } from '../render.ts'

export interface ClientServer {
  identity: string
  client: ClientKind
  pid: number
}

/** Those of these personas that run, whether or not a window is joined. */
export function runningServers(invocation: Invocation, identities: readonly string[]): ClientServer[] {
  return identities.flatMap((identity) =>
    ClientKind.options.flatMap((client) => {
      const pid = notedPid(path.join(invocation.paths(identity).run_dir, `${client}.pid`))
      return pid === null ? [] : [{ identity, client, pid }]
    }),
  )
}

/** Those of these personas that do not end with their daemon, because a window is joined. */
export function serversOfWindows(invocation: Invocation, identities: readonly string[]): ClientServer[] {
  return runningServers(invocation, identities).filter(({ identity, client }) =>
    joined(invocation.paths(identity).run_dir, client).isJoined(),
  )
}

/** Text for a person, several lines. */
export function describeServers(servers: readonly ClientServer[], purge: boolean): string {
  const what = purge
    ? 'These servers of open windows are ended, too'
    : 'These servers run until their last window closes'
  const lines = servers.map(({ identity, client, pid }): [string, string] => [
    identity,
    `${client === 'codex' ? 'Codex app-server' : `${client} server`} (process ${pid})`,
  ])
  return `${what}:\n${facts(lines)}`
}
