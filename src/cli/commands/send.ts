/** `turnbell send`: sends one durable signal from the operator, or in a persona's name. */
import fs from 'node:fs'
import os from 'node:os'
import { InvalidArgumentError, type Command } from 'commander'
import { describeIssues, TurnbellError } from '../../contracts/errors/errors.ts'
import { Json, OPERATOR } from '../../contracts/ids.ts'
import { handwrittenJson } from '../../contracts/validation/json.ts'
import { InexactNumberError } from '../../contracts/validation/json-numbers.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { Intent, Receipt, SignalView, type SendInput, type Route } from '../../contracts/signal.ts'
import { pause } from '../../ports/pause.ts'
import type { z } from 'zod'
import { type Cli, invocationOf, type Invocation, parseIdentity, parseWhole } from '../cli.ts'
import { parseDuration } from '../duration.ts'
import { isAway, whenReached } from '../hub/reach.ts'
import { readAll } from '../hub/read-all.ts'
import { examples, payloadText } from '../render.ts'
import { takeReply } from './inbox.ts'

const INTENT_DEFAULT = 'message'
/** Offset of the exit code after an os signal, as in shells. */
const EXIT_BY_SIGNAL = 128

interface Options {
  to: string
  from?: string
  intent: string
  payload?: string
  priority?: number
  topic?: string
  replyTo?: string
  ttl?: number
  toSession?: string
  requireLive?: boolean
  idempotencyKey?: string
  /** True if no duration was given. */
  wait?: string | true
  autostart: boolean
}

export function registerSend(program: Command, cli: Cli): void {
  const command = program
    .command('send')
    .description('send one durable signal; prints the receipt')
    .argument('[text]', 'the text; - or a pipe reads it from stdin; optional only with --intent')
    .requiredOption('--to <name>', 'the recipient', parseIdentity)
    .option('--from <name>', 'the sender (operator)', parseIdentity)
    .option('--intent <word>', 'the purpose, one word', parseIntent, INTENT_DEFAULT)
    .option('--payload <json>', 'JSON instead of text; @FILE reads a file, - reads stdin')
    .option(
      '--priority <n>',
      '0 rings no doorbell, 9 is drained first (3)',
      parseWhole(LIMITS.priority_min, LIMITS.priority_max),
    )
    .option('--topic <text>', 'a label that groups signals')
    .option('--reply-to <name>', 'the recipient of the result (operator: your inbox)', parseIdentity)
    .option('--ttl <duration>', 'time until it expires: 90s, 30m, 24h, 7d (30d)', parseDuration)
    .option('--to-session <id>', 'only for this session of the agent')
    .option('--require-live', 'refuse the signal if the recipient cannot be rung now')
    .option('--idempotency-key <key>', 'the same request again returns the first receipt')
    .option('--wait [duration]', 'wait for the result of ack and print it (10m); exit 1 if there is none')
    .option('--no-autostart', 'do not start a hub if none runs')
    .addHelpText(
      'after',
      examples([
        ['turnbell send --to ada "Please look at the checkout branch."', 'a message from you'],
        [`turnbell send --to ada --intent review --payload '{"branch":"checkout"}'`, 'structured data'],
        ['turnbell send --to ada --wait 5m "Is main green?"', 'waits for the answer and prints it'],
        ['git log -5 | turnbell send --to ada --intent fyi --priority 0 -', 'without a doorbell'],
      ]),
    )
  command.action(async (text: string | undefined, options: Options) => {
    const invocation = invocationOf(cli, command)
    const named = command.getOptionValueSource('intent') !== 'default'
    const { wait_s, message } = parseWait(options.wait, text)
    const payload = await readPayload(invocation, message, options.payload, named)
    const input = inputOf(cli, options, payload, wait_s !== null)
    const receipt = await whenReached(invocation, options, (hub) =>
      hub.ask('signals', 'send', input, Receipt),
    )
    if (wait_s === null) return invocation.out.result(receipt, () => describeReceipt(options, receipt))
    invocation.out.note(`${receipt.signal_id} was sent to ${options.to}; waiting for its result.`)
    await waitForResult(invocation, receipt, { wait_s, reply_to: input.reply_to })
  })
}

/** Returns the value of `--wait` as the message if it is not a duration and there is no other text. */
function parseWait(
  wait: string | true | undefined,
  text: string | undefined,
): { wait_s: number | null; message: string | undefined } {
  if (wait === undefined) return { wait_s: null, message: text }
  if (wait === true) return { wait_s: LIMITS.wait_s_default, message: text }
  if (/^\d{1,9}[smhd]?$/.test(wait)) return { wait_s: parseDuration(wait), message: text }
  if (text === undefined) return { wait_s: LIMITS.wait_s_default, message: wait }
  throw new TurnbellError('usage_invalid', {
    detail: `--wait: ${JSON.stringify(wait)} is not a duration.`,
    hint: 'Use a duration such as 90s or 10m, or omit it.',
  })
}

interface Waiting {
  wait_s: number
  reply_to: string | undefined
}

/** The first os signal stops the wait. A second one ends the process at once, because the hub may be slow to answer. */
async function waitForResult(invocation: Invocation, receipt: Receipt, waiting: Waiting): Promise<void> {
  const { cli, out } = invocation
  const ending = new AbortController()
  const stopListening = cli.onTermination((os_signal) => {
    stopListening()
    ending.abort(os_signal)
  })
  try {
    const is_over = await pollForResult(invocation, receipt, waiting.wait_s, ending.signal)
    if (is_over) return
    const { reply_to } = waiting
    if (reply_to === OPERATOR) out.note('The answer will be sent to your inbox: `turnbell inbox`.')
    else if (reply_to !== undefined) out.note(`The answer will be sent to ${reply_to}.`)
    cli.exitWith(EXIT_BY_SIGNAL + os.constants.signals[ending.signal.reason as NodeJS.Signals])
  } finally {
    stopListening()
  }
}

/** Keeps polling across a restart of the hub. Returns false if it was aborted without a result. */
async function pollForResult(
  invocation: Invocation,
  receipt: Receipt,
  wait_s: number,
  aborted: AbortSignal,
): Promise<boolean> {
  const { cli, out } = invocation
  const { signal_id } = receipt
  const ends_at = cli.clock.monotonic() + wait_s * 1000
  const read = () =>
    invocation
      .hub()
      .ask('signals', 'read', { signal_id }, SignalView)
      .catch((error: unknown) => {
        if (isAway(error)) return null
        throw error
      })
  for (;;) {
    const view = await read()
    if (view?.status === 'completed') {
      const { result = null, to, stages } = view
      await out.result(
        { ...receipt, status: view.status, result, completed_at: stages.completed_at, by: to },
        () => (result === null ? `${to} completed it without a result.` : payloadText(result)),
      )
      await takeReply(invocation, receipt)
      return true
    }
    if (aborted.aborted) return false
    const is_over = view !== null && ['expired', 'cancelled', 'dead'].includes(view.status)
    if (is_over || cli.clock.monotonic() >= ends_at) {
      const state = view === null ? 'The hub is unreachable.' : `It is ${view.status}.`
      throw new TurnbellError('result_missing', {
        detail: is_over
          ? `Signal ${signal_id} will get no result: it is ${view.status}.`
          : `Signal ${signal_id} got no result within ${wait_s} s. ${state}`,
      })
    }
    await pause(cli.clock, LIMITS.wait_poll_ms, aborted)
    if (aborted.aborted) return false
  }
}

function inputOf(cli: Cli, options: Options, payload: Json, waits: boolean): z.input<typeof SendInput> {
  const { to, from, intent, priority, topic, replyTo, ttl, toSession, requireLive, idempotencyKey } = options
  const optional = {
    from,
    priority,
    topic,
    // Results go to the operator's inbox for signals from the operator, and for signals in a persona's name only with --wait.
    reply_to: replyTo ?? (to !== OPERATOR && (from === undefined || waits) ? OPERATOR : undefined),
    ttl_s: ttl,
    to_session: toSession,
    require_live: requireLive,
    // Because `whenReached` repeats the request if the hub ends before it answers.
    idempotency_key: idempotencyKey ?? `cli:${cli.ids.next()}`,
  }
  const defined = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined))
  return { to, intent, payload, ...defined }
}

async function readPayload(
  { cli, out }: Invocation,
  text: string | undefined,
  json: string | undefined,
  named: boolean,
): Promise<Json> {
  if (text !== undefined && json !== undefined) {
    throw new TurnbellError('usage_invalid', {
      detail: 'A text and --payload exclude each other.',
      hint: 'Put the text into the JSON, or omit --payload.',
    })
  }
  if (json !== undefined) return readJson(cli, '--payload', json)
  if (text === '-') {
    const read = withoutLineEnd(await readAll(cli.stdin, LIMITS.body_bytes_max))
    if (read.trim() !== '') return read
    throw textMissing('stdin is empty')
  }
  if (text !== undefined) {
    if (text.trim() !== '') return text
    throw textMissing('the text is empty')
  }
  const piped = await pipedText(cli)
  if (piped === null && isPipe(cli.stdin)) throw pipeSilent()
  if (piped === null) out.note('stdin is open but nothing arrived; use - to wait for it.')
  const read = withoutLineEnd(piped ?? '')
  if (read.trim() !== '') return read
  if (named) return null
  throw textMissing('no text was given')
}

const withoutLineEnd = (text: string) => text.replace(/\r?\n$/, '')

/** Reads a pipe or file on stdin. Returns null if stdin stays open and nothing arrives within `LIMITS.piped_text_ms`. */
async function pipedText({ stdin, clock }: Cli): Promise<string | null> {
  const stream = stdin as NodeJS.ReadableStream & { isTTY?: boolean; unref?: () => void }
  if (stream.isTTY === true) return ''
  const arrived = new AbortController()
  const onArrival = () => arrived.abort()
  const events = ['readable', 'end', 'close', 'error']
  for (const event of events) stream.once(event, onArrival)
  await pause(clock, LIMITS.piped_text_ms, arrived.signal)
  for (const event of events) stream.off(event, onArrival)
  if (arrived.signal.aborted) return readAll(stream, LIMITS.body_bytes_max)
  // Otherwise stdin would keep this process alive.
  stream.pause()
  stream.unref?.()
  return null
}

/** Returns true for a pipe, whose text may arrive late. An open socket is usually inherited and carries no text. */
function isPipe({ fd }: Cli['stdin'] & { fd?: number }): boolean {
  return fd !== undefined && fs.fstatSync(fd).isFIFO()
}

function pipeSilent(): TurnbellError {
  return new TurnbellError('usage_invalid', {
    detail: `There is nothing to send: stdin is a pipe, and no text arrived within ${LIMITS.piped_text_ms / 1000} s.`,
    hint: 'Use - to wait for the text, or --payload null for a signal without a payload.',
  })
}

function textMissing(why: string): TurnbellError {
  return new TurnbellError('usage_invalid', {
    detail: `There is nothing to send: ${why}.`,
    hint: 'Add a text (- reads it from stdin), or use only --intent for a signal without a payload.',
  })
}

/** Reads JSON from the argument itself, from the file of `@FILE`, or from stdin for `-`. */
export async function readJson(cli: Cli, option: string, given: string): Promise<Json> {
  const text =
    given === '-'
      ? await readAll(cli.stdin, LIMITS.body_bytes_max)
      : given.startsWith('@')
        ? readFile(option, given.slice(1))
        : given
  try {
    return Json.parse(handwrittenJson(text))
  } catch (cause) {
    if (cause instanceof InexactNumberError)
      throw new TurnbellError('params_invalid', { detail: `${option}: ${cause.message}`, cause })
    throw new TurnbellError('usage_invalid', {
      detail: `${option} is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`,
      hint: 'Quote it for the shell, such as \'{"branch":"main"}\', or use @FILE.',
      cause,
    })
  }
}

function readFile(option: string, file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (cause) {
    throw new TurnbellError('usage_invalid', {
      detail: `The file of ${option} cannot be read: ${file}`,
      hint: 'Check the path after the @.',
      cause,
    })
  }
}

function parseIntent(text: string): string {
  const parsed = Intent.safeParse(text)
  if (parsed.success) return parsed.data
  throw new InvalidArgumentError(describeIssues(parsed.error, 'the intent'))
}

const ROUTES: Record<NonNullable<Route['reason']>, string> = {
  no_binding: 'no daemon has connected for it since the hub started',
  stale: 'its daemon sends no heartbeat',
  daemon_down: 'its daemon is not running',
  surface_absent: 'its surface is not attached',
}

function describeReceipt(
  { to, priority }: Pick<Options, 'to' | 'priority'>,
  { signal_id, seq, status, route }: Receipt,
): string {
  return `${signal_id}  durable, number ${seq}, ${status}\n${whatFollows(to, priority, route)}`
}

function whatFollows(to: string, priority: number | undefined, { live, reason }: Route): string {
  // The operator has no daemon by design, so the route has no meaning for this recipient.
  if (to === OPERATOR) return 'It is in the inbox of the operator: `turnbell inbox`.'
  if (priority === 0) return `It rings no doorbell; ${to} receives it with the next drain.`
  if (live) return `${to} gets a doorbell at once, or at the end of the running turn.`
  return `${to} cannot be rung now: ${reason === null ? 'no agent is reachable' : ROUTES[reason]}. The signal stays pending.`
}
