/**
 * A client may truncate a tool's result, and the drain counts all the same. So every confirmed signal must have been
 * shown completely in each of the real clients.
 */
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { openClaudeWorld } from '../support/clients/claude-world.ts'
import { PERSONA } from '../support/clients/client-world.ts'
import { CODEX_TOOLS, openCodexWorld } from '../support/clients/codex-world.ts'
import { turnsOf } from '../support/clients/conversation.ts'
import { eventually } from '../support/eventually.ts'
import { opencodeTools, openOpencodeWorld } from '../support/clients/opencode-world.ts'
import { scenesOf, type Scene } from '../support/clients/scene.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { DrainedSignal } from '../../src/contracts/signal.ts'

const CLAUDE_TOOLS = {
  drain: 'mcp__plugin_turnbell_hub__signals_pending',
  shell: (command: string) => ({ name: 'Bash', input: { command } }),
}

/** Each client is started by the persona's daemon. */
const persona = { headless: true, project: '../project' }
const CLIENTS = {
  'Claude Code': scenesOf(CLAUDE_TOOLS, () => openClaudeWorld({ persona })),
  Codex: scenesOf(CODEX_TOOLS, () => openCodexWorld({ persona })),
  opencode: scenesOf(opencodeTools, () => openOpencodeWorld({ persona })),
}
type Name = keyof typeof CLIENTS

/** The same with a person's small limit on tool output. */
const THRIFTY = {
  Codex: scenesOf(CODEX_TOOLS, async () => {
    const world = await openCodexWorld({ persona })
    const file = path.join(world.user, '.codex/config.toml')
    fs.writeFileSync(file, `tool_output_token_limit = 5_000\n${fs.readFileSync(file, 'utf8')}`)
    return world
  }),
  opencode: scenesOf(opencodeTools, async () => {
    const world = await openOpencodeWorld({ persona })
    const file = path.join(world.user, '.config/opencode/config.json')
    fs.writeFileSync(file, JSON.stringify({ tool_output: { max_bytes: 20_000 } }))
    return world
  }),
}

const MORE = /"remaining":[1-9]/
/** The call for the next part of a large payload, from the previous part. */
const NEXT_PART = /"next":"signals read (\{[^}]*\})"/
const LAST_PART = /"payload_part":\{"part":(\d+),"parts":\1\}/

async function atRest(open: () => Promise<Scene>): Promise<Scene> {
  const scene = await open()
  const name = scene.tools.drain.replace('signals_pending', 'signals')
  // The model follows the tool's description and results.
  scene.model.always(MORE, scene.drain)
  scene.model.always(LAST_PART, scene.drain)
  scene.model.always(NEXT_PART, ({ tool_results }) => {
    const [, written = ''] = NEXT_PART.exec(tool_results.join('\n')) ?? []
    const params = JSON.parse(written.replaceAll('\\"', '"')) as object
    return { tools: [{ name, input: { action: 'read', params } }] }
  })
  await scene.turnIs('idle')
  return scene
}

/** A payload of the given size in JSON bytes, with its name at both ends, filled with text that may be truncated or escaped. */
function body(name: string, bytes: number, filling: string): string {
  const room = bytes - bytesOf(`${name} begins${name} ends`)
  const times = Math.floor(room / (bytesOf(filling) - 2))
  const rest = room - times * (bytesOf(filling) - 2)
  return `${name} begins${filling.repeat(times)}${'x'.repeat(rest)}${name} ends`
}

const bytesOf = (text: string) => Buffer.byteLength(JSON.stringify(text))

async function sendAll(scene: Scene, bodies: Readonly<Record<string, string>>): Promise<Map<string, string>> {
  const sent = new Map<string, string>()
  for (const [name, payload] of Object.entries(bodies)) {
    const signal = { to: PERSONA, intent: 'scene', payload, idempotency_key: name }
    sent.set(name, (await scene.call<{ signal_id: string }>('signals', 'send', signal)).signal_id)
  }
  return sent
}

/** Resolves when every signal is confirmed and the model has finished after its drains. */
async function drained(scene: Scene, sent: ReadonlyMap<string, string>): Promise<void> {
  for (const [name, signal_id] of sent) {
    const confirmed = async () => (await scene.read(signal_id)).stages.confirmed_at
    await eventually(`${name} is confirmed`, confirmed, 60_000)
  }
  // The scene is over if the model requested no further drain.
  await eventually('the answer of every drain is shown', () => {
    const last = scene.model.shown.findLast(({ role }) => role === 'main')
    return last !== undefined && last.reply.tools === undefined
  })
}

/**
 * Returns the payloads that the model was not shown completely, character by character: a client may keep both ends and
 * truncate the middle. A sanitized character counts as sent.
 */
function unseen({ model }: Scene, bodies: Readonly<Record<string, string>>): string[] {
  const whole = turnsOf(model).flatMap(({ drained: payloads }) => payloads)
  const seen = new Set([...whole, ...inParts(model)].map((payload) => payload.replaceAll('~', '<')))
  return Object.entries(bodies).flatMap(([name, payload]) => (seen.has(payload) ? [] : [name]))
}

/** Payloads that were shown in parts, joined. */
function inParts({ shown }: Scene['model']): string[] {
  const found = new Map<string, string[]>()
  for (const result of shown.flatMap(({ role, tool_results }) => (role === 'main' ? tool_results : []))) {
    for (const { signal_id, payload, payload_part } of signalsIn(result)) {
      if (payload_part === undefined) continue
      const parts = found.get(signal_id) ?? []
      parts[payload_part.part - 1] = payload
      found.set(signal_id, parts)
    }
  }
  return [...found.values()].map((parts) => parts.join(''))
}

type Part = Pick<DrainedSignal, 'signal_id' | 'payload_part'> & { payload: string }

/** The signals of a drain, or the one that was read. */
function signalsIn(result: string): Part[] {
  try {
    const answer = JSON.parse(result) as { signals?: Part[] } & Part
    return answer.signals ?? [answer]
  } catch {
    return []
  }
}

test.each(Object.keys(CLIENTS) as Name[])(
  '%s shows its model the whole of twenty signals of 6,000 bytes',
  { tags: ['extended'] },
  async (name) => {
    const scene = await atRest(CLIENTS[name])
    const numbers = Array.from({ length: 20 }, (_, index) => `signal ${index + 1}`)
    const bodies = Object.fromEntries(numbers.map((number) => [number, body(number, 6_000, 'words of it ')]))
    const sent = await sendAll(scene, bodies)
    await drained(scene, sent)
    expect(unseen(scene, bodies)).toEqual([])
  },
)

test.each(Object.keys(CLIENTS) as Name[])(
  '%s, started by turnbell, shows its model the whole of the largest signals',
  async (name) => {
    const scene = await atRest(CLIENTS[name])
    // Many lines, text that grows with every escaping, and text that grows by sanitizing.
    const fillings = { lines: 'a\n', quotes: '"', tags: '<|a|>' }
    const bodies = Object.fromEntries(
      Object.entries(fillings).map(([what, filling]) => [
        what,
        body(what, LIMITS.payload_bytes_max, filling),
      ]),
    )
    const sent = await sendAll(scene, bodies)
    await drained(scene, sent)
    expect(unseen(scene, bodies)).toEqual([])
  },
)

test.each(['Codex', 'opencode'] as const)(
  "%s with the user's small output limit shows its model the whole of a large signal",
  { tags: ['extended'] },
  async (name) => {
    const scene = await atRest(THRIFTY[name])
    const bodies = {
      short: body('short', 10_000, 'words of it '),
      long: body('long', 40_000, 'words of it '),
    }
    await drained(scene, await sendAll(scene, bodies))
    expect(unseen(scene, bodies)).toEqual([])
  },
)
