/**
 * What every command is handed: the outside world, read once in `main.ts`, and from it the home, the
 * configuration and the clients. Commands are functions `registerX(program, cli)`, one file each.
 */
import { type Command, InvalidArgumentError } from 'commander'
import type { createColors } from 'picocolors'
import type { Config } from '../contracts/config.ts'
import { describeIssues, TurnbellError } from '../contracts/errors.ts'
import { Identity } from '../contracts/ids.ts'
import type { Clock } from '../ports/clock.ts'
import type { Ids, Random } from '../ports/random.ts'
import type { BundleName } from '../system/bundles.ts'
import { loadConfig } from '../system/config.ts'
import { findHub, noHubIn, usualAddress } from '../system/hub-address.ts'
import { personaPaths, resolveHome, type Home, type PersonaPaths } from '../system/home.ts'
import { wiredHome } from '../system/wired-home.ts'
import { readOperatorToken } from '../system/secrets.ts'
import { createControlClient, type ControlClient } from './control-client.ts'
import { createHubClient, type HubClient } from './hub-client.ts'
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
  /** How turnbell itself is started: the lasting name of this Node (see `nodeProgram`), and dist/turnbell.cjs, absolute. */
  node: string
  program: string
  /** Where the unit and task templates lie. */
  templates: string
  /** Runs another program to its end (systemctl, launchctl, schtasks). */
  runProgram: ProgramRunner
  output(json: boolean): Output
  /** Runs one of the other programs in this process. */
  startBundle(name: BundleName, args: string[]): Promise<void>
  /** Called for each request to end (Ctrl-C, SIGTERM, the terminal closes). Returns how to stop listening. */
  onTermination(call: (os_signal: NodeJS.Signals) => void): () => void
  /** What the process exits with when the command itself throws nothing. */
  exitWith(code: number): void
}

/** One invocation of a command: its home and the ways out of it, made when they are first asked for. */
export interface Invocation {
  cli: Cli
  json: boolean
  out: Output
  home: Home
  config: () => Config
  paths: (identity: string) => PersonaPaths
  control: (identity: string) => ControlClient
  /** As the operator of this home. Finds the hub anew each time. */
  hub: () => HubClient
}

export function invocationOf(cli: Cli, command: Command): Invocation {
  const { home, json } = command.optsWithGlobals<{ home?: string; json?: boolean }>()
  return invocationIn(cli, home, json)
}

/** The same for what clients and git start: without --home, in the home that the project around is wired to. */
export function wiredInvocationOf(cli: Cli, command: Command): Invocation {
  const { home, json } = command.optsWithGlobals<{ home?: string; json?: boolean }>()
  const named = home ?? (cli.env['TURNBELL_HOME'] ? undefined : wiredHome(cli.env, () => cli.cwd))
  return invocationIn(cli, named, json)
}

/** As if called with `--home`. */
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
      const nobody = () => Promise.reject(new TurnbellError('hub_unreachable', { detail: noHubIn(home) }))
      return createHubClient(nobody, usualAddress(readConfig()), null)
    },
  }
}

/** `--persona` and its like: a word that may be a persona's name, or a usage error. */
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
