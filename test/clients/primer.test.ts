/** The primer in the real clients, as `turnbell run` starts them. */
import { beforeAll, describe, expect, test } from 'vitest'
import { CODEX_TOOLS, codexProgram, openCodexWorld } from '../support/clients/codex-world.ts'
import { claudeProgram, openClaudeWorld } from '../support/clients/claude-world.ts'
import { eventually } from '../support/eventually.ts'
import {
  AT_PROMPT,
  newSession,
  opencodeProgram,
  opencodeTools,
  openOpencodeWorld,
  say as sayToOpencode,
} from '../support/clients/opencode-world.ts'
import { newThread, say as sayToCodex } from '../support/clients/plain-codex.ts'
import { primeable, primersIn } from '../support/clients/primers.ts'
import { scenesOf } from '../support/clients/scene.ts'

describe('Claude Code', () => {
  beforeAll(() => void claudeProgram())
  const open = scenesOf(
    {
      drain: 'mcp__plugin_turnbell_hub__signals_pending',
      shell: (command) => ({ name: 'Bash', input: { command, description: 'wait for the scene' } }),
    },
    openClaudeWorld,
  )

  test('Claude Code is primed once when its session starts, is compacted and is cleared', async () => {
    const world = await open()
    await primeable(world, 'claude-code')
    const terminal = world.terminal(['--permission-mode', 'default'])
    await world.turnIs('idle')
    const say = (text: string) => {
      terminal.type(text)
      terminal.press('Enter')
    }
    const primed = async (text: string) => {
      say(text)
      expect(primersIn((await world.asked(new RegExp(text))).fresh)).toHaveLength(1)
      await world.turnIs('idle')
    }
    await primed('hello there')
    say('go on')
    expect(primersIn((await world.asked(/go on/)).fresh)).toEqual([])
    await world.turnIs('idle')
    say('/compact')
    await terminal.shows(/ompacted/)
    await world.turnIs('idle')
    await primed('here again')
    const { session_id } = (await world.status()).surface
    say('/clear')
    await eventually('another session', async () => (await world.status()).surface.session_id !== session_id)
    await world.turnIs('idle')
    await primed('a fresh start')
  })
})

describe('Codex', () => {
  beforeAll(() => void codexProgram())
  const open = scenesOf(CODEX_TOOLS, openCodexWorld)

  test('Codex is primed once when its thread starts, is compacted, and when another one starts', async () => {
    const world = await open()
    await primeable(world, 'codex')
    const terminal = world.terminal()
    await terminal.shows(/Ask Codex to do anything/)
    await world.turnIs('idle')
    const primersAt = async (text: string) => {
      await sayToCodex(terminal, text)
      const { fresh } = await world.asked(new RegExp(text))
      await world.turnIs('idle')
      return primersIn(fresh)
    }
    expect(await primersAt('hello there')).toHaveLength(1)
    expect(await primersAt('go on')).toEqual([])
    await sayToCodex(terminal, '/compact')
    await terminal.shows(/compacted/i)
    await world.turnIs('idle')
    expect(await primersAt('here again')).toHaveLength(1)
    await newThread(terminal)
    expect(await primersAt('a fresh start')).toHaveLength(1)
    for (const { role, fresh } of world.model.shown)
      if (role === 'other') expect(primersIn(fresh)).toEqual([])
  })
})

describe('opencode', () => {
  beforeAll(() => void opencodeProgram())
  const open = scenesOf(opencodeTools, openOpencodeWorld)

  test('opencode has one primer in the system prompt of its sessions, renewed by a compaction', async () => {
    const world = await open()
    await primeable(world, 'opencode')
    const terminal = world.terminal()
    await terminal.shows(AT_PROMPT, 60_000)
    await world.turnIs('idle')
    const primersAt = async (text: string) => {
      await sayToOpencode(terminal, text)
      const { system = '' } = await world.asked(new RegExp(text))
      await world.turnIs('idle')
      return primersIn(system)
    }
    const [first, ...more] = await primersAt('hello there')
    expect([first?.includes('No signals wait.'), more]).toEqual([true, []])
    // A continued session keeps its system prompt, which the provider has cached.
    await world.call('personas', 'add', { identity: 'dan', surface: 'mcp' })
    expect(await primersAt('go on')).toEqual([first])
    terminal.type('/compact')
    await terminal.shows(/compact/)
    terminal.press('Enter')
    await eventually('a summary', () => world.model.shown.some(({ fresh }) => /summar/i.test(fresh)))
    await world.turnIs('idle')
    const [again] = await primersAt('here again')
    expect(again).toContain('dan (mcp)')
    await newSession(terminal)
    expect(await primersAt('a fresh start')).toHaveLength(1)
    for (const { role, system = '' } of world.model.shown)
      if (role === 'other') expect(primersIn(system)).toEqual([])
  })
})
