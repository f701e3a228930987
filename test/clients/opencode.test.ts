/**
 * The real opencode, joined to the server that the persona's daemon keeps, against a real hub and a
 * scripted model, without a network. What counts is what the model was shown: one doorbell per turn, then
 * the drained signals, each of them once.
 */
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { ClientWorld, Service } from '../support/client-world.ts'
import { expectOneBellPerTurn, figuresOf, turnsOf } from '../support/conversation.ts'
import { eventually } from '../support/eventually.ts'
import { opencodeProgram, openOpencodeWorld } from '../support/opencode-world.ts'
import type { Terminal } from '../support/terminal.ts'

const DRAIN = 'turnbell_signals_pending'
/** What stands below the field a person types into. */
const AT_PROMPT = /ctrl\+p commands/
const worlds: ClientWorld[] = []

beforeAll(() => void opencodeProgram())

afterEach(async (context) => {
  for (const world of worlds.splice(0)) {
    console.info(JSON.stringify({ scene: context.task.name, ...figuresOf(world) }))
    if (context.task.result?.state === 'fail') console.info(world.story())
    await world.close()
  }
})

interface Scene extends ClientWorld {
  hub: Service
  daemon: Service
}

/** A hub, a daemon, and a model that drains whenever a doorbell rings. */
async function open(options: Parameters<typeof openOpencodeWorld>[0] = {}): Promise<Scene> {
  const world = await openOpencodeWorld(options)
  worlds.push(world)
  world.model.always(/\(bell [0-9a-z]{8}\)/, { tools: [{ name: DRAIN, input: {} }] })
  const hub = await world.startHub()
  const daemon = await world.startDaemon()
  return { ...world, hub, daemon }
}

async function atPrompt(world: ClientWorld, args: readonly string[] = []): Promise<Terminal> {
  const terminal = world.terminal(args)
  await terminal.shows(AT_PROMPT, 60_000)
  await world.turnIs('idle')
  return terminal
}

async function say(terminal: Terminal, text: string): Promise<void> {
  terminal.type(text)
  await terminal.shows(new RegExp(text))
  terminal.press('Enter')
}

/** A tool call that runs until the scene lets it end. */
function longTool(world: ClientWorld) {
  const go = path.join(world.project, 'go')
  const command = `while [ ! -e ${go} ]; do sleep 0.1; done; echo ran`
  return {
    reply: { tools: [{ name: 'bash', input: { command, description: 'wait' } }] },
    end: () => fs.writeFileSync(go, ''),
  }
}

const bells = (world: ClientWorld) => turnsOf(world.model).flatMap((turn) => turn.bells)
const known = (world: ClientWorld, count: number) =>
  eventually('the daemon knows', async () => (await world.status()).pending_count === count)

describe('opencode in a terminal', () => {
  test('is rung once for one signal while idle, before a person said anything', async () => {
    const world = await open()
    await atPrompt(world)
    await world.settled([await world.send('one')])
    expect(expectOneBellPerTurn(world.model, ['one'])).toHaveLength(1)
  })
})
