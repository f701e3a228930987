/** `turnbell send`: one durable signal from a person, or as a persona. */
import fs from 'node:fs'
import os from 'node:os'
import { InvalidArgumentError, type Command } from 'commander'
import { describeIssues, TurnbellError } from '../../contracts/errors.ts'
import { Json, OPERATOR } from '../../contracts/ids.ts'
import { handwrittenJson } from '../../contracts/json.ts'
import { InexactNumberError } from '../../contracts/json-numbers.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { Intent, Receipt, SignalView, type SendInput, type Route } from '../../contracts/signal.ts'
import { pause } from '../../ports/pause.ts'
import type { z } from 'zod'
import { type Cli, invocationOf, type Invocation, parseIdentity, parseWhole } from '../cli.ts'
import { parseDuration } from '../duration.ts'
import { isAway, whenReached } from '../reach-hub.ts'
import { readAll } from '../read-all.ts'
import { examples, payloadText } from '../render.ts'
import { takeReply } from './inbox.ts'

/** What a person's words are about when they do not say. */
const INTENT_DEFAULT = 'message'
/** Added to the number of the signal, as a shell reports a program that a signal ended. */
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
  /** `true` without a duration. */
  wait?: string | true
  autostart: boolean
}

export function registerSend(program: Command, cli: Cli): void {
  const command = program
    .command('send')
    .description('one durable signal; prints the receipt')
    .argument(
      '[text]',
      'what it says; - or a pipe reads it from stdin; only with --intent may it be left out',
    )
    .requiredOption('--to <name>', 'who gets it', parseIdentity)
    .option('--from <name>', 'in whose name (operator)', parseIdentity)
    .option('--intent <word>', 'what it is about, one word', parseIntent, INTENT_DEFAULT)
    .option('--payload <json>', 'JSON instead of text; @FILE reads a file, - reads stdin')
    .option(
      '--priority <n>',
      '0 is quiet, 9 comes first (3)',
      parseWhole(LIMITS.priority_min, LIMITS.priority_max),
    )
    .option('--topic <text>', 'what it belongs to')
    .option('--reply-to <name>', 'who gets the result (operator: your inbox)', parseIdentity)
    .option('--ttl <duration>', 'how long it may wait: 90s, 30m, 24h, 7d (30d)', parseDuration)
    .option('--to-session <id>', 'only for this run of the agent')
    .option('--require-live', 'refuse unless somebody can be rung now')
    .option('--idempotency-key <key>', 'the same request again returns the first receipt')
    .option('--wait [duration]', 'wait for the result of ack and print it (10m); exit 1 if there is none')
    .option('--no-autostart', 'do not start a hub where none runs')
    .addHelpText(
      'after',
      examples([
        ['turnbell send --to ada "Please look at the checkout branch."', 'a word from you'],
        [`turnbell send --to ada --intent review --payload '{"branch":"checkout"}'`, 'structured'],
        ['turnbell send --to ada --wait 5m "Is main green?"', 'ask, and print the answer'],
        ['git log -5 | turnbell send --to ada --intent fyi --priority 0 -', 'quiet: rings nobody'],
      ]),
    )
  command.action(async (text: string | undefined, options: Options) => {
    const invocation = invocationOf(cli, command)
    const named = command.getOptionValueSource('intent') !== 'default'
    const { wait_s, said } = waitingFor(options.wait, text)
    const payload = await readPayload(invocation, said, options.payload, named)
    const input = inputOf(cli, options, payload, wait_s !== null)
    const receipt = await whenReached(invocation, options, (hub) =>
      hub.ask('signals', 'send', input, Receipt),
    )
    if (wait_s === null) return invocation.out.result(receipt, () => describeReceipt(options, receipt))
    invocation.out.note(`${receipt.signal_id} was sent to ${options.to}; waiting for its result.`)
    await waitForResult(invocation, receipt, { wait_s, reply_to: input.reply_to })
  })
}

/** The text may follow `--wait` directly: it is taken for a duration only where it is one. */
function waitingFor(
  wait: string | true | undefined,
  text: string | undefined,
): { wait_s: number | null; said: string | undefined } {
  if (wait === undefined) return { wait_s: null, said: text }
  if (wait === true) return { wait_s: LIMITS.wait_s_default, said: text }
  if (/^\d{1,9}[smhd]?$/.test(wait)) return { wait_s: parseDuration(wait), said: text }
  if (text === undefined) return { wait_s: LIMITS.wait_s_default, said: wait }
  throw new TurnbellError('usage_invalid', {
    detail: `--wait: ${JSON.stringify(wait)} is not a duration.`,
    hint: 'Give a duration such as 90s or 10m, or none.',
  })
}

interface Waiting {
  wait_s: number
  reply_to: string | undefined
}

/** The first request to end stops the wait; a second one ends the process at once, as a hub may be slow to answer. */
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
    if (reply_to === OPERATOR) out.note('The answer will be in `turnbell inbox`.')
    else if (reply_to !== undefined) out.note(`The answer will be sent to ${reply_to}.`)
    cli.exitWith(EXIT_BY_SIGNAL + os.constants.signals[ending.signal.reason as NodeJS.Signals])
  } finally {
    stopListening()
  }
}

/** Survives a restart of the hub: what was accepted is still there. False if it was aborted without a result. */
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
      const what = view === null ? 'The hub cannot be reached.' : `It is ${view.status}.`
      throw new TurnbellError('result_missing', {
        detail: is_over
          ? `The signal ${signal_id} will get no result: it is ${view.status}.`
          : `The signal ${signal_id} got no result within ${wait_s} s. ${what}`,
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
    // What a person asks is answered to the person; what is sent in a persona's name only where its result is awaited.
    reply_to: replyTo ?? (to !== OPERATOR && (from === undefined || waits) ? OPERATOR : undefined),
    ttl_s: ttl,
    to_session: toSession,
    require_live: requireLive,
    // It may be said again to a hub that went away before it answered.
    idempotency_key: idempotencyKey ?? `cli:${cli.ids.next()}`,
  }
  const given = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined))
  return { to, intent, payload, ...given }
}

async function readPayload(
  { cli, out }: Invocation,
  text: string | undefined,
  json: string | undefined,
  named: boolean,
): Promise<Json> {
  if (text !== undefined && json !== undefined) {
    throw new TurnbellError('usage_invalid', {
      detail: 'A signal says either a text or --payload, not both.',
      hint: 'Put the text into the JSON, or leave --payload out.',
    })
  }
  if (json !== undefined) return readJson(cli, '--payload', json)
  if (text === '-') {
    const read = withoutLineEnd(await readAll(cli.stdin, LIMITS.body_bytes_max))
    if (read.trim() !== '') return read
    throw nothingSaid('stdin ended without a word')
  }
  if (text !== undefined) {
    if (text.trim() !== '') return text
    throw nothingSaid('the text is empty')
  }
  const piped = await pipedText(cli)
  if (piped === null && isPipe(cli.stdin)) throw nothingPiped()
  if (piped === null) out.note('stdin is open but nothing arrived; - waits for it.')
  const read = withoutLineEnd(piped ?? '')
  if (read.trim() !== '') return read
  if (named) return null
  throw nothingSaid('no text was given')
}

const withoutLineEnd = (text: string) => text.replace(/\r?\n$/, '')

/** What a pipe or a file gives without being asked for; null where nothing arrives and it stays open. */
async function pipedText({ stdin, clock }: Cli): Promise<string | null> {
  const stream = stdin as NodeJS.ReadableStream & { isTTY?: boolean; unref?: () => void }
  if (stream.isTTY === true) return ''
  const arrived = new AbortController()
  const come = () => arrived.abort()
  const events = ['readable', 'end', 'close', 'error']
  for (const event of events) stream.once(event, come)
  await pause(clock, LIMITS.piped_text_ms, arrived.signal)
  for (const event of events) stream.off(event, come)
  if (arrived.signal.aborted) return readAll(stream, LIMITS.body_bytes_max)
  // It would keep this process alive.
  stream.pause()
  stream.unref?.()
  return null
}

/** A pipe's text may arrive late. An open socket is usually inherited from the caller and carries no text. */
function isPipe({ fd }: Cli['stdin'] & { fd?: number }): boolean {
  return fd !== undefined && fs.fstatSync(fd).isFIFO()
}

function nothingPiped(): TurnbellError {
  return new TurnbellError('usage_invalid', {
    detail: `There is nothing to send: stdin is a pipe, and no text arrived within ${LIMITS.piped_text_ms / 1000} s.`,
    hint: 'Write - to wait for the text, or --payload null for a signal that says nothing else.',
  })
}

function nothingSaid(why: string): TurnbellError {
  return new TurnbellError('usage_invalid', {
    detail: `There is nothing to send: ${why}.`,
    hint: 'Say the text (- reads it from stdin), or only an --intent for a signal that says nothing else.',
  })
}

/** JSON given in place, as `@FILE`, or on stdin as `-`. */
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
      hint: 'Quote it for the shell, as in \'{"branch":"main"}\', or use @FILE.',
      cause,
    })
  }
}

function readFile(option: string, file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (cause) {
    throw new TurnbellError('usage_invalid', {
      detail: `${option} names a file that cannot be read: ${file}`,
      hint: 'Check the path behind the @.',
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
  no_binding: 'no daemon has joined for it since the hub started',
  stale: 'its daemon has gone silent',
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
  // The person has no daemon by design, so the route says nothing about them.
  if (to === OPERATOR) return 'It waits in the inbox of the person: `turnbell inbox`.'
  if (priority === 0) return `It rings nobody: it waits until ${to} drains next.`
  if (live) return `${to} will be rung at once, or when the turn ends that runs.`
  return `${to} cannot be rung now: ${reason === null ? 'nobody is there' : ROUTES[reason]}. The signal waits.`
}
