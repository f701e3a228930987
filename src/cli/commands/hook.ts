/**
 * `turnbell hook`: the command in the hooks of a client. A client waits for its hooks and shows their failures to a person
 * who cannot fix them, so this always exits 0 within its time limit.
 */
import { Option, type Command } from 'commander'
import { OWN_SERVER_PERSONA } from '../../contracts/clients/codex.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { PRIMER_LIMITS } from '../../contracts/limits/primer.ts'
import { SESSION_START } from '../../contracts/spool/hook.ts'
import type { Identity, Json } from '../../contracts/ids.ts'
import { timestamp } from '../../ports/clock.ts'
import { codexRunFiles, hookReport } from '../../system/clients/codex-run-files.ts'
import { ensurePrivateDirectory } from '../../system/config/home.ts'
import { ancestorNamed } from '../../system/process/process-info.ts'
import { type Cli, type Invocation, wiredInvocationOf } from '../cli.ts'
import { mayBeDone } from '../hub/client.ts'
import { POST_COMMIT, spoolArchive } from '../hooks/post-commit.ts'
import { hookDelivery, hookPayload, hookPersona, type HookDelivery } from '../hooks/hook-call.ts'
import { appendToSpool } from '../hooks/spool.ts'
import { spoolSubagentStatus, SUBAGENT_STOP } from '../hooks/subagent.ts'
import { readAll } from '../hub/read-all.ts'
import { examples } from '../render.ts'
import { sessionStatusLine } from '../status-line.ts'

interface Options {
  persona?: string
  client: string
  ownServer?: true
}

/** Not a hook, but called by the client in the same way. */
const STATUS_LINE = 'statusline'

export function registerHook(program: Command, cli: Cli): void {
  const command = program
    .command('hook')
    .description("the command for a client's hooks; reads the hook's JSON on stdin and always exits 0")
    .argument('<event>', 'such as PostToolUse')
    .option('--persona <name>', 'the persona that the client acts for (TURNBELL_PERSONA)')
    .option('--client <kind>', 'the client', 'claude-code')
    .addOption(new Option('--own-server', "a hook of the persona's own app-server").hideHelp())
    .addHelpText(
      'after',
      examples([
        ['turnbell hook PostToolUse < payload.json', 'as a client calls it'],
        [`turnbell hook ${POST_COMMIT}`, 'as git calls it after a commit; reads nothing and prints nothing'],
        [`turnbell hook ${STATUS_LINE}`, "prints a client's status line: `ada: 3 waiting`, or nothing"],
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
    const timeout = new Promise<null>((resolve) => {
      cli.clock.after(answerMs(event), () => resolve(null))
    })
    const deliveries: HookDelivery[] = []
    const reported = reportHook(cli, command, {
      event,
      options,
      onRead: (delivery) => void deliveries.push(delivery),
    })
    const answer = await Promise.race([reported.catch(() => null), timeout])
    for (const delivery of deliveries) await delivery.spoolUnlessSent().catch(() => undefined)
    const text = JSON.stringify(answer ?? {})
    // Claude Code shows the person and the model everything that is printed here, also empty braces.
    const is_silent = event === PRE_COMPACT && text === '{}'
    cli.stdout.write(is_silent ? '' : `${text}\n`, () => {
      // Otherwise a stdin that never ends, or a hub that never answers, would block the client.
      process.exit(0)
    })
  })
}

/** The answer to the start of a session is the primer, which the hub cannot supply later. */
const answerMs = (event: string) =>
  event === SESSION_START ? PRIMER_LIMITS.primer_answer_ms : LIMITS.hook_answer_ms

const PRE_COMPACT = 'PreCompact'
const BEFORE_COMPACTION =
  'turnbell: this conversation is about to be compacted. Save what only it contains with `blackboard post`, archive old entries with `blackboard archive`, and read the memory of this project afterwards with `context refresh`.'

/** Ignores errors, because the commit already exists and its author cannot fix them. */
function afterCommit(invocation: () => Invocation): void {
  try {
    spoolArchive(invocation())
  } catch {
    // The next commit spools a later time, which includes this one.
  }
}

/** Reports the event to the hub, or spools it. Returns the hub's answer for the client; null if there is none. */
async function reportHook(
  cli: Cli,
  command: Command,
  { event, options, onRead }: { event: string; options: Options; onRead: (one: HookDelivery) => void },
): Promise<Json | null> {
  const invocation = wiredInvocationOf(cli, command)
  const payload = hookPayload(await readAll(cli.stdin, LIMITS.body_bytes_max))
  const identity = hookPersona(options.persona, cli.env)
  if (event === SUBAGENT_STOP) spoolSubagentStatus(invocation, identity, payload)
  if (identity === null) return null
  const body = { ...payload, hook_event_name: event }
  if (options.client === 'codex' && options.ownServer !== true) notifyShim(invocation, identity, body)
  const delivery = hookDelivery(() =>
    appendToSpool(invocation, { type: 'hook', client: options.client, identity, body }),
  )
  onRead(delivery)
  try {
    const hub = await invocation.hub().as(identity, 'agent')
    delivery.sending()
    const answer = await hub.hook(options.client, body)
    return isPrimedByOwnHook(cli.env, options) ? {} : answer
  } catch (error) {
    await (mayBeDone(error) ? delivery.spoolUnlessSent() : delivery.spool())
    return null
  }
}

/** Returns true if the hook of the persona's own app-server returns the primer, so the project's hook must not repeat it. */
function isPrimedByOwnHook(env: NodeJS.ProcessEnv, { ownServer }: Options): boolean {
  return ownServer !== true && (env[OWN_SERVER_PERSONA] ?? '') !== ''
}

/** Reports the thread to the persona's shim, which binds it. Works without a hub. */
function notifyShim(invocation: Invocation, identity: Identity, body: object): void {
  try {
    const news = hookReport(body, timestamp(invocation.cli.clock), ancestorNamed(/^codex/))
    if (news === null) return
    const { run_dir } = invocation.paths(identity)
    ensurePrivateDirectory(run_dir)
    codexRunFiles(run_dir).tell(news)
  } catch {
    // `turnbell doctor` reports the cause. The event is sent to the hub in any case.
  }
}
