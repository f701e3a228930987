/** The activity of a real opencode, as the hub shows it: in the persona's own server, and in a window with only the plugin. */
import fs from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { PERSONA, type ClientWorld } from '../support/clients/client-world.ts'
import { eventually } from '../support/eventually.ts'
import {
  AT_PROMPT,
  opencodeProgram,
  opencodeTools,
  openOpencodeWorld,
  say,
} from '../support/clients/opencode-world.ts'
import { scenesOf, type Scene } from '../support/clients/scene.ts'
import { BIN } from '../support/processes/processes.ts'
import {
  opencodeRunFiles,
  serverAuthorization,
  serverUrl,
} from '../../src/system/clients/opencode-run-files.ts'
import type { Hierarchy, SessionActivity } from '../../src/contracts/activity/views.ts'
import { personaPaths, resolveHome } from '../../src/system/config/home.ts'

const PLUGIN = path.join(path.dirname(BIN), 'adapters/opencode/plugin.js')

beforeAll(() => void opencodeProgram())

const openHeadless = scenesOf(opencodeTools, () =>
  openOpencodeWorld({ persona: { headless: true, project: '../project' } }),
)
const openPlain = scenesOf(opencodeTools, async () => {
  const world = await openOpencodeWorld()
  const home = path.join(world.directory, 'turnbell')
  const settings = { plugin: [[`file://${PLUGIN}`, { persona: PERSONA, home }]] }
  fs.writeFileSync(path.join(world.project, 'opencode.json'), JSON.stringify(settings))
  return world
})

/** Both tools of a turn: one works, one fails. */
const CALLS = [
  ['bash', 'completed'],
  ['read', 'failed'],
]

/** The model calls a tool that works and one that fails in each turn; its reply in the first one waits. */
function callsTools(scene: Scene, after: Promise<unknown> = Promise.resolve()): void {
  const input = { filePath: path.join(scene.project, 'missing.txt') }
  const tools = [opencodeTools.shell('echo worked'), { name: 'read', input }]
  scene.model.next(/begin/, { tools, after })
  scene.model.next(/go on/, { tools })
}

/** Resolves when the hub shows the session with exactly these prompts and both tools in each turn, and misses nothing. */
async function isShown(scene: Scene, session_id: string, prompts: readonly string[]): Promise<void> {
  await eventually('the hub shows the session', async () => {
    const { sessions } = await scene.call<Hierarchy>('activity', 'hierarchy', { session_id })
    const shown = sessions.map(({ client, requests }) => ({ client, requests: requests.map(requestOf) }))
    const requests = prompts.map((prompt) => ({ prompt, status: 'completed', calls: CALLS, tasks: 0 }))
    const expected = [{ client: 'opencode', requests }]
    if (!isDeepStrictEqual(shown, expected)) throw new Error(JSON.stringify(shown))
    return true
  })
  const found = await scene.call('activity', 'completeness', { session_id })
  expect(found).toMatchObject({ missing: [], dropped: 0 })
}

function requestOf({ prompt, status, actions, tasks }: Hierarchy['sessions'][number]['requests'][number]) {
  const calls = actions.map((action) => [action.tool_name, action.status])
  return {
    prompt,
    status,
    calls: calls.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1)),
    tasks: tasks.length,
  }
}

test('the hub shows what the server of a persona did, also what happened while the hub was killed', async () => {
  const scene = await openHeadless()
  await eventually('the session is there', async () => (await scene.status()).surface.turn === 'idle', 60_000)
  const session_id = (await scene.status()).surface.session_id as string
  let reply = () => {}
  callsTools(scene, new Promise<void>((resolve) => (reply = resolve)))
  await prompt(scene, session_id, 'begin')
  await scene.asked(/begin/)
  await scene.hub.kill()
  reply()
  await scene.asked(/File not found/)
  await scene.turnIs('idle')
  await scene.startHub()
  await isShown(scene, session_id, ['begin'])
  await prompt(scene, session_id, 'go on')
  await isShown(scene, session_id, ['begin', 'go on'])
})

test('the hub shows what a window with only the plugin did', { tags: ['extended'] }, async () => {
  const scene = await openPlain()
  callsTools(scene)
  const terminal = scene.terminalOf([opencodeProgram()])
  await terminal.shows(AT_PROMPT, 60_000)
  for (const text of ['begin', 'go on']) {
    await say(terminal, text)
    await scene.asked(new RegExp(text))
    await scene.turnIs('idle')
  }
  const session_id = (await scene.status()).surface.session_id as string
  await isShown(scene, session_id, ['begin', 'go on'])
  await terminal.kill()
  await eventually('the session has ended', async () => {
    const { state } = await scene.call<SessionActivity>('activity', 'session', { session_id })
    return state.state === 'ended'
  })
})

/** Prompts as a person does who has joined the session, through the API of the server. */
async function prompt(world: ClientWorld, session_id: string, text: string): Promise<void> {
  const home = resolveHome({}, path.join(world.directory, 'turnbell'))
  const { run_dir } = personaPaths(home, 'local', PERSONA, { TMPDIR: path.join(world.directory, 'tmp') })
  const server = opencodeRunFiles(run_dir).server()
  if (server === null) throw new Error('no server runs')
  const url = `${serverUrl(server)}/session/${session_id}/prompt_async`
  const headers = [`authorization: ${serverAuthorization(server)}`, 'content-type: application/json']
  const body = JSON.stringify({ parts: [{ type: 'text', text }] })
  const args = ['-sSf', '-X', 'POST', ...headers.flatMap((header) => ['-H', header]), '-d', body, url]
  const child = world.spawn(['curl', ...args], { stdio: 'ignore' })
  const code = await new Promise((resolve) => child.once('close', resolve))
  expect(code).toBe(0)
}
