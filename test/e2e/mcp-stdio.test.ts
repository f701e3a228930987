/** Tests `turnbell mcp` as a real process with the official clients of both generations. */
import fs from 'node:fs'
import path from 'node:path'
import { Client as PastClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as PastStdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, describe, expect, test } from 'vitest'
import { Problem } from '../../src/contracts/errors/errors.ts'
import { EXIT } from '../../src/contracts/errors/exit-codes.ts'
import { runningHub } from '../../src/system/config/hub-discovery.ts'
import { lockHolder } from '../../src/system/files/owner-lock.ts'
import { resolveHome } from '../../src/system/config/home.ts'
import { eventually } from '../support/eventually.ts'
import { hubHttp } from '../support/worlds/hub-http.ts'
import {
  BIN,
  cleanEnvironment,
  end,
  start,
  startHub,
  temporaryHome,
  turnbell,
} from '../support/processes/processes.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

interface Answer {
  isError?: boolean
  structuredContent?: { signals?: { payload: unknown; deliveries: number }[]; code?: string; hint?: string }
}
interface AnyClient {
  tools(): Promise<string[]>
  call(name: string, args?: Record<string, unknown>): Promise<Answer>
  close(): Promise<void>
}

async function connect(era: 'past' | 'present', home: string, args: string[] = []): Promise<AnyClient> {
  const server = {
    command: process.execPath,
    args: [BIN, 'mcp', '--stdio', '--persona', 'ada', '--create', '--home', home, ...args],
    env: cleanEnvironment() as Record<string, string>,
    stderr: 'ignore' as const,
  }
  const client = await (era === 'past' ? connectPast(server) : connectPresent(server))
  closers.push(() => client.close())
  return client
}

async function connectPast(server: ConstructorParameters<typeof PastStdio>[0]): Promise<AnyClient> {
  const client = new PastClient({ name: 'past', version: '1' })
  await client.connect(new PastStdio(server))
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}) => (await client.callTool({ name, arguments: args })) as Answer,
    close: () => client.close(),
  }
}

async function connectPresent(
  server: ConstructorParameters<typeof StdioClientTransport>[0],
): Promise<AnyClient> {
  const client = new Client(
    { name: 'present', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  await client.connect(new StdioClientTransport(server))
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}) => (await client.callTool({ name, arguments: args })) as Answer,
    close: () => client.close(),
  }
}

const payloads = ({ structuredContent }: Answer) => structuredContent?.signals?.map(({ payload }) => payload)

async function hubWithAda(home: string) {
  const hub = await startHub(home)
  closers.push(() => end(hub, 'SIGTERM'))
  const http = hubHttp(home)
  await http.post('/api/personas/add', { identity: 'ada', surface: 'mcp' })
  return {
    hub,
    send: (payload: string) => http.post('/api/signals/send', { to: 'ada', intent: 'test', payload }),
  }
}

describe.each(['past', 'present'] as const)('a client of the %s', (era) => {
  test('a client drains through the hub across a kill and restart of the hub', async () => {
    const home = temporaryHome()
    const { hub, send } = await hubWithAda(home)
    const client = await connect(era, home, ['--no-autostart'])
    expect(await client.tools()).toContain('signals_pending')
    await send('before')
    expect(payloads(await client.call('signals_pending'))).toEqual(['before'])

    await send('while it is killed')
    await end(hub)
    const starting = startHub(home)
    // From here on the bridge cannot run an embedded hub.
    await eventually('the next has the home', () => lockHolder(resolveHome({}, home).hub_lock))
    const waiting = client.call('signals_pending')
    const again = await starting
    closers.push(() => end(again, 'SIGTERM'))
    expect(payloads(await waiting)).toEqual(['while it is killed'])
    await hubHttp(home).post('/api/signals/send', { to: 'ada', intent: 'test', payload: 'after' })
    expect(payloads(await client.call('signals_pending'))).toEqual(['after'])
  })
})

test('a client starts a hub that outlives it', async () => {
  const home = temporaryHome()
  // Another hub of this machine may use the default port.
  fs.writeFileSync(path.join(home, 'config.yaml'), 'hub: {port: 0}\n')
  const client = await connect('present', home)
  closers.push(async () => {
    const running = runningHub(resolveHome({}, home))
    if (running !== null) process.kill(running.pid, 'SIGTERM')
    await eventually('the hub has ended', () => runningHub(resolveHome({}, home)) === null)
  })
  expect(await client.tools()).toContain('signals_pending')
  // If the start takes long, the bridge runs an embedded hub.
  const its = await eventually('the hub that it started is there', () => {
    const running = runningHub(resolveHome({}, home))
    return running?.stands_in === true ? null : running
  })
  await client.close()
  expect(runningHub(resolveHome({}, home))?.pid).toBe(its.pid)
})

test('a call after the home was removed is refused and recreates neither home nor hub', async () => {
  const home = temporaryHome()
  fs.writeFileSync(path.join(home, 'config.yaml'), 'hub: {port: 0}\n')
  const { hub } = await hubWithAda(home)
  const client = await connect('present', home)
  expect((await client.call('signals_pending')).isError).toBeFalsy()
  await end(hub, 'SIGTERM')
  fs.rmSync(home, { recursive: true })
  const answer = await client.call('signals_pending')
  expect(answer).toMatchObject({ isError: true, structuredContent: { code: 'hub_unreachable' } })
  expect(answer.structuredContent?.hint).toContain('Do not call again')
  expect(fs.existsSync(home)).toBe(false)
  await client.close()
  expect(fs.existsSync(home)).toBe(false)
})

describe('without a hub and without autostart', () => {
  const anyPort = () => {
    const home = temporaryHome()
    fs.writeFileSync(path.join(home, 'config.yaml'), 'hub: {port: 0}\n')
    return home
  }
  const send = (client: AnyClient, payload: string) =>
    client.call('signals', { action: 'send', params: { to: 'ada', intent: 'note', payload } })

  test('the bridge embeds a hub for all clients until another hub starts', async () => {
    const home = anyPort()
    const first = await connect('present', home, ['--no-autostart'])
    expect(await first.tools()).toContain('signals_pending')
    expect(payloads(await first.call('signals_pending'))).toEqual([])
    const own = runningHub(resolveHome({}, home))
    expect(own).toMatchObject({ stands_in: true })

    const second = await connect('past', home, ['--no-autostart'])
    expect((await send(second, 'from the second')).isError).toBeFalsy()
    expect(runningHub(resolveHome({}, home))?.pid).toBe(own?.pid)

    const hub = await startHub(home)
    closers.push(() => end(hub, 'SIGTERM'))
    expect(runningHub(resolveHome({}, home))).toMatchObject({ pid: hub.child.pid })
    expect(payloads(await first.call('signals_pending'))).toEqual(['from the second'])
    expect((await send(second, 'through the new one')).isError).toBeFalsy()
    expect(payloads(await first.call('signals_pending'))).toEqual(['through the new one'])
  })

  test('an embedded hub hands over to another client without loss', async () => {
    const home = anyPort()
    const first = await connect('present', home, ['--no-autostart'])
    const second = await connect('present', home, ['--no-autostart'])
    await first.call('signals_pending')
    expect((await send(second, 'kept')).isError).toBeFalsy()
    await first.close()
    // A call waits this long for a hub and then has to be repeated.
    const drained = await eventually('the other embeds a hub', async () => {
      const answer = await second.call('signals_pending')
      return answer.structuredContent?.code === 'hub_unreachable' ? null : answer
    })
    expect(payloads(drained)).toEqual(['kept'])
    expect(runningHub(resolveHome({}, home))).toMatchObject({ stands_in: true })
    await second.close()
    await eventually('the home is free', () => runningHub(resolveHome({}, home)) === null)
  })

  test('the signals of a killed embedded hub are available to the next hub', async () => {
    const home = anyPort()
    const first = await connect('present', home, ['--no-autostart'])
    await first.call('signals_pending')
    expect((await send(first, 'kept')).isError).toBeFalsy()
    process.kill(runningHub(resolveHome({}, home))?.pid ?? 0, 'SIGKILL')
    const second = await connect('present', home, ['--no-autostart'])
    expect(payloads(await second.call('signals_pending'))).toEqual(['kept'])
  })

  test('the bridge embeds a hub if the named one does not answer', async () => {
    const home = anyPort()
    const client = await connect('present', home, ['--prefer-daemon', 'http://127.0.0.1:9'])
    expect(await client.tools()).toContain('signals_pending')
    expect(runningHub(resolveHome({}, home))).toMatchObject({ stands_in: true })
  })
})

test('the bridge prints the next step if only the named hub may be used', async () => {
  const client = await connect('present', temporaryHome(), ['--hub', 'http://127.0.0.1:9'])
  const answer = await client.call('signals_pending')
  expect(answer.isError).toBe(true)
  expect(answer.structuredContent).toMatchObject({ code: 'hub_unreachable' })
  expect(answer.structuredContent?.hint).toContain('turnbell hub')
})

test('a drain that is answered after the end of stdin is released to the next client', async () => {
  const home = temporaryHome()
  const { send } = await hubWithAda(home)
  await send('one')
  // A client that ends may send a request without reading the response.
  const bridge = start(['mcp', '--persona', 'ada', '--create', '--home', home])
  const request = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name: 'signals_pending',
      arguments: {},
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  }
  bridge.child.stdin?.end(`${JSON.stringify(request)}\n`)
  expect(await bridge.exited).toBe(0)
  expect(bridge.output()).toContain('one')
  const client = await connect('present', home)
  expect(payloads(await client.call('signals_pending'))).toEqual(['one'])
})

describe('an invalid command line', () => {
  test.each([
    [['--persona', 'Not A Name'], "is not a persona's name"],
    [[], 'The persona is missing'],
    [['--persona', 'ada', '--detail', 'everything'], '--detail'],
    [['--persona', 'ada', '--no-such-flag'], '--no-such-flag'],
    [['--persona', 'ada', '--hub', 'notaurl'], '--hub: "notaurl"'],
    [['--persona', 'ada', '--prefer-daemon', 'notaurl'], '--prefer-daemon: "notaurl"'],
  ])('the arguments %j are refused as text and as a problem', async (args, detail) => {
    const home = temporaryHome()
    const text = await turnbell(['mcp', ...args, '--home', home])
    expect(text).toMatchObject({ code: 64, stdout: '' })
    expect(text.stderr).toMatch(/^error .+ \(usage_invalid\)\nhint {2}.+\n$/)
    expect(text.stderr).toContain(detail)
    const json = await turnbell(['mcp', ...args, '--home', home, '--json'])
    expect(json).toMatchObject({ code: 64, stderr: '' })
    const problem = Problem.parse(JSON.parse(json.stdout))
    expect(problem).toMatchObject({
      code: 'usage_invalid',
      detail: expect.stringContaining(detail) as string,
    })
  })
})

test('an unknown bound is reported on stderr only', async () => {
  const home = temporaryHome()
  await hubWithAda(home)
  const bounds = ['--facade', 'sentinal', '--facade', 'signals', '--facet', 'desing']
  const { child, exited } = start(['mcp', '--persona', 'ada', '--create', '--home', home, ...bounds])
  let [said, told] = ['', '']
  child.stdout?.on('data', (chunk: Buffer) => (said += chunk.toString()))
  child.stderr?.on('data', (chunk: Buffer) => (told += chunk.toString()))
  const params = {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  }
  child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params })}\n`)
  await eventually('both names were told', () => told.includes('did you mean design?'))
  expect(told).toContain('--facade sentinal: this hub has no such facade; did you mean sentinel?')
  expect(told).not.toContain('--facade signals')
  child.stdin?.end()
  expect(await exited).toBe(0)
  for (const line of said.trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' })
})

test('invalid lines on stdin are skipped', async () => {
  const home = temporaryHome()
  await hubWithAda(home)
  const bridge = start(['mcp', '--persona', 'ada', '--create', '--home', home])
  bridge.child.stdin?.write('this is no JSON\n{"jsonrpc":"2.0"}\n\n[]\n')
  bridge.child.stdin?.end()
  expect(await bridge.exited).toBe(0)
})

describe('one-shot messages in a pipe', () => {
  const messages = [
    {
      ...{ id: 1, method: 'initialize' },
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
    },
    { method: 'notifications/initialized' },
    {
      ...{ id: 2, method: 'tools/call' },
      params: { name: 'signals', arguments: { action: 'send', params: { to: 'ada', intent: 'note' } } },
    },
    { id: 3, method: 'tools/list' },
  ]
  const text = messages.map((message) => JSON.stringify({ jsonrpc: '2.0', ...message })).join('\n')
  const answersOf = (output: string) =>
    output
      .split('\n')
      .filter((line) => line.startsWith('{"'))
      .map((line) => JSON.parse(line) as { id?: number; result?: { isError?: boolean } })
      .filter(({ id }) => id !== undefined)

  async function piped(args: readonly string[]) {
    const { child, exited } = start([...args])
    const [out, err] = [child.stdout, child.stderr].map((stream) => {
      let read = ''
      stream?.on('data', (chunk: Buffer) => (read += chunk.toString()))
      return () => read
    })
    child.stdin?.end(text)
    return { code: await exited, answers: answersOf(out!()), stderr: err!() }
  }

  test.each([
    ['through the hub', true, (home: string) => ['mcp', '--home', home]],
    ['to a hub inside of the bridge', false, (home: string) => ['mcp', '--no-autostart', '--home', home]],
    ['to the hub itself', false, (home: string) => ['hub', '--stdio', '--port', '0', '--home', home]],
  ])('all messages of a pipe are answered before the end, %s', async (_, runs, words) => {
    const home = temporaryHome()
    if (runs) await hubWithAda(home)
    const { code, answers } = await piped([...words(home), '--persona', 'ada', '--create'])
    expect(answers.map(({ id }) => id).sort()).toEqual([1, 2, 3])
    expect(answers.find(({ id }) => id === 2)?.result?.isError).not.toBe(true)
    expect(code).toBe(0)
  })

  test('messages of an unknown persona are refused with a similar name', async () => {
    const home = temporaryHome()
    await hubWithAda(home)
    const { code, answers, stderr } = await piped(['mcp', '--persona', 'adda', '--home', home])
    const refused = answers.find(({ id }) => id === 2)?.result as Answer
    expect(refused).toMatchObject({ isError: true, structuredContent: { code: 'target_unknown' } })
    expect(JSON.stringify(refused)).toContain('did you mean ada?')
    expect(stderr).toContain('did you mean ada?')
    expect(code).not.toBe(0)
    const get = hubHttp(home).post('/api/personas/get', { identity: 'adda' })
    await expect(get).rejects.toThrow('target_unknown')
  })

  test.each([
    ['through a hub that runs', true, (home: string) => ['mcp', '--home', home]],
    ['to the hub itself', false, (home: string) => ['hub', '--stdio', '--port', '0', '--home', home]],
  ])('invalid messages of an unknown persona are refused, %s', async (_, runs, words) => {
    const home = temporaryHome()
    if (runs) await hubWithAda(home)
    const { child, exited } = start([...words(home), '--persona', 'adda'])
    let told = ''
    child.stderr?.on('data', (chunk: Buffer) => (told += chunk.toString()))
    child.stdin?.end()
    expect(await exited).toBe(EXIT.refused)
    expect(told).toContain('target_unknown')
  })
})
