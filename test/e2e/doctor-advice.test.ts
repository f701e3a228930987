/** Runs the commands that doctor advises, after which doctor finds nothing: real processes, one fault after another. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { SPOOL_REJECTED_FILE } from '../../src/contracts/spool/spool.ts'
import { connectLocally } from '../../src/system/ipc/unix-socket.ts'
import { adviserIn, type Adviser } from '../support/advice.ts'
import { eventually } from '../support/eventually.ts'
import { hubHttp } from '../support/worlds/hub-http.ts'
import { standStill, temporaryHome, end } from '../support/processes/processes.ts'

const CONFIG = 'hub: {port: 0}\npersonas: {ada: {surface: mcp}}\n'

function newHome(config = CONFIG): Adviser {
  const home = temporaryHome()
  fs.writeFileSync(path.join(home, 'config.yaml'), config, { mode: 0o600 })
  const adviser = adviserIn(home)
  onTestFinished(() => adviser.close())
  return adviser
}

const at = ({ home }: Adviser, name: string) => path.join(home, name)
const isWell = async (adviser: Adviser, check: string) => (await adviser.finding(check)).state === 'ok'
const well = (adviser: Adviser, check: string) =>
  eventually(`doctor finds ${check} well`, () => isWell(adviser, check))
const send = ({ home }: Adviser, payload: unknown = 1) =>
  hubHttp(home).post<{ signal_id: string; seq: number }>('/api/signals/send', {
    ...{ to: 'ada', intent: 'note', payload },
  })

test('the advice of doctor leads from a new home to a running daemon', async () => {
  const adviser = newHome('hub: {port: 0}\n')
  const personas = await adviser.finding('personas')
  expect(personas.state).toBe('warning')
  await adviser.follow(personas, [/^turnbell persona add NAME/], { NAME: 'ada' })
  const daemon = await adviser.finding('daemon ada')
  expect(daemon.state).toBe('warning')
  await adviser.follow(daemon, [/^turnbell daemon --persona ada$/])
  const hub = await adviser.finding('hub')
  // A daemon waits for the hub.
  expect(hub.state).toBe('broken')
  await adviser.follow(hub, [/^turnbell hub$/])
  await well(adviser, 'hub')
  await eventually('the daemon is connected', async () =>
    /no agent is attached/.test((await adviser.finding('daemon ada')).detail),
  )
})

test(
  'the advice of doctor fixes files that others can read and entries of the wrong type',
  { tags: ['extended'] },
  async () => {
    const adviser = newHome()
    await adviser.start('up')
    fs.chmodSync(at(adviser, 'logs'), 0o755)
    fs.chmodSync(at(adviser, 'secrets/signing.key'), 0o644)
    fs.rmSync(at(adviser, 'logs/ada.log'))
    fs.mkdirSync(at(adviser, 'logs/ada.log'))
    for (const [check, command] of [
      ['home', /^chmod 700 /],
      ['secrets', /^chmod 600 /],
      ['files', /^mv /],
    ] as const) {
      const found = await adviser.finding(check)
      expect(found.state, check).toBe('broken')
      // The hint may itself be the command.
      const mend = found.mend?.includes('`') === true ? found.mend : `\`${found.mend}\``
      await adviser.follow({ ...found, mend }, [command])
      expect((await adviser.findings()).filter((one) => one.check === check && one.state !== 'ok')).toEqual(
        [],
      )
    }
  },
)

test('the advice of doctor fixes a suspended and a killed daemon', { tags: ['extended'] }, async () => {
  const adviser = newHome()
  await adviser.start('hub')
  const daemon = await adviser.start('daemon', '--persona', 'ada')
  await standStill(daemon)
  const stopped = await adviser.finding('daemon ada')
  expect(stopped).toMatchObject({ state: 'broken', detail: expect.stringContaining('stopped') as string })
  await adviser.follow(stopped, [/^kill -CONT \d+$/])
  await eventually('it answers again', async () => (await adviser.finding('daemon ada')).state !== 'broken')
  await end(daemon)
  const killed = await adviser.finding('daemon ada')
  expect(killed).toMatchObject({ state: 'warning', detail: expect.stringContaining('killed') as string })
  await adviser.follow(killed, [/^turnbell daemon --persona ada$/])
  expect((await adviser.finding('daemon ada')).detail).not.toContain('killed')
})

test('the advice of doctor fixes secrets that were removed or changed while the hub ran', async () => {
  const adviser = newHome()
  await adviser.start('hub')
  fs.rmSync(at(adviser, 'secrets/operator.token'))
  const gone = await adviser.finding('secrets')
  expect(gone.state).toBe('broken')
  await adviser.follow(gone, [/^kill \d+$/])
  await eventually('the hub has ended', async () => (await adviser.finding('hub')).state !== 'broken')
  await adviser.follow(gone, [/^turnbell hub$/])
  await well(adviser, 'secrets')
  await well(adviser, 'hub')
  fs.writeFileSync(at(adviser, 'secrets/operator.token'), `tbop_${'x'.repeat(43)}\n`)
  const changed = await adviser.finding('hub')
  expect(changed.state).toBe('broken')
  await adviser.follow(changed, [/^turnbell down$/, /^turnbell up$/])
  await well(adviser, 'hub')
})

test('the advice of doctor fixes a truncated journal of a stopped and of a running hub', async () => {
  const adviser = newHome()
  const first = await adviser.start('hub')
  const { signal_id } = await send(adviser)
  await end(first, 'SIGTERM')
  const journal = at(adviser, 'hub/journal')
  fs.rmSync(path.join(journal, '0000000001.jsonl'))
  const stopped = await adviser.finding('store')
  // The number of signals, and their persona.
  expect(stopped).toMatchObject({ state: 'broken', detail: expect.stringContaining('ada 1') as string })
  await adviser.follow(stopped, [/^turnbell down$/, /^turnbell hub --repair$/])
  await well(adviser, 'hub')
  const listed = await adviser.finding('store')
  expect(listed).toMatchObject({ state: 'warning', mend: expect.stringContaining('lost-') as string })
  expect(fs.readFileSync(path.join(journal, 'lost-1.jsonl'), 'utf8')).toContain(signal_id)
  await adviser.follow(listed, [/^rm /])
  await well(adviser, 'store')

  const { seq } = await send(adviser)
  fs.rmSync(journal, { recursive: true })
  await expect(send(adviser)).rejects.toMatchObject({ problem: { code: 'store_unavailable' } })
  expect((await adviser.finding('hub')).state).toBe('broken')
  const running = await adviser.finding('store')
  expect(running.state).toBe('broken')
  await adviser.follow(running, [/^turnbell down$/, /^turnbell hub --repair$/])
  await well(adviser, 'hub')
  expect((await send(adviser)).seq).toBeGreaterThan(seq)
})

test(
  'the advice of doctor fixes quarantined lines and a damaged event log',
  { tags: ['extended'] },
  async () => {
    const adviser = newHome()
    const hub = await adviser.start('hub')
    await end(hub, 'SIGTERM')
    fs.appendFileSync(at(adviser, 'hub/events/events.jsonl'), 'garbage\n')
    fs.writeFileSync(at(adviser, `spool/${SPOOL_REJECTED_FILE}`), '{"reason":"bad","line":"x"}\n')
    const spool = await adviser.finding('spool')
    expect(spool.state).toBe('warning')
    await adviser.follow(spool, [/^rm /])
    await well(adviser, 'spool')
    const store = await adviser.finding('store')
    expect(store.state).toBe('warning')
    await adviser.follow(store, [/^turnbell down$/, /^mv /])
    await adviser.start('hub')
    await well(adviser, 'store')
  },
)

test(
  'the advice of doctor fixes a changed connection and one of a deleted project',
  { tags: ['extended'] },
  async () => {
    const adviser = newHome('hub: {port: 0}\npersonas: {ada: {surface: claude-code}}\n')
    const project = at(adviser, 'project')
    fs.mkdirSync(project)
    const connected = await adviser.turnbell(
      'connect',
      'claude-code',
      '--persona',
      'ada',
      '--project',
      project,
    )
    expect(connected.code).toBe(0)
    const wired = fs.readdirSync(project, { recursive: true, encoding: 'utf8' })
    const settings = wired.filter((name) => name.endsWith('.json')).map((name) => path.join(project, name))
    for (const file of settings) fs.writeFileSync(file, '{}\n')
    const changed = await adviser.finding('connection claude-code')
    expect(changed.state).not.toBe('ok')
    await adviser.follow(changed, [/^turnbell connect claude-code /])
    await well(adviser, 'connection claude-code')
    for (const file of settings) fs.writeFileSync(file, '{}\n')
    await adviser.follow(await adviser.finding('connection claude-code'), [/^turnbell doctor --fix$/])
    await well(adviser, 'connection claude-code')
    fs.rmSync(project, { recursive: true })
    const gone = await adviser.finding('connection claude-code')
    expect(gone.state).toBe('warning')
    await adviser.follow(gone, [/^turnbell disconnect claude-code /])
    expect((await adviser.findings()).filter(({ check }) => check.startsWith('connection'))).toEqual([])
  },
)

/** Speaks version 2 of the Agent Client Protocol only, and therefore answers with it. */
const NEWER_AGENT = `
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line)
  if (method !== 'initialize') process.exit(1)
  const result = { protocolVersion: 2, info: { name: 'newer', version: '1' }, capabilities: {} }
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
})
`

test('doctor names both protocol versions if an agent does not speak that of turnbell', async () => {
  const argv = JSON.stringify([process.execPath, '-e', NEWER_AGENT])
  const ada = `{surface: command, project: /, acp: {argv: ${argv}}}`
  const adviser = newHome(`hub: {port: 0}\npersonas: {ada: ${ada}}\n`)
  await adviser.start('up')
  await eventually('doctor reports the reason', async () =>
    /no agent is attached.*speaks version 2 of the Agent Client Protocol, turnbell version 1/.test(
      (await adviser.finding('daemon ada')).detail,
    ),
  )
})

test('the advice of doctor starts a client again that has another version of the module', async () => {
  const adviser = newHome(
    'hub: {port: 0}\nclients: {claude_code: claude}\npersonas: {ada: {surface: claude-code}}\n',
  )
  fs.writeFileSync(at(adviser, 'claude'), `#!/bin/sh\necho "$@" > '${at(adviser, 'started')}'\n`, {
    mode: 0o755,
  })
  await adviser.start('hub')
  await adviser.start('daemon', '--persona', 'ada')
  const shim = await connectLocally(at(adviser, 'run/local/ada/surface.sock'))
  onTestFinished(() => shim.close())
  const report = (via: string) =>
    shim.request(
      'status',
      { surface: 'claude-code', session_id: 's1', delivery: 'push', turn: 'idle', turn_seq: 0, via },
      5_000,
    )
  await report('hooks: another protocol')
  const found = await adviser.finding('module ada')
  expect(found).toMatchObject({ state: 'warning', detail: expect.stringContaining('by hooks') as string })
  await adviser.follow(found, [/^turnbell run --persona ada$/])
  const [, plugin = ''] = /--plugin-dir (\S+)/.exec(fs.readFileSync(at(adviser, 'started'), 'utf8')) ?? []
  expect(fs.existsSync(path.join(plugin, 'hooks', 'hooks.json'))).toBe(true)
  await report('module')
  await well(adviser, 'module ada')
})
