/** Routines on a hub with real programs and real requests, as callers see them. */
import fs from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createStepRunner } from '../../../src/system/process/step-runner.ts'
import { createWeb } from '../../../src/system/ipc/web.ts'
import { systemClock as clock } from '../../../src/system/clock.ts'
import { systemPatterns as patterns } from '../../../src/system/patterns.ts'
import { testRepository } from '../../support/disk/test-repository.ts'
import { startSmallHub, type SmallHub } from '../../support/worlds/small-hub.ts'
import { settingsWith } from '../../support/worlds/routine-kernel.ts'
import { temporaryHome } from '../../support/processes/processes.ts'

let hub: SmallHub
let root: string
let server: Server
let asked: { url: string | undefined; authorization: string | undefined }[]

beforeEach(async () => {
  root = fs.realpathSync(temporaryHome())
  asked = []
  server = createServer((request, response) => {
    asked.push({ url: request.url, authorization: request.headers.authorization })
    if (request.url === '/away') response.writeHead(302, { location: 'http://localhost:1/' }).end()
    else
      response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ got: request.headers.authorization }))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const env = { ...process.env, API_TOKEN: 'tok-4711', TURNBELL_TOKEN: 'tb-4711' }
  hub = await startSmallHub({
    grants: { facets: ['core', 'design'], pro: false, intents: {} },
    outside: {
      programs: createStepRunner({ env, clock }),
      web: createWeb({ clock }),
      patterns,
      variable: (name) => env[name as keyof typeof env],
    },
    settings: settingsWith({
      sandbox: {
        exec: [`${process.execPath} -e`],
        network: [`127.0.0.1:${(server.address() as AddressInfo).port}`],
        env: ['API_TOKEN'],
      },
      workflow: {
        preflight: [[process.execPath, '-e', '']],
        ship: [[process.execPath, '-e', 'require("fs").writeFileSync("shipped", "")']],
      },
    }),
  })
  await hub.personas.add({ identity: 'ada', surface: 'mcp', project: root })
  await hub.personas.add({ identity: 'bob', surface: 'mcp' })
})
afterEach(async () => {
  await hub.close()
  server.closeAllConnections()
  server.close()
})

const post = async (route: string, body: object, as = 'ada', headers = {}) =>
  (await hub.request('POST', `/api/${route}`, { body, token: hub.token(as), headers })).body
const script = (text: string) => ({ step: 'exec', with: { argv: [process.execPath, '-e', text] } })

describe('a routine on a hub', () => {
  test('a routine runs programs in the project of its caller, without secrets', async () => {
    const text = 'console.log(JSON.stringify({ cwd: process.cwd(), env: process.env }))'
    const report = await post('routine/eval', {
      steps: [
        { id: 'run', ...script(text) },
        { step: 'expect', with: { value: { $from: 'run.stdout' }, matches: root } },
      ],
    })
    expect(report).toMatchObject({ ok: true, generation: 1 })
    expect(JSON.stringify(report)).not.toContain('4711')
  })

  test('a routine of a caller without a project runs no programs, unless the call names one', async () => {
    const bob = await post('routine/step', script(''), 'bob')
    expect(bob).toMatchObject({ steps: [{ problem: { code: 'project_unknown' } }] })
    expect(await post('routine/step', script(''), 'bob', { 'x-scope': root })).toMatchObject({ ok: true })
    const elsewhere = await post('routine/step', script(''), 'bob', { 'x-scope': path.dirname(root) })
    expect(elsewhere).toMatchObject({ steps: [{ problem: { code: 'project_unknown' } }] })
  })

  test('a secret of a request is not in the report', async () => {
    const { port } = server.address() as AddressInfo
    const url = (where: string) => `http://127.0.0.1:${port}${where}`
    const report = await post('routine/eval', {
      steps: [
        {
          step: 'http',
          with: { url: url('/in'), headers: { authorization: { $env: 'API_TOKEN', prefix: 'Bearer ' } } },
        },
        { step: 'http', with: { url: url('/away') } },
      ],
    })
    expect(asked[0]).toEqual({ url: '/in', authorization: 'Bearer tok-4711' })
    expect(report['steps']).toMatchObject([
      { status: 'ok', result: { json: { got: 'Bearer [API_TOKEN]' } } },
      { status: 'failed', problem: { code: 'leash_forbidden' } },
    ])
    expect(JSON.stringify([report, hub.lines, hub.logged])).not.toContain('4711')
  })

  test('a routine appears in the event stream as the calls that it makes', async () => {
    const steps = [{ step: 'call', with: { facade: 'personas', action: 'list' } }]
    await post('routine/eval', { steps })
    const [inner, outer] = hub.lines.slice(-2)
    expect(inner).toMatchObject({ facade: 'personas', action: 'list', parent_call_id: outer?.call_id })
    expect(outer).toMatchObject({ facade: 'routine', action: 'eval', parent_call_id: null })
  })
})

describe('workflow on a hub', () => {
  test('workflow ship waits while an urgent signal is pending, and continues afterwards', async () => {
    expect((await post('signals/send', { to: 'ada', intent: 'stop', priority: 8 }, 'bob'))['durable']).toBe(
      true,
    )
    expect(await post('workflow/ship', {})).toMatchObject({ ready: false, shipped: false })
    expect(fs.existsSync(path.join(root, 'shipped'))).toBe(false)
    const { signals } = await post('signals/pending', {})
    expect(signals).toHaveLength(1)
    expect(await post('workflow/ship', { dry_run: true })).toMatchObject({ ready: true, shipped: false })
    expect(fs.existsSync(path.join(root, 'shipped'))).toBe(false)
    expect(await post('workflow/ship', {})).toMatchObject({ ready: true, shipped: true })
    expect(fs.existsSync(path.join(root, 'shipped'))).toBe(true)
  })

  test('workflow is not ready while the repository has conflicts, and lists recent changes', async () => {
    const repository = testRepository(root)
    const commit = (content: string, message: string) => {
      repository.write('a.txt', content)
      return repository.commit(message)
    }
    commit('retry_after_ms = 5\n', 'hub: Wait before a retry')
    repository.git('checkout', '--quiet', '-b', 'other')
    commit('wait_ms = 5\n', 'hub: Rename the wait')
    repository.git('checkout', '--quiet', 'main')
    expect(await post('workflow/preflight', {})).toMatchObject({ ready: true })

    const removed = commit('nothing\n', 'hub: Do not wait')
    expect(() => repository.git('merge', '--quiet', 'other')).toThrow()
    expect(await post('workflow/preflight', {})).toMatchObject({
      ready: false,
      checks: [
        { name: 'no_conflicts', ok: false },
        { name: 'not_behind', ok: true },
        { ok: true },
        { ok: true },
      ],
    })
    expect(await post('workflow/status', {})).toMatchObject({
      sections: { git: { branch: 'main', clean: false, counts: { conflicted: 1 } }, coordinator: {} },
      missing: {},
    })
    const { sections } = (await post('workflow/investigate', { query: 'retry_after_ms' })) as {
      sections: Record<string, unknown>
    }
    expect(sections['removals']).toMatchObject([{ sha: removed }])
    expect(await post('workflow/investigate', { query: 'BEFORE A RETRY' })).toMatchObject({
      sections: { commits: [{ subject: 'hub: Wait before a retry' }] },
      missing: {},
    })
  })

  test('workflow finds records of every kind, and counts the open ones', async () => {
    await post('store/put', { kind: 'issue', record: { title: 'Login fails' } })
    await post('store/put', { kind: 'friction', record: { text: 'The LOGIN test needs a person.' } })
    await post('store/put', { kind: 'learning', record: { text: 'Nothing about it.' } })
    const { records } = (await post('workflow/investigate', { query: 'login' }))['sections'] as never
    expect(records).toMatchObject({
      total: 2,
      records: [{ kind: 'friction' }, { kind: 'issue', title: 'Login fails' }],
    })
    const status = (await post('workflow/status', {}))['sections'] as { records: unknown } | undefined
    expect(status?.records).toMatchObject({ total: 2 })
  })

  test('workflow reads a caller’s signals without draining them', async () => {
    await post('signals/send', { to: 'ada', intent: 'note.login', payload: 'about the login' }, 'bob')
    const found = await hub.request('GET', '/api/workflow/investigate?query=LOGIN', {
      token: hub.token('ada'),
    })
    expect(found.body['sections']).toMatchObject({ signals: [{ intent: 'note.login', from: 'bob' }] })
    const status = await hub.request('GET', '/api/workflow/status', { token: hub.token('ada') })
    expect(status.body['sections']).toMatchObject({ waiting: { count: 1, urgent: 0 } })
    const others = await hub.request('GET', '/api/workflow/investigate?query=about', {
      token: hub.token('bob'),
    })
    expect(others.body['sections']).toMatchObject({ signals: [] })
    expect((await post('signals/pending', {}))['signals']).toHaveLength(1)
  })
})

test('bench runs a program under the same sandbox policy, for any caller with a project', async () => {
  const bench = async (identity: string, params: object) =>
    (await hub.request('POST', '/api/dojo/bench', { body: params, token: hub.token(identity) })).body
  const argv = [process.execPath, '-e', 'console.error("x"); process.exit(3)']
  const answer = await bench('ada', { argv, runs: 2 })
  expect(answer).toMatchObject({ timed_out: false, failed: { exit_code: 3, stderr: 'x\n' } })
  expect((answer['runs'] as { exit_code: number }[]).map(({ exit_code }) => exit_code)).toEqual([3, 3])
  expect(await bench('bob', { argv })).toMatchObject({ code: 'project_unknown' })
  expect(await bench('ada', { argv, cwd: '..' })).toMatchObject({ code: 'params_invalid' })
  expect(await bench('ada', { argv: ['make'] })).toMatchObject({
    code: 'leash_forbidden',
    hint: expect.stringContaining('exec: ["make"]') as string,
  })
  for (const wrong of [
    {},
    { argv: [] },
    { argv: [''] },
    { argv, runs: 0 },
    { argv, runs: 51 },
    { argv: 'ls' },
  ])
    expect(await bench('ada', wrong)).toMatchObject({ code: 'params_invalid' })
})
