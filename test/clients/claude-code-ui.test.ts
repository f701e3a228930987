/** What the module shows in the real Claude Code: the line and the row at the prompt, the pane and the note. */
import { beforeAll, describe, expect, test } from 'vitest'
import { claudeProgram, openClaudeWorld, type ClaudeOptions } from '../support/clients/claude-world.ts'
import { scenesOf } from '../support/clients/scene.ts'
import { BIN } from '../support/processes/processes.ts'

beforeAll(() => void claudeProgram())

const SIGNALS = 'mcp__plugin_turnbell_hub__signals'
const open = scenesOf(
  {
    drain: 'mcp__plugin_turnbell_hub__signals_pending',
    shell: (command) => ({ name: 'Bash', input: { command, description: 'wait for the scene' } }),
  },
  openClaudeWorld,
)
const WIDE = { columns: 160, rows: 40 }
const RUN = [process.execPath, BIN, 'run', '--persona', 'ada', '--', '--permission-mode', 'default']
const QUESTION = { to: 'operator', intent: 'question', payload: 'a long text' }

/** Begins a session in a team of two. */
async function begin(options: ClaudeOptions) {
  const world = await open({ ...options, module: true })
  await world.call('personas', 'add', { identity: 'bob', surface: 'mcp' })
  const terminal = world.terminalOf(RUN, WIDE)
  await world.isReached('module')
  await world.turnIs('idle')
  const input = { action: 'send', params: QUESTION }
  world.model.next(/write to me/, { tools: [{ name: SIGNALS, input }] })
  return {
    ...world,
    terminal,
    /** Begins a turn in which the agent writes to the person. */
    askAgentToWrite() {
      terminal.type('write to me')
      terminal.press('Enter')
    },
  }
}

describe('Claude Code in a terminal', () => {
  test('the module shows who waits, the team, and a note of a signal to the person', async () => {
    const scene = await begin({})
    const { terminal } = scene
    await terminal.shows(/⚠ turnbell: ada *$/m)
    await terminal.shows(/│ada +idle *\n.*│bob +offline/)
    expect(terminal.screen()).not.toContain('waits for')
    await scene.call('coordinator', 'block', { identity: 'ada', reason: 'a migration' })
    await terminal.shows(/^turnbell ada waits for operator/m)
    scene.askAgentToWrite()
    await terminal.shows(/New signal in your inbox, from ada/)
    await terminal.shows(/⚠ turnbell: ada · inbox 1/)
  })

  test('the module shows nothing where the configuration switches it off', async () => {
    const scene = await begin({ ui: false })
    const { terminal } = scene
    await scene.call('coordinator', 'block', { identity: 'ada', reason: 'a migration' })
    scene.askAgentToWrite()
    await terminal.shows(/● Done/)
    await scene.turnIs('idle')
    expect(terminal.screen()).not.toMatch(/turnbell:? ada|waits for|offline|inbox/)
  })
})
