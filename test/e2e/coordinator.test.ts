/** Two agents behind `turnbell mcp`, each a separate process, coordinate through one hub. */
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { BIN, cleanEnvironment, end, startHub, temporaryHome } from '../support/processes/processes.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function connect(home: string, persona: string) {
  const client = new Client(
    { name: persona, version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  const args = [BIN, 'mcp', '--stdio', '--persona', persona, '--create', '--home', home, '--no-autostart']
  const env = cleanEnvironment() as Record<string, string>
  const transport = new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' })
  await client.connect(transport)
  closers.push(() => client.close())
  const call = async (action: string, params: object = {}) =>
    (await client.callTool({ name: 'coordinator', arguments: { action, params } })).structuredContent
  return { call, pid: transport.pid!, close: () => client.close() }
}
const agent = async (home: string, persona: string) => (await connect(home, persona)).call

test('two shims of one hub see each other and their locks, also after the hub was killed', async () => {
  const home = temporaryHome()
  const hub = await startHub(home)
  closers.push(() => end(hub))
  const [ada, bob] = [await agent(home, 'ada'), await agent(home, 'bob')]
  await ada('register', { purpose: 'parser' })
  await bob('register', { purpose: 'docs' })
  const locked = (await ada('lock', { resource: 'src', scope: 'tree' })) as { epoch: number }
  expect(await bob('lock', { resource: 'src/a.ts' })).toMatchObject({ code: 'resource_locked' })
  await bob('block', { identity: 'ada', reason: 'the manual describes the parser' })
  const { agents } = (await bob('status')) as { agents: { identity: string }[] }
  expect(agents.sort((a, b) => (a.identity < b.identity ? -1 : 1))).toMatchObject([
    { identity: 'ada', purpose: 'parser', locks: ['src'], blocked_by: ['bob'] },
    { identity: 'bob', purpose: 'docs', locks: [], blocked_by: [] },
  ])

  await end(hub)
  const again = await startHub(home)
  closers.push(() => end(again, 'SIGTERM'))
  expect(await bob('lock', { resource: 'src/a.ts' })).toMatchObject({ code: 'resource_locked' })
  expect(await ada('heartbeat', { note: 'still at it' })).toMatchObject({
    ...{ locks: ['src'], blocked_by: ['bob'] },
  })
  expect(await ada('lock', { resource: 'src', epoch: locked.epoch })).toMatchObject({ extended: true })
  expect(await ada('unlock', { resource: 'src', epoch: locked.epoch })).toEqual({ released: true })
  expect(await bob('lock', { resource: 'src/a.ts' })).toMatchObject({
    identity: 'bob',
    epoch: locked.epoch + 1,
  })
})

test.each(['its client leaves', 'it is asked to end'])(
  'the locks and the row of a shim are released at once when %s',
  async (why) => {
    const home = temporaryHome()
    const hub = await startHub(home)
    closers.push(() => end(hub, 'SIGTERM'))
    const [ada, bob] = [await connect(home, 'ada'), await agent(home, 'bob')]
    await ada.call('register')
    await ada.call('lock', { resource: 'src', ttl_s: 3_600 })
    expect(await bob('lock', { resource: 'src' })).toMatchObject({ code: 'resource_locked' })
    if (why === 'its client leaves') await ada.close()
    else process.kill(ada.pid, 'SIGTERM')
    await eventually('it is free', async () => {
      const { agents } = (await bob('status')) as { agents: unknown[] }
      return agents.length === 0
    })
    expect(await bob('lock', { resource: 'src' })).toMatchObject({ identity: 'bob' })
  },
)
