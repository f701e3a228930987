/**
 * `turnbell hook`: what the hooks that were wired into a client call. A client waits for its hooks, and
 * shows their failures to a person who can do nothing about them: this ends with 0 in time, always.
 */
import fs from 'node:fs'
import path from 'node:path'
import type { Command } from 'commander'
import { OWN_SERVER_PERSONA } from '../../contracts/codex.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { Identity, type Json } from '../../contracts/ids.ts'
import { timestamp } from '../../ports/clock.ts'
import { codexPlace, newsOfHook } from '../../system/codex-place.ts'
import { ensurePrivateDirectory, prepareHome } from '../../system/home.ts'
import { ancestorNamed } from '../../system/processes.ts'
import { type Cli, invocationOf, type Invocation } from '../cli.ts'
import { readAll } from '../output.ts'
import { examples } from '../render.ts'
import { sessionStatusLine } from '../status-line.ts'

interface Options {
  persona?: string
  client: string
}

/** No hook, but called by the client in the same way. */
const STATUS_LINE = 'statusline'

export function registerHook(program: Command, cli: Cli): void {
  const command = program
    .command('hook')
    .description("what a client's hooks call; reads the hook's JSON on stdin, ends with 0 whatever happens")
    .argument('<event>', 'such as PostToolUse')
    .option('--persona <name>', 'whose client (TURNBELL_PERSONA)')
    .option('--client <kind>', 'which client', 'claude-code')
    .addHelpText(
      'after',
      examples([
        ['turnbell hook PostToolUse < payload.json', 'what a client does'],
        [`turnbell hook ${STATUS_LINE}`, "for a client's status line: `ada: 3 waiting`, or nothing"],
      ]),
    )
  command.action(async (event: string, options: Options) => {
    if (event === STATUS_LINE) {
      const line = await sessionStatusLine(
        cli,
        command.optsWithGlobals<{ persona?: string; home?: string }>(),
      )
      cli.stdout.write(line === '' ? '' : `${line}\n`, () => process.exit(0))
      return
    }
    const done = new Promise<'late'>((resolve) => {
      cli.clock.after(LIMITS.hook_timeout_ms - ANSWER_MARGIN_MS, () => resolve('late'))
    })
    const answer = await Promise.race([tell(cli, command, event, options).catch(() => null), done])
    cli.stdout.write(`${JSON.stringify(answer === null || answer === 'late' ? {} : answer)}\n`, () => {
      // Whatever still waits, a stdin that never ends or a hub that never answers, must not keep the client.
      process.exit(0)
    })
  })
}

/** Time to start, to write the answer and to end before the client's patience does. */
const ANSWER_MARGIN_MS = 600

async function tell(cli: Cli, command: Command, event: string, options: Options): Promise<Json | null> {
  const invocation = invocationOf(cli, command)
  const payload = parsed(await readAll(cli.stdin, LIMITS.body_bytes_max))
  const identity = hookPersona(options.persona, cli.env)
  if (identity === null) return null
  const body = { ...payload, hook_event_name: event }
  if (options.client === 'codex') tellShim(invocation, identity, body)
  try {
    const hub = await invocation.hub().as(identity, 'agent')
    return await hub.hook(options.client, body)
  } catch {
    spool(invocation, { client: options.client, identity, body })
    return null
  }
}

/**
 * For whom a hook tells. Null for a client that acts for nobody, and for one that `turnbell run` started for
 * another persona than the project is connected to: its thread is none of the project's persona's.
 */
export function hookPersona(named: string | undefined, env: NodeJS.ProcessEnv): Identity | null {
  const identity = Identity.safeParse(named ?? env['TURNBELL_PERSONA'])
  if (!identity.success) return null
  // A variable that names nobody says nothing.
  const owner = Identity.safeParse(env[OWN_SERVER_PERSONA])
  return owner.success && owner.data !== identity.data ? null : identity.data
}

/** The persona's shim binds the thread it hears of; where the hub is does not matter for that. */
function tellShim(invocation: Invocation, identity: Identity, body: object): void {
  const news = newsOfHook(body, timestamp(invocation.cli.clock), ancestorNamed(/^codex/))
  if (news === null) return
  const { run_dir } = invocation.paths(identity)
  ensurePrivateDirectory(run_dir)
  codexPlace(run_dir).tell(news)
}

/** One line for the hub to take in when it is back. The id keeps it from being taken in twice. */
function spool({ cli, home }: Invocation, entry: { client: string; identity: string; body: object }): void {
  prepareHome(home)
  const line = JSON.stringify({ id: cli.ids.next(), at: timestamp(cli.clock), ...entry })
  const file = path.join(home.spool, 'hooks.jsonl')
  const size = fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0
  if (size + line.length > LIMITS.spool_bytes_max) return
  // One write of one line: two hooks at once append one after the other.
  fs.appendFileSync(file, `${line}\n`, { mode: 0o600 })
}

function parsed(text: string): Record<string, Json> {
  const value: unknown = JSON.parse(text === '' ? '{}' : text)
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, Json>)
    : {}
}
