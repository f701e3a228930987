/**
 * The real clients, started by their own names in a project that `turnbell connect` has connected to a persona:
 * no dialog, no network, the tools are available, and the agent is rung.
 */
import fs from 'node:fs'
import path from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { claudeProgram, openClaudeWorld } from '../support/clients/claude-world.ts'
import { PERSONA, type ClientWorld } from '../support/clients/client-world.ts'
import { codexProgram, openCodexWorld } from '../support/clients/codex-world.ts'
import { expectOneBellPerTurn } from '../support/clients/conversation.ts'
import { eventually } from '../support/eventually.ts'
import { AT_PROMPT, opencodeProgram, openOpencodeWorld, say } from '../support/clients/opencode-world.ts'
import { plainCodex, say as sayToCodex } from '../support/clients/plain-codex.ts'
import { BIN } from '../support/processes/processes.ts'
import { scenesOf } from '../support/clients/scene.ts'

beforeAll(() => {
  for (const program of [claudeProgram, codexProgram, opencodeProgram]) program()
})

const nothing = { shell: () => ({ name: 'none', input: {} }) }
const claude = scenesOf({ drain: 'mcp__plugin_turnbell_hub__signals_pending', ...nothing }, openClaudeWorld)
const codex = scenesOf({ drain: 'mcp__turnbell.signals_pending', ...nothing }, openCodexWorld)
const opencode = scenesOf({ drain: 'turnbell_signals_pending', ...nothing }, openOpencodeWorld)

/** Runs `turnbell connect` or `disconnect` in the project. */
async function turnbell(world: ClientWorld, ...words: string[]): Promise<void> {
  const output = await toItsEnd(world, [process.execPath, BIN, ...words])
  expect(output).not.toMatch(/^error/m)
}

/** Runs the client to its end without a terminal; returns its output. */
async function toItsEnd(world: ClientWorld, argv: readonly string[]): Promise<string> {
  const child = world.spawn(argv, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  await new Promise((resolve) => child.once('close', resolve))
  return output
}

/** The session of the last prompt belongs to the persona, and its turn is over. */
const known = (world: ClientWorld) =>
  eventually(
    'the daemon knows the session',
    async () => {
      const { session_id, turn } = (await world.status()).surface
      return session_id !== null && turn === 'idle'
    },
    60_000,
  )

const drained = (world: ClientWorld, signal_id: string) =>
  eventually('the signal is drained', async () => (await world.read(signal_id)).stages.drained_at)

describe('a plain Claude Code in a connected project', () => {
  test('a plain Claude Code is rung once in a terminal, at its first start, without a dialog', async () => {
    const world = await claude()
    await turnbell(world, 'connect', 'claude-code', '--persona', PERSONA)
    world.terminalOf([claudeProgram()])
    await world.turnIs('idle')
    await world.settled([await world.send('one')])
    expect(expectOneBellPerTurn(world.model, ['one'])).toHaveLength(1)
    const first = world.model.shown.find(({ role }) => role === 'main')
    expect(JSON.stringify(first)).toContain('Signals (turnbell)')
  })

  test('a plain Claude Code is rung at the end of its one turn when it runs headless', async () => {
    const world = await claude()
    await turnbell(world, 'connect', 'claude-code', '--persona', PERSONA)
    const sent = await world.send('one')
    // The daemon has to know the turn before it ends.
    world.model.next(/say hello/, { text: 'Done.', after: world.turnIs('busy') })
    await toItsEnd(world, [claudeProgram(), '-p', 'say hello'])
    expect((await world.read(sent)).stages.drained_at).not.toBeNull()
    expectOneBellPerTurn(world.model, ['one'])
  })

  test(
    'a Claude Code started by `turnbell run` for the same persona is rung once',
    { tags: ['extended'] },
    async () => {
      const world = await claude()
      await turnbell(world, 'connect', 'claude-code', '--persona', PERSONA)
      world.terminal()
      await world.turnIs('idle')
      await world.settled([await world.send('one')])
      expect(expectOneBellPerTurn(world.model, ['one'])).toHaveLength(1)
    },
  )

  test(
    'a Claude Code started by `turnbell run` acts for the persona that it names',
    { tags: ['extended'] },
    async () => {
      const world = await claude()
      await turnbell(world, 'connect', 'claude-code', '--persona', 'somebody-else')
      world.terminal()
      await world.turnIs('idle')
      await world.settled([await world.send('one')])
      expect(expectOneBellPerTurn(world.model, ['one'])).toHaveLength(1)
    },
  )

  test('a plain Claude Code has no turnbell after `turnbell disconnect`', async () => {
    const world = await claude()
    await turnbell(world, 'connect', 'claude-code', '--persona', PERSONA)
    await turnbell(world, 'disconnect', 'claude-code')
    expect(fs.readdirSync(world.project)).toEqual([])
    await toItsEnd(world, [claudeProgram(), '-p', 'say hello'])
    expect(JSON.stringify(world.model.shown)).not.toContain('turnbell')
    expect(world.model.shown.length).toBeGreaterThan(0)
  })
})

describe('a plain Codex in a connected project', () => {
  test('has the tools, may use them without a prompt, and reads the instructions', async () => {
    const world = await codex()
    await turnbell(world, 'connect', 'codex', '--persona', PERSONA)
    const sent = await world.send('one')
    // Codex begins a turn without a server that needs longer than a second, and adds its tools later.
    const waiting = { tools: [{ name: 'exec_command', input: { cmd: 'echo look now' } }] }
    world.model.always(/look now/, ({ tools }) => (tools.includes(world.tools.drain) ? world.drain : waiting))
    await toItsEnd(world, [codexProgram(), 'exec', '--skip-git-repo-check', 'look now'])
    const first = world.model.shown.find(({ role }) => role === 'main')
    expect(JSON.stringify(first)).toContain('Signals (turnbell)')
    await drained(world, sent)
  })

  test('a plain Codex is rung once in a terminal if `connect` trusted its hooks', async () => {
    const world = await codex()
    await turnbell(world, 'connect', 'codex', '--persona', PERSONA, '--trust-hooks')
    const terminal = await plainCodex(world)
    await sayToCodex(terminal, 'hello there')
    await world.asked(/hello there/)
    await known(world)
    await world.settled([await world.send('one')])
    const turns = expectOneBellPerTurn(world.model, ['one'])
    expect(turns.map(({ bells }) => bells.length)).toEqual([0, 1])
  })

  test(
    'a plain Codex asks about the hooks in a terminal unless `connect` trusted them',
    { tags: ['extended'] },
    async () => {
      const world = await codex()
      await turnbell(world, 'connect', 'codex', '--persona', PERSONA)
      const asking = world.terminalOf([codexProgram()])
      await asking.shows(/5 hooks are new or changed/)
      await asking.close()
      const before = fs.readFileSync(path.join(world.user, '.codex/config.toml'), 'utf8')
      await turnbell(world, 'connect', 'codex', '--persona', PERSONA, '--trust-hooks')
      const trusting = world.terminalOf([codexProgram()])
      await trusting.shows(/Ask Codex to do anything/)
      await trusting.close()
      await turnbell(world, 'disconnect', 'codex')
      expect(fs.readFileSync(path.join(world.user, '.codex/config.toml'), 'utf8')).not.toContain(
        'trusted_hash',
      )
      expect(before).not.toContain('trusted_hash')
    },
  )
})

describe('a plain opencode in a connected project', () => {
  test('a plain opencode is rung once in a terminal', async () => {
    const world = await opencode()
    await turnbell(world, 'connect', 'opencode', '--persona', PERSONA)
    const terminal = world.terminalOf([opencodeProgram()])
    await terminal.shows(AT_PROMPT, 60_000)
    await say(terminal, 'hello there')
    await world.asked(/hello there/)
    await known(world)
    await world.settled([await world.send('one')])
    const turns = expectOneBellPerTurn(world.model, ['one'])
    expect(turns.map(({ bells }) => bells.length)).toEqual([0, 1])
  })

  test('has the tools, may use them without a prompt, and reads the instructions', async () => {
    const world = await opencode({ asks: true })
    await turnbell(world, 'connect', 'opencode', '--persona', PERSONA)
    const sent = await world.send('one')
    world.model.next(/look now/, world.drain)
    // It works in PWD, not in the directory of its start.
    await toItsEnd(world, ['env', `PWD=${world.project}`, opencodeProgram(), 'run', 'look now'])
    await drained(world, sent)
    await turnbell(world, 'disconnect', 'opencode')
    expect(fs.readdirSync(world.project)).toEqual([])
  })
})
