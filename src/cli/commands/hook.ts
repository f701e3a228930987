/**
 * `turnbell hook`: what the hooks that were wired into a client call. A client waits for its hooks, and
 * shows their failures to a person who can do nothing about them: this ends with 0 in time, always.
 */
import { Option, type Command } from 'commander'
import { OWN_SERVER_PERSONA } from '../../contracts/codex-environment.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Identity, Json } from '../../contracts/ids.ts'
import { timestamp } from '../../ports/clock.ts'
import { codexPlace, newsOfHook } from '../../system/codex-place.ts'
import { ensurePrivateDirectory } from '../../system/home.ts'
import { ancestorNamed } from '../../system/processes.ts'
import { type Cli, type Invocation, wiredInvocationOf } from '../cli.ts'
import { mayBeDone } from '../hub-client.ts'
import { leaveArchive, POST_COMMIT } from '../hooks/post-commit.ts'
import { hookPayload, hookPersona, HOOK_PATIENCE_MS, untold, type Untold } from '../hooks/hook-call.ts'
import { leave } from '../hooks/spool.ts'
import { leaveSubagentStatus, SUBAGENT_STOP } from '../hooks/subagent.ts'
import { readAll } from '../read-all.ts'
import { examples } from '../render.ts'
import { sessionStatusLine } from '../status-line.ts'

interface Options {
  persona?: string
  client: string
  ownServer?: true
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
    .addOption(new Option('--own-server', "a hook of the persona's own app-server").hideHelp())
    .addHelpText(
      'after',
      examples([
        ['turnbell hook PostToolUse < payload.json', 'what a client does'],
        [`turnbell hook ${POST_COMMIT}`, 'what git does after a commit; reads nothing and prints nothing'],
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
    if (event === POST_COMMIT) return afterCommit(() => wiredInvocationOf(cli, command))
    if (event === PRE_COMPACT) cli.stderr.write(`${BEFORE_COMPACTION}\n`)
    const done = new Promise<'late'>((resolve) => {
      cli.clock.after(HOOK_PATIENCE_MS, () => resolve('late'))
    })
    const events: Untold[] = []
    const told = tell(cli, command, { event, options, onRead: (one) => void events.push(one) })
    const answer = await Promise.race([told.catch(() => null), done])
    for (const one of events) await one.leaveIfUntold().catch(() => undefined)
    const said = JSON.stringify(answer === null || answer === 'late' ? {} : answer)
    // Claude Code shows its user and its model what is printed here, and be it nothing but braces.
    const silent = event === PRE_COMPACT && said === '{}'
    cli.stdout.write(silent ? '' : `${said}\n`, () => {
      // Whatever still waits, a stdin that never ends or a hub that never answers, must not keep the client.
      process.exit(0)
    })
  })
}

const PRE_COMPACT = 'PreCompact'
const BEFORE_COMPACTION =
  'turnbell: what only this conversation knows is about to go. `blackboard post` keeps it for all, `blackboard archive` clears away what has had its time, and afterwards `context refresh` tells what this project remembers.'

/** A commit is made by then: whatever goes wrong here is nothing to its author. */
function afterCommit(invocation: () => Invocation): void {
  try {
    leaveArchive(invocation())
  } catch {
    // The next commit leaves the same again, and more.
  }
}

async function tell(
  cli: Cli,
  command: Command,
  { event, options, onRead }: { event: string; options: Options; onRead: (one: Untold) => void },
): Promise<Json | null> {
  const invocation = wiredInvocationOf(cli, command)
  const payload = hookPayload(await readAll(cli.stdin, LIMITS.body_bytes_max))
  const identity = hookPersona(options.persona, cli.env)
  if (event === SUBAGENT_STOP) leaveSubagentStatus(invocation, identity, payload)
  if (identity === null) return null
  const body = { ...payload, hook_event_name: event }
  if (options.client === 'codex' && options.ownServer !== true) tellShim(invocation, identity, body)
  const one = untold(() => leave(invocation, { type: 'hook', client: options.client, identity, body }))
  onRead(one)
  try {
    const hub = await invocation.hub().as(identity, 'agent')
    one.telling()
    const answer = await hub.hook(options.client, body)
    return isPrimedElsewhere(cli.env, options) ? {} : answer
  } catch (error) {
    await (mayBeDone(error) ? one.leaveIfUntold() : one.leave())
    return null
  }
}

/** The persona's own app-server has a hook of its own; the project's one would return the primer a second time. */
function isPrimedElsewhere(env: NodeJS.ProcessEnv, { ownServer }: Options): boolean {
  return ownServer !== true && (env[OWN_SERVER_PERSONA] ?? '') !== ''
}

/** The persona's shim binds the thread it hears of; where the hub is does not matter for that. */
function tellShim(invocation: Invocation, identity: Identity, body: object): void {
  try {
    const news = newsOfHook(body, timestamp(invocation.cli.clock), ancestorNamed(/^codex/))
    if (news === null) return
    const { run_dir } = invocation.paths(identity)
    ensurePrivateDirectory(run_dir)
    codexPlace(run_dir).tell(news)
  } catch {
    // What is wrong here, doctor says; the hub is to hear of the event all the same.
  }
}
