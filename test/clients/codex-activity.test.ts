/** What the real Codex does, as the hub stores it: prompts, commands and doorbells, also while the hub is away. */
import fs from 'node:fs'
import path from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { notedPid } from '../support/clients/client-world.ts'
import { CODEX_TOOLS, codexProgram, openCodexWorld } from '../support/clients/codex-world.ts'
import { eventually } from '../support/eventually.ts'
import { say } from '../support/clients/plain-codex.ts'
import { scenesOf } from '../support/clients/scene.ts'
import type { Terminal } from '../support/clients/terminal.ts'

beforeAll(() => void codexProgram())

const open = scenesOf(CODEX_TOOLS, openCodexWorld)
type World = Awaited<ReturnType<typeof open>>

interface Tree {
  sessions: {
    session_id: string
    state: { state: string; what: string | null; conflict: string | null }
    requests: { status: string; actions: { action_id: string; tool_name: string }[] }[]
  }[]
}

/** Resolves with the tree when the hub has all events of this number of requests. */
const treeOf = (world: World, requests: number) =>
  eventually(`the hub has stored ${requests} requests`, async () => {
    const { missing } = await world.call<{ missing: unknown[] }>('activity', 'completeness', {})
    const tree = await world.call<Tree>('activity', 'hierarchy', {})
    const found = tree.sessions.flatMap((session) => session.requests)
    const has_all = missing.length === 0 && found.every(({ status }) => status === 'completed')
    if (found.length === requests && has_all) return tree
    throw new Error(JSON.stringify({ missing, tree }))
  })

/** The agent runs the command after this prompt, and then answers. */
async function begins(world: World, terminal: Terminal, prompt: string, command: string): Promise<void> {
  world.model.next(new RegExp(prompt), { tools: [CODEX_TOOLS.shell(command)] })
  world.model.next(/^/, { text: `answer to ${prompt}` })
  await say(terminal, prompt)
  await world.asked(new RegExp(prompt))
}

async function answers(world: World, terminal: Terminal, prompt: string): Promise<void> {
  await terminal.shows(new RegExp(`answer to ${prompt}`))
  await world.turnIs('idle')
}

test('the hub stores exactly what a Codex did, also while it was killed', async () => {
  const world = await open()
  const terminal = world.terminal()
  await terminal.shows(/Ask Codex to do anything/)
  await world.turnIs('idle')
  await begins(world, terminal, 'list it', 'echo listed')
  await answers(world, terminal, 'list it')
  await treeOf(world, 1)
  const go = path.join(world.project, 'go')
  const command = `while [ ! -e ${go} ]; do sleep 0.1; done; echo broken >&2; exit 3`
  await begins(world, terminal, 'break it', command)
  await world.hub.kill('SIGKILL')
  fs.writeFileSync(go, '')
  await answers(world, terminal, 'break it')
  await world.startHub()
  await world.connected()
  await treeOf(world, 2)
  await world.settled([await world.send('look')])

  const tree = await treeOf(world, 3)
  const { session_id } = (await world.status()).surface
  expect(tree.sessions).toMatchObject([{ session_id, state: { state: 'idle', conflict: null } }])
  expect(tree.sessions[0]?.requests).toMatchObject([
    { prompt: 'list it', prompt_type: 'person', actions: [{ tool_name: 'Bash', status: 'completed' }] },
    { prompt: 'break it', prompt_type: 'person', actions: [{ tool_name: 'Bash', status: 'failed' }] },
    {
      prompt_type: 'doorbell',
      actions: [{ tool_name: 'mcp__turnbell__signals_pending', status: 'completed' }],
    },
  ])
  expect(tree.sessions[0]?.requests.map(({ actions }) => actions.length)).toEqual([1, 1, 1])
  const { items } = await world.call<{ items: object[] }>('activity', 'actions', { tool_name: 'Bash' })
  expect(items).toMatchObject([
    { exit_code: 3, error: 'broken\n' },
    { exit_code: 0, output: 'listed\n' },
  ])
  const { items: projects } = await world.call<{ items: object[] }>('activity', 'projects', {})
  expect(projects).toMatchObject([{ path: world.project }])

  process.kill(notedPid(world, 'codex'), 'SIGKILL')
  await eventually('the hub has stored the end of the session', async () => {
    const { sessions } = await world.call<Tree>('activity', 'hierarchy', {})
    return sessions[0]?.state.state === 'ended' && sessions[0].state.what === 'exit'
  })
})
