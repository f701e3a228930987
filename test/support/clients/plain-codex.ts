/** Codex started by the user without `turnbell run`, in a project that is wired to a persona. */
import fs from 'node:fs'
import path from 'node:path'
import * as z from 'zod'
import { connectAppServer } from '../../../adapters/codex/app-server.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { clientProgram } from '../../../src/system/clients/client-discovery.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { resolveHome } from '../../../src/system/config/home.ts'
import { Config } from '../../../src/contracts/config.ts'
import type { ClientWorld } from './client-world.ts'
import { codexProgram } from './codex-world.ts'
import { eventually } from '../eventually.ts'
import { BIN } from '../processes/processes.ts'
import type { Terminal } from './terminal.ts'

/** The hooks that report a thread's turns. */
const EVENTS = ['SessionStart', 'UserPromptSubmit', 'Stop', 'Interrupt', 'SessionEnd']

/** Writes turnbell's MCP server into the project's settings, and with `hooks` the hooks that report turns. */
export async function wire(
  world: ClientWorld,
  { persona, project = world.project, hooks = false }: { persona: string; project?: string; hooks?: boolean },
): Promise<void> {
  const home = path.join(world.directory, 'turnbell')
  const folder = path.join(project, '.codex')
  fs.mkdirSync(folder, { recursive: true })
  const args = [BIN, 'mcp', '--client', 'codex', '--persona', persona, '--home', home, '--no-autostart']
  fs.writeFileSync(
    path.join(folder, 'config.toml'),
    `[mcp_servers.turnbell]
command = ${JSON.stringify(process.execPath)}
args = ${JSON.stringify(args)}
tools.signals_pending.approval_mode = "approve"
tools.signals.approval_mode = "approve"
`,
  )
  trustProject(world, project)
  if (!hooks) return
  const command = (event: string) =>
    `${process.execPath} ${BIN} hook ${event} --client codex --persona ${persona} --home ${home}`
  const hook = (event: string) => [{ hooks: [{ type: 'command', command: command(event) }] }]
  const wired: Record<string, object> = Object.fromEntries(EVENTS.map((event) => [event, hook(event)]))
  fs.writeFileSync(path.join(folder, 'hooks.json'), JSON.stringify({ hooks: wired }))
  await trustHooks(world, project)
}

/** Starts plain Codex in a terminal and waits for its prompt. */
export async function plainCodex(
  world: ClientWorld,
  { project = world.project, args = [] }: { project?: string; args?: readonly string[] } = {},
): Promise<Terminal> {
  const terminal = world.terminalOf([codexProgram(), '-C', project, ...args])
  await terminal.shows(/Ask Codex to do anything[^]*for shortcuts/)
  await eventually('it has loaded', () => !/loading/.test(terminal.screen()))
  return terminal
}

export async function say(terminal: Terminal, text: string): Promise<void> {
  terminal.type(text)
  // Codex treats Enter within a burst of keys as a pasted line break.
  await terminal.shows(new RegExp(`› ${text}`))
  terminal.press('Enter')
}

/**
 * Leaves the thread, whose turn has ended, for a new one. Codex draws the composer before the new thread is loaded and
 * ignores Enter until then; the line with the model and the folder appears below the composer when it is loaded.
 */
export async function newThread(terminal: Terminal): Promise<void> {
  await say(terminal, '/new')
  const isLoaded = (screen: string) =>
    !/Done\./.test(screen) && /› Ask Codex to do anything\s+scripted \S+ · \//.test(screen)
  await eventually('the new thread is loaded', () => isLoaded(terminal.screen()))
}

function trustProject(world: ClientWorld, project: string): void {
  const file = path.join(world.user, '.codex', 'config.toml')
  const table = `[projects."${project}"]`
  if (!fs.readFileSync(file, 'utf8').includes(table))
    fs.appendFileSync(file, `${table}\ntrust_level = "trusted"\n`)
}

const Hooks = z.object({
  data: z.array(z.object({ hooks: z.array(z.object({ key: z.string(), currentHash: z.string() })) })),
})

/** Accepts new hooks in the dialog of Codex. */
async function trustHooks(world: ClientWorld, project: string): Promise<void> {
  const program = clientProgram('codex', {
    home: resolveHome({}, world.directory),
    config: Config.parse({ clients: { codex: codexProgram() } }),
    env: {},
  })
  const socket = path.join(world.directory, 'trust.sock')
  const server = world.spawn([program, 'app-server', '--listen', `unix://${socket}`], { stdio: 'ignore' })
  const ended = new Promise((resolve) => server.once('exit', resolve))
  const how = { version: '0', clock: systemClock, log: silentLog }
  const link = await eventually('the app-server answers', () =>
    connectAppServer(socket, how, { onNotification: () => {}, onClose: () => {} }),
  )
  const { data } = await link.call('hooks/list', { cwds: [project] }, Hooks)
  const edits = data
    .flatMap(({ hooks }) => hooks)
    .map(({ key, currentHash }) => ({
      keyPath: `hooks.state.${JSON.stringify(key)}`,
      value: { trusted_hash: currentHash },
      mergeStrategy: 'upsert',
    }))
  await link.call('config/batchWrite', { edits, reloadUserConfig: true }, z.unknown())
  link.close()
  server.kill('SIGKILL')
  await ended
}
