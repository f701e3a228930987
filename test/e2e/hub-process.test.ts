/** Tests the hub as a process: its pid file, its logs, its flags, and its exit. */
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { afterEach, describe, expect, test } from 'vitest'
import { processStartTime } from '../../src/system/process/process-info.ts'
import { eventually } from '../support/eventually.ts'
import { hubHttp } from '../support/worlds/hub-http.ts'
import {
  end,
  type Running,
  standStill,
  start,
  startHub,
  temporaryHome,
} from '../support/processes/processes.ts'

const running: Running[] = []
const keep = <T extends Running>(process_: T): T => {
  running.push(process_)
  return process_
}
afterEach(async () => {
  await Promise.all(running.splice(0).map((process_) => end(process_)))
})

const lines = (file: string) =>
  fs
    .readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>)

describe('the pid file', () => {
  test('the pid file has pid, address and start while the hub is ready and is removed by a clean stop', async () => {
    const home = temporaryHome()
    const hub = keep(await startHub(home))
    const file = path.join(home, 'hub/hub.pid')
    expect(JSON.parse(fs.readFileSync(file, 'utf8'))).toEqual({
      pid: hub.child.pid,
      started: processStartTime(hub.child.pid as number),
      url: hub.url,
      started_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
    })
    expect(await end(hub, 'SIGINT')).toBe(0)
    expect(fs.existsSync(file)).toBe(false)
  })

  test('the pid file of a killed hub is replaced', async () => {
    const home = temporaryHome()
    const first = keep(await startHub(home))
    await end(first, 'SIGKILL')
    expect(fs.existsSync(path.join(home, 'hub/hub.pid'))).toBe(true)
    const second = keep(await startHub(home))
    expect(hubHttp(home).url()).toBe(second.url)
  })

  test('a second hub reports the running one and its address', async () => {
    const home = temporaryHome()
    const first = keep(await startHub(home))
    const second = keep(start(['hub', '--home', home, '--port', '0', '--json']))
    expect(await second.exited).toBe(75)
    const problem = JSON.parse(second.output()) as Record<string, string>
    expect(problem).toMatchObject({ code: 'already_running', type: 'urn:turnbell:error:already_running' })
    expect(problem['detail']).toContain(String(first.child.pid))
    expect(problem['detail']).toContain(first.url)
    expect(problem['hint']).toContain('--home')
    const instance = problem['instance']?.replace('urn:turnbell:instance:', '')
    const line = lines(path.join(home, 'logs/hub.log')).find((entry) => entry['instance'] === instance)
    expect(line).toMatchObject({ err: { message: expect.stringContaining('already_running') as string } })
  })

  test('a second hub waits for a missing pid file unless it is stopped', async () => {
    const home = temporaryHome()
    // Otherwise the daemon would write the file again.
    const goOn = await standStill(keep(await startHub(home)))
    try {
      fs.rmSync(path.join(home, 'hub/hub.pid'))
      const second = keep(start(['hub', '--home', home, '--port', '0']))
      await eventually('the second hub waits', () => second.output().includes('waiting up to 10 s'))
      expect(await end(second, 'SIGTERM')).toBe(0)
      expect(second.output()).toMatch(/^warn: [^\n]+\n$/)
    } finally {
      goOn()
    }
  })
})

describe('the logs', () => {
  test('the logs are private JSON lines without tokens and payloads', async () => {
    const home = temporaryHome()
    const hub = keep(await startHub(home))
    const hubs = hubHttp(home)
    await hubs.post('/api/personas/add', { identity: 'bob', surface: 'mcp' })
    await hubs.post('/api/signals/send', { to: 'bob', intent: 'note', payload: 'NOT-FOR-LOGS' })
    await hubs.post('/api/signals/send', { to: 'nobody', intent: 'note' }).catch(() => undefined)
    const token = fs.readFileSync(path.join(home, 'secrets/operator.token'), 'utf8').trim()
    await fetch(`${hub.url}/ws?token=${token}`).catch(() => undefined)
    await fetch(`${hub.url}/mcp?token=${token}`, { method: 'POST', body: '{' }).catch(() => undefined)
    expect(await end(hub, 'SIGTERM')).toBe(0)
    const hub_log = path.join(home, 'logs/hub.log')
    const dispatch_log = path.join(home, 'logs/dispatch.jsonl')
    expect(lines(hub_log).map(({ msg }) => msg)).toEqual(['ready', 'stopping', 'stopped'])
    expect(lines(dispatch_log)).toMatchObject([
      { facade: 'personas', action: 'add', identity: 'operator', success: true },
      { facade: 'signals', action: 'send', success: true },
      { facade: 'signals', action: 'send', success: false, error: 'target_unknown' },
    ])
    for (const file of [hub_log, dispatch_log]) {
      expect(fs.statSync(file).mode & 0o777).toBe(0o600)
      const text = fs.readFileSync(file, 'utf8')
      expect(text).not.toContain(token)
      expect(text).not.toContain('NOT-FOR-LOGS')
    }
  })
})

describe('a stop', () => {
  test('a stop lets an open request finish', async () => {
    const home = temporaryHome()
    const hub = keep(await startHub(home))
    const { hostname, port } = new URL(hub.url)
    const token = fs.readFileSync(path.join(home, 'secrets/operator.token'), 'utf8').trim()
    const body = JSON.stringify({ identity: 'bob', surface: 'mcp' })
    const request = http.request({
      ...{ hostname, port, method: 'POST', path: '/api/personas/add' },
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': body.length,
        expect: '100-continue',
      },
    })
    const answered = new Promise<number>((resolve, reject) => {
      request.on('response', (response) => resolve(response.resume().statusCode ?? 0))
      request.on('error', reject)
    })
    // An incomplete request: the hub has accepted it and waits for the rest.
    await new Promise<void>((resolve) => request.once('continue', resolve).flushHeaders())
    request.write(body.slice(0, 10))
    hub.child.kill('SIGTERM')
    await eventually('it says that it stops', () =>
      fs.readFileSync(path.join(home, 'logs/hub.log'), 'utf8').includes('"stopping"'),
    )
    expect(hub.child.exitCode).toBe(null)
    request.end(body.slice(10))
    expect(await answered).toBe(200)
    expect(await hub.exited).toBe(0)
  })

  test('two requests to stop are one stop', async () => {
    const hub = keep(await startHub(temporaryHome()))
    hub.child.kill('SIGTERM')
    hub.child.kill('SIGINT')
    expect(await hub.exited).toBe(0)
  })

  test('a stop during the start is applied after the start', async () => {
    const home = temporaryHome()
    const hub = keep(start(['hub', '--home', home, '--port', '0']))
    await eventually('it has begun', () => fs.existsSync(path.join(home, 'logs/hub.log')))
    hub.child.kill('SIGTERM')
    expect([0, 'SIGTERM']).toContain(await hub.exited)
    expect(fs.existsSync(path.join(home, 'hub/hub.pid'))).toBe(false)
    keep(await startHub(home))
  })
})

describe('the flags', () => {
  test('the flags of older set-ups start the hub', async () => {
    keep(await startHub(temporaryHome(), ['--daemon', '--sse', '--port', '0']))
  })

  test.each([
    [['--port', '99999'], 64, '--port'],
    [['--port', 'http'], 64, '--port'],
    [['--colour'], 64, '--colour'],
    [['extra'], 64, 'extra'],
    [['--stdio'], 64, 'TURNBELL_PERSONA'],
    [['--host', '0.0.0.0'], 78, '--behind-proxy'],
    [['--tls-cert', '/nowhere.pem'], 78, 'tls_key'],
    [['--tls-cert', '/nowhere.pem', '--tls-key', '/nowhere.key'], 78, '/nowhere.pem'],
    [['--store', 'redis://x'], 78, 'store'],
  ])('the flags %j are refused with exit %i', async (flags, code, named) => {
    const hub = keep(
      start([
        'hub',
        '--home',
        temporaryHome(),
        ...(flags.includes('--port') ? [] : ['--port', '0']),
        ...flags,
      ]),
    )
    expect(await hub.exited).toBe(code)
    expect(hub.output()).toContain(named)
  })

  test('the hub with --json prints one document with its address when it is ready', async () => {
    const hub = keep(start(['hub', '--home', temporaryHome(), '--port', '0', '--json']))
    const [line] = (await once(createInterface(hub.child.stdout as Readable), 'line')) as [string]
    const { url } = JSON.parse(line) as { url: string }
    expect(JSON.parse(line)).toEqual({ status: 'ready', url, pid: hub.child.pid })
    expect((await fetch(`${url}/ready`)).status).toBe(200)
  })

  test.each([
    ['hub', '--port', '0', '--stdio', '--create'],
    ['mcp', '--no-autostart', '--create'],
  ])('the hub with MCP on stdout suppresses the output of plugins: %s', async (...words) => {
    const home = temporaryHome()
    fs.writeFileSync(path.join(home, 'config.yaml'), 'hub: {port: 0}\nplugins: [./printer.mjs]\n')
    fs.writeFileSync(
      path.join(home, 'printer.mjs'),
      `import { stdout } from 'node:process'
console.log('a line')
stdout.write('half a line')
process.stdout.write('.')
export default () => ({ name: 'printer' })
`,
    )
    const { child } = keep(start([...words, '--home', home, '--persona', 'bob']))
    let said = ''
    child.stdout?.on('data', (chunk: Buffer) => (said += chunk.toString()))
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    }
    const say = (message: object) => child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    say({ id: 1, method: 'initialize', params })
    say({ method: 'notifications/initialized' })
    say({ id: 2, method: 'tools/call', params: { name: 'signals_pending', arguments: {} } })
    await eventually('both are answered', () => said.includes('"id":1') && said.includes('"id":2'))
    const answers = said
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { id?: number })
    expect(answers.flatMap(({ id }) => id ?? []).toSorted()).toEqual([1, 2])
  })

  test('the hub with --stdio uses stdout for MCP and ends with its client', async () => {
    const hub = keep(
      start(['hub', '--home', temporaryHome(), '--port', '0', '--stdio', '--create', '--persona', 'bob']),
    )
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    }
    hub.child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`)
    await eventually('it answers', () => hub.output().includes('"serverInfo"'))
    hub.child.stdin?.end()
    expect(await hub.exited).toBe(0)
  })
})
