/**
 * The outside world of a command, read once in `main.ts`, and one invocation with its home, configuration and clients.
 * Each command is a function `registerX(program, cli)` in a file of its own.
 */
import { type Command, InvalidArgumentError } from 'commander'
import type { createColors } from 'picocolors'
import type { Config } from '../contracts/config.ts'
import { describeIssues, TurnbellError } from '../contracts/errors/errors.ts'
import { Identity, type ClientKind } from '../contracts/ids.ts'
import type { StoreFault } from '../contracts/errors/store-fault.ts'
import type { Clock } from '../ports/clock.ts'
import type { Ids, Random } from '../ports/random.ts'
import type { BundleName } from '../system/process/bundles.ts'
import { loadConfig } from '../system/config/config.ts'
import { findHub, noHubIn, displayAddress } from '../system/config/hub-discovery.ts'
import { personaPaths, resolveHome, type Home, type PersonaPaths } from '../system/config/home.ts'
import { wiredHome } from '../system/clients/wired-home.ts'
import { readOperatorToken } from '../system/config/secrets.ts'
import { createControlClient, type ControlClient } from './control-client.ts'
import { createHubClient, type HubClient } from './hub/client.ts'
import type { Output } from './output.ts'
import type { ProgramRunner } from './run-program.ts'

export interface Cli {
  env: NodeJS.ProcessEnv
  cwd: string
  platform: NodeJS.Platform
  stdin: NodeJS.ReadableStream & { isTTY?: boolean }
  stdout: NodeJS.WritableStream & { isTTY?: boolean; columns?: number; rows?: number }
  stderr: NodeJS.WritableStream & { isTTY?: boolean }
  colors: ReturnType<typeof createColors>
  clock: Clock
  random: Random
  ids: Ids
  fetch: typeof fetch
  /** The Node that starts turnbell, by a name that outlives an upgrade (see `nodeProgram`). */
  node: string
  /** Absolute path of dist/turnbell.cjs. */
  program: string
  /** Folder of the unit and task templates. */
  templates: string
  /** Returns the folder of the administrator's settings for a client. */
  administratorFolder(this: void, client: ClientKind): string
  /** Runs another program to its end (systemctl, launchctl, schtasks). */
  runProgram: ProgramRunner
  output(json: boolean): Output
  /** Runs another bundle in this process. */
  startBundle(name: BundleName, args: string[]): Promise<void>
  /** Returns the faults in the files of the store in this directory. */
  inspectStore(directory: string): Promise<StoreFault[]>
  /** Calls back for each request to end: Ctrl-C, SIGTERM, a closed terminal. Returns a function that unsubscribes. */
  onTermination(call: (os_signal: NodeJS.Signals) => void): () => void
  /** Sets the exit code of a command that throws nothing. */
  exitWith(code: number): void
}

/** One invocation of a command, with its home. Configuration and clients are created on first use. */
export interface Invocation {
  cli: Cli
  json: boolean
  out: Output
  home: Home
  config: () => Config
  paths: (identity: string) => PersonaPaths
  control: (identity: string) => ControlClient
  /** A client with the operator's token. Each call looks the hub up again. */
  hub: () => HubClient
}

export function invocationOf(cli: Cli, command: Command): Invocation {
  const { home, json } = command.optsWithGlobals<{ home?: string; json?: boolean }>()
  return invocationIn(cli, home, json)
}

/**
 * The invocation of a command that a client or git starts. Without `--home` and TURNBELL_HOME, it uses the home that
 * the surrounding project is connected to.
 */
export function wiredInvocationOf(cli: Cli, command: Command): Invocation {
  const { home, json } = command.optsWithGlobals<{ home?: string; json?: boolean }>()
  const named = home ?? (cli.env['TURNBELL_HOME'] ? undefined : wiredHome(cli.env, () => cli.cwd))
  return invocationIn(cli, named, json)
}

/** `flag` is the value of `--home`. */
export function invocationIn(cli: Cli, flag?: string, json = false): Invocation {
  const home = resolveHome(cli.env, flag)
  let config: Config | null = null
  const readConfig = () => (config ??= loadConfig(home.config, cli.env))
  const paths = (identity: string) =>
    personaPaths(home, readConfig().tenant_id, identity, cli.env, cli.platform)
  return {
    cli,
    json,
    out: cli.output(json),
    home,
    config: readConfig,
    paths,
    control: (identity) => createControlClient(identity, paths(identity)),
    hub() {
      const url = findHub(home, readConfig())
      if (url !== null) return createHubClient(cli.fetch, url, readOperatorToken(home))
      const noHub = () => Promise.reject(new TurnbellError('hub_unreachable', { detail: noHubIn(home) }))
      return createHubClient(noHub, displayAddress(readConfig()), null)
    },
  }
}

/** Parses an option such as `--persona`. Throws a usage error for an invalid persona name. */
export function parseIdentity(text: string): string {
  const parsed = Identity.safeParse(text)
  if (parsed.success) return parsed.data
  throw new InvalidArgumentError(describeIssues(parsed.error, 'the name'))
}

export function parseWhole(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
  }
}
