/** Servers that daemons started for Codex and opencode. They outlive the daemon while a window is attached to them. */
import path from 'node:path'
import { ClientKind } from '../../contracts/ids.ts'
import { attachedUsers } from '../../system/clients/attached-users.ts'
import { livePid } from '../../system/process/pid-file.ts'
import type { Invocation } from '../cli.ts'
import { facts } from '../render.ts'

export interface ClientServer {
  identity: string
  client: ClientKind
  pid: number
}

/** Returns the running servers of these personas, with or without a window. */
export function runningServers(invocation: Invocation, identities: readonly string[]): ClientServer[] {
  return identities.flatMap((identity) =>
    ClientKind.options.flatMap((client) => {
      const pid = livePid(path.join(invocation.paths(identity).run_dir, `${client}.pid`))
      return pid === null ? [] : [{ identity, client, pid }]
    }),
  )
}

/** Returns the servers of these personas that do not end with their daemon, because a window is attached. */
export function serversOfWindows(invocation: Invocation, identities: readonly string[]): ClientServer[] {
  return runningServers(invocation, identities).filter(({ identity, client }) =>
    attachedUsers(invocation.paths(identity).run_dir, client).isAttached(),
  )
}

/** Text for a person, several lines. */
export function describeServers(servers: readonly ClientServer[], purge: boolean): string {
  const what = purge
    ? 'These servers of open windows will be stopped too'
    : 'These servers run until their last window closes'
  const lines = servers.map(({ identity, client, pid }): [string, string] => [
    identity,
    `${client === 'codex' ? 'Codex app-server' : `${client} server`} (process ${pid})`,
  ])
  return `${what}:\n${facts(lines)}`
}
