/** `turnbell send`: one durable signal from a person, or as a persona. */
import fs from 'node:fs'
import { InvalidArgumentError, type Command } from 'commander'
import { describeIssues, TurnbellError } from '../../contracts/errors.ts'
import { Json } from '../../contracts/ids.ts'
import { handwrittenJson } from '../../contracts/json.ts'
import { InexactNumberError } from '../../contracts/json-numbers.ts'
import { LIMITS } from '../../contracts/limits.ts'
import { Intent, Receipt, type SendInput, type Route } from '../../contracts/signal.ts'
import type { z } from 'zod'
import { type Cli, invocationOf, parseIdentity, parseWhole } from '../cli.ts'
import { parseDuration } from '../duration.ts'
import { readAll } from '../read-all.ts'
import { examples } from '../render.ts'

/** What a person's words are about when they do not say. */
const INTENT_DEFAULT = 'message'

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
}

export function registerSend(program: Command, cli: Cli): void {
  const command = program
    .command('send')
    .description('one durable signal; prints the receipt')
    .argument('[text]', 'what it says; - reads it from stdin; only with --intent may it be left out')
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
    .option('--reply-to <name>', 'who gets the result', parseIdentity)
    .option('--ttl <duration>', 'how long it may wait: 90s, 30m, 24h, 7d (24h)', parseDuration)
    .option('--to-session <id>', 'only for this run of the agent')
    .option('--require-live', 'refuse unless somebody can be rung now')
    .option('--idempotency-key <key>', 'the same key again returns the first receipt')
    .addHelpText(
      'after',
      examples([
        ['turnbell send --to ada "Please look at the checkout branch."', 'a word from you'],
        [`turnbell send --to ada --intent review --payload '{"branch":"checkout"}'`, 'structured'],
        ['git log -5 | turnbell send --to ada --intent fyi --priority 0 -', 'quiet: rings nobody'],
      ]),
    )
  command.action(async (text: string | undefined, options: Options) => {
    const invocation = invocationOf(cli, command)
    const named = command.getOptionValueSource('intent') !== 'default'
    if (text === undefined && options.payload === undefined && !named) throw nothingSaid('no text was given')
    const payload = await readPayload(cli, text, options.payload)
    const receipt = await invocation.hub().ask('signals', 'send', inputOf(options, payload), Receipt)
    await invocation.out.result(receipt, () => describeReceipt(options, receipt))
  })
}

function inputOf(options: Options, payload: Json): z.input<typeof SendInput> {
  const { to, from, intent, priority, topic, replyTo, ttl, toSession, requireLive, idempotencyKey } = options
  const optional = {
    from,
    priority,
    topic,
    reply_to: replyTo,
    ttl_s: ttl,
    to_session: toSession,
    require_live: requireLive,
    idempotency_key: idempotencyKey,
  }
  const given = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined))
  return { to, intent, payload, ...given }
}

async function readPayload(cli: Cli, text: string | undefined, json: string | undefined): Promise<Json> {
  if (text !== undefined && json !== undefined) {
    throw new TurnbellError('usage_invalid', {
      detail: 'A signal says either a text or --payload, not both.',
      hint: 'Put the text into the JSON, or leave --payload out.',
    })
  }
  if (json !== undefined) return readJson(cli, '--payload', json)
  if (text === '-') {
    const read = (await readAll(cli.stdin, LIMITS.body_bytes_max)).replace(/\r?\n$/, '')
    if (read !== '') return read
    throw nothingSaid('stdin ended without a word')
  }
  return text ?? null
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
  if (priority === 0) return `It rings nobody: it waits until ${to} drains next.`
  if (live) return `${to} will be rung at once, or when the turn ends that runs.`
  return `${to} cannot be rung now: ${reason === null ? 'nobody is there' : ROUTES[reason]}. The signal waits.`
}
