import { describe, expect, test } from 'vitest'
import {
  logOfClient,
  serverOfClient,
  type PluginClient,
} from '../../../../adapters/opencode/plugin/client.ts'
import { drainGuard, type DrainGuard } from '../../../../adapters/opencode/plugin/guard.ts'
import plugin, { turnbellPlugin } from '../../../../adapters/opencode/plugin/main.ts'
import { pluginRole } from '../../../../adapters/opencode/plugin/plugin-role.ts'
import type { Session } from '../../../../adapters/opencode/protocol.ts'
import { ERRORS } from '../../../../src/contracts/errors/error-catalogue.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { atRest, fakeClock } from '../../../support/fakes/fake-clock.ts'
import { session } from '../../../support/fakes/fake-opencode.ts'
import { temporaryHome } from '../../../support/processes/processes.ts'

const DIRECTORY = '/project'
const SUBAGENT_FORBIDDEN = ERRORS.subagent_forbidden.title
const at = (id: string) => ({ id, directory: DIRECTORY })

/** A fake of opencode's client, as a plugin gets it. */
function client(known = [session('ses_1')]) {
  const asked: object[] = []
  const ok = { status: 200, ok: true }
  const logged: { level: string; message: string; extra?: Record<string, unknown> }[] = []
  const given: PluginClient = {
    session: {
      async get(of) {
        asked.push(of)
        const data = known.find(({ id }) => id === of.path.id)
        return data === undefined ? { response: { status: 404, ok: false } } : { data, response: ok }
      },
      async messages(of) {
        asked.push(of)
        const info = { id: 'msg_2', role: 'user', time: { created: 1 } }
        return { data: of.path.id === 'ses_1' ? [{ info, parts: [] }] : [], response: ok }
      },
      status: async () => ({ data: { ses_1: { type: 'busy' } }, response: ok }),
      async promptAsync(of) {
        asked.push(of)
        return { response: { status: of.path.id === 'ses_1' ? 204 : 404, ok: of.path.id === 'ses_1' } }
      },
    },
    app: { log: async ({ body }) => void logged.push(body) },
  }
  return { given, asked, logged }
}

describe("opencode's own client", () => {
  test("calls are made in the session's directory, and a missing session is null", async () => {
    const { given, asked } = client()
    const server = serverOfClient(given, fakeClock())
    expect(await server.session(at('ses_1'))).toMatchObject({ id: 'ses_1' })
    expect(await server.session(at('ses_9'))).toBeNull()
    expect(await server.messages(at('ses_1'), 1)).toMatchObject([{ info: { id: 'msg_2' } }])
    expect(asked.at(-1)).toEqual({ path: { id: 'ses_1' }, query: { directory: DIRECTORY, limit: 1 } })
    expect(await server.messages(at('ses_2'), 1)).toEqual([])
    expect([await server.isBusy(at('ses_1')), await server.isBusy(at('ses_2'))]).toEqual([true, false])
    const prompt = { parts: [{ type: 'text' as const, text: 'ring', metadata: {} }] as const }
    await server.prompt(at('ses_1'), { parts: [...prompt.parts] })
    expect(asked.at(-1)).toEqual({
      path: { id: 'ses_1' },
      query: { directory: DIRECTORY },
      body: { parts: prompt.parts },
    })
    await expect(server.prompt(at('ses_9'), { parts: [...prompt.parts] })).rejects.toMatchObject({
      status: 404,
    })
  })

  test.each([
    ['an unknown format', async () => ({ data: [1], response: { status: 200, ok: true } })],
    ['no answer', async () => ({})],
    ['an error', () => Promise.reject(new Error('broken'))],
  ])('a call that returns %s is rejected', async (_, status) => {
    const { given } = client()
    given.session.status = status
    await expect(serverOfClient(given, fakeClock()).isBusy(at('ses_1'))).rejects.toMatchObject({
      name: 'Error',
      message: expect.stringMatching(/format|null|failed/) as string,
    })
  })

  test('a call without an answer times out', async () => {
    const { given } = client()
    given.session.status = () => new Promise(() => {})
    const clock = fakeClock()
    const busy = serverOfClient(given, clock).isBusy(at('ses_1'))
    const refused = expect(busy).rejects.toThrow('timed out')
    await atRest()
    await clock.advance(LIMITS.opencode_answer_ms)
    await refused
  })
})

describe('the role of the plugin', () => {
  const window = { env: {}, argv: ['bun', 'worker.js'], mainThread: false, password: 'secret' }
  const command = (name: string, env: NodeJS.ProcessEnv = {}) =>
    pluginRole({ ...window, mainThread: true, argv: ['bun', 'opencode', name], env }, 'ada')

  test('the role is to ring in windows and servers, and only to guard in single commands', () => {
    expect(pluginRole(window, 'ada')).toBe('rings')
    expect(['serve', 'web', 'run', 'acp', ''].map((name) => command(name))).toEqual([
      ...['rings', 'rings'],
      ...['guards', 'guards', 'guards'],
    ])
  })

  test.each([
    [['--print-logs', 'serve'], 'rings'],
    [['--log-level', 'DEBUG', '--pure', 'web'], 'rings'],
    [['--log-level=DEBUG', 'serve'], 'rings'],
    [['--print-logs', 'run', 'serve'], 'guards'],
    [['--print-logs'], 'guards'],
  ])('the role is the same with global flags: %j %s', (words, part) => {
    const argv = ['bun', 'opencode', ...words]
    expect(pluginRole({ ...window, mainThread: true, argv }, 'ada')).toBe(part)
  })

  test("the role is only to guard in the persona's own server, which has its own shim", () => {
    expect(command('serve', { OPENCODE_SERVER_PASSWORD: 'secret', TURNBELL_PERSONA: 'ada' })).toBe('guards')
    expect(command('serve', { OPENCODE_SERVER_PASSWORD: 'of a person' })).toBe('rings')
  })

  test("the plugin has no role in another persona's server", () => {
    expect(command('serve', { TURNBELL_PERSONA: 'bob' })).toBe('none')
    expect(command('serve', { TURNBELL_PERSONA: 'ada' })).toBe('rings')
    expect(command('serve', { TURNBELL_PERSONA: '' })).toBe('rings')
  })
})

describe('a drain', () => {
  const of_subagent = session('ses_2', { parentID: 'ses_1' })
  const { given } = client([session('ses_1'), of_subagent])
  const guardOn = (of: PluginClient) =>
    drainGuard({ server: serverOfClient(of, fakeClock()), directory: DIRECTORY, log: silentLog })
  const guarded = (tool: string, sessionID: string, args: unknown = {}) =>
    guardOn(given).before({ tool, sessionID, args })
  const drains = (of: DrainGuard, sessionID: string) =>
    of.before({ tool: 'turnbell_signals_pending', sessionID, args: {} })

  test("a drain is rejected for a subagent, which may send, and allowed for the person's agent", async () => {
    await expect(guarded('turnbell_signals_pending', 'ses_2')).rejects.toThrow(SUBAGENT_FORBIDDEN)
    await guarded('turnbell_signals', 'ses_2')
    await guarded('turnbell_signals_pending', 'ses_1')
  })

  test.each([
    ['turnbell_signals', { action: 'pending' }],
    ['turnbell_tool_invoke', { name: 'signals_pending' }],
    ['turnbell_prism_signals_pending', {}],
  ])('a drain by %s %j is rejected for a subagent', async (tool, args) => {
    await expect(guarded(tool, 'ses_2', args)).rejects.toThrow(SUBAGENT_FORBIDDEN)
    await guarded(tool, 'ses_1', args)
  })

  test('a drain tool of another MCP server is not checked', async () => {
    await guarded('other_signals_pending', 'ses_2')
  })

  test('a drain is allowed if its session cannot be read', async () => {
    await guarded('turnbell_signals_pending', 'ses_unknown')
    const { given: broken, asked } = client()
    broken.session.get = async (of) => {
      asked.push(of)
      throw new Error('broken')
    }
    await drains(guardOn(broken), 'ses_2')
    expect(asked).toHaveLength(LIMITS.opencode_guard_tries)
  })

  test('a drain is rejected for a subagent whose session is read at the second try', async () => {
    const { given: busy } = client([])
    let asked = 0
    busy.session.get = async (of) => {
      if (asked++ === 0) throw new Error('too busy')
      return given.session.get(of)
    }
    await expect(drains(guardOn(busy), 'ses_2')).rejects.toThrow(SUBAGENT_FORBIDDEN)
  })

  test('a drain is rejected without a call for a subagent that opencode has reported', async () => {
    const { given: silent, asked } = client([])
    const of = guardOn(silent)
    const told = (info: Session) =>
      of.handleEvent({ type: 'session.created', properties: { sessionID: info.id, info } })
    told(of_subagent)
    told(session('ses_1'))
    await expect(drains(of, 'ses_2')).rejects.toThrow(SUBAGENT_FORBIDDEN)
    await drains(of, 'ses_1')
    expect(asked).toEqual([])
    for (let n = 0; n < LIMITS.opencode_known_sessions_max; n++) told(session(`ses_of_${n}`))
    await drains(of, 'ses_2')
    expect(asked).toHaveLength(1)
  })
})

describe('the plugin', () => {
  test('the plugin is an object with a server function', () => {
    expect(plugin).toMatchObject({ id: 'turnbell', server: expect.any(Function) as unknown })
  })

  test.each([
    ['no options', undefined, 'persona'],
    ['an invalid name', { persona: 'A B' }, 'persona'],
  ])('the plugin with %s logs an error and has no hooks', async (_, options, what) => {
    const { given, logged } = client()
    expect(await plugin.server({ client: given, directory: DIRECTORY }, options)).toEqual({})
    expect(logged).toMatchObject([{ level: 'error', message: 'turnbell plugin disabled' }])
    expect(String(logged[0]?.extra?.['err'])).toContain(what)
  })

  test('the plugin in an opencode with another API logs an error and has no hooks', async () => {
    const { given, logged } = client()
    const other = { app: given.app, session: {} } as PluginClient
    const made = turnbellPlugin({ persona: 'ada', home: temporaryHome() })
    expect(await made.server({ client: other, directory: DIRECTORY })).toEqual({})
    expect(String(logged[0]?.extra?.['err'])).toContain('no API of version')
  })

  test('the plugin guards drains in a process that it does not ring', async () => {
    const { given } = client()
    const made = turnbellPlugin({ persona: 'ada', home: temporaryHome() })
    const hooks = await made.server({ client: given, directory: DIRECTORY })
    expect(Object.keys(hooks).sort()).toEqual([
      ...['event', 'experimental.chat.system.transform', 'experimental.session.compacting'],
      ...['shell.env', 'tool.execute.before'],
    ])
  })

  test('the plugin does not change the system prompt without a hub', async () => {
    const { given } = client([session('ses_1')])
    const made = turnbellPlugin({ persona: 'ada', home: temporaryHome() })
    const hooks = await made.server({ client: given, directory: DIRECTORY })
    const system = ['You are opencode']
    await hooks['experimental.chat.system.transform']!({ sessionID: 'ses_1' }, { system })
    expect(system).toEqual(['You are opencode'])
  })

  test('the plugin checks the arguments of a tool call', async () => {
    const { given } = client([session('ses_2', { parentID: 'ses_1' })])
    const made = turnbellPlugin({ persona: 'ada', home: temporaryHome() })
    const hooks = await made.server({ client: given, directory: DIRECTORY })
    const before = hooks['tool.execute.before']!
    const call = { tool: 'turnbell_signals', sessionID: 'ses_2' }
    await expect(before(call, { args: { action: 'pending' } })).rejects.toThrow(SUBAGENT_FORBIDDEN)
    await before(call, { args: { action: 'send' } })
    await before(call)
  })

  test('the plugin uses session events and ignores unknown ones', async () => {
    const { given } = client([])
    const made = turnbellPlugin({ persona: 'ada', home: temporaryHome() })
    const hooks = await made.server({ client: given, directory: DIRECTORY })
    const info = session('ses_2', { parentID: 'ses_1' })
    await hooks.event!({ event: { type: 'session.created', properties: { sessionID: 'ses_2', info } } })
    await hooks.event!({ event: { type: 'of tomorrow' } })
    const call = { tool: 'turnbell_signals_pending', sessionID: 'ses_2' }
    await expect(hooks['tool.execute.before']!(call)).rejects.toThrow(SUBAGENT_FORBIDDEN)
  })

  test('the plugin ignores failed log calls', async () => {
    const { given } = client()
    given.app.log = () => Promise.reject(new Error('no log'))
    logOfClient(given).warn({ err: new Error('x') }, 'something')
    await atRest()
  })
})
