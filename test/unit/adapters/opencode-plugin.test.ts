import { describe, expect, test } from 'vitest'
import { ownLog, ownServer, type PluginClient } from '../../../adapters/opencode/plugin/client.ts'
import { drainGuard, type DrainGuard } from '../../../adapters/opencode/plugin/guard.ts'
import plugin, { turnbellPlugin } from '../../../adapters/opencode/plugin/main.ts'
import { partIn } from '../../../adapters/opencode/plugin/part.ts'
import type { Session } from '../../../adapters/opencode/protocol.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { atRest, fakeClock } from '../../support/fake-clock.ts'
import { session } from '../../support/fake-opencode.ts'
import { temporaryHome } from '../../support/processes.ts'

const DIRECTORY = '/project'
const at = (id: string) => ({ id, directory: DIRECTORY })

/** opencode's own client, as a plugin gets it. */
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
  test('is asked in the directory, and says what is not there', async () => {
    const { given, asked } = client()
    const server = ownServer(given, fakeClock())
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
    ['another form', async () => ({ data: [1], response: { status: 200, ok: true } })],
    ['no answer', async () => ({})],
    ['an error', () => Promise.reject(new Error('broken'))],
  ])('that gives %s is a failed question', async (_, status) => {
    const { given } = client()
    given.session.status = status
    await expect(ownServer(given, fakeClock()).isBusy(at('ses_1'))).rejects.toMatchObject({
      name: 'Error',
      message: expect.stringMatching(/form|null|broke/) as string,
    })
  })

  test('that never answers is given up', async () => {
    const { given } = client()
    given.session.status = () => new Promise(() => {})
    const clock = fakeClock()
    const busy = ownServer(given, clock).isBusy(at('ses_1'))
    const refused = expect(busy).rejects.toThrow('was not answered')
    await atRest()
    await clock.advance(LIMITS.opencode_answer_ms)
    await refused
  })
})

describe('the part of the plugin', () => {
  const window = { env: {}, argv: ['bun', 'worker.js'], mainThread: false, password: 'secret' }
  const command = (name: string, env: NodeJS.ProcessEnv = {}) =>
    partIn({ ...window, mainThread: true, argv: ['bun', 'opencode', name], env }, 'ada')

  test('is to ring in a window and in what stays, and only to guard in what ends by itself', () => {
    expect(partIn(window, 'ada')).toBe('rings')
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
  ])('is the same behind flags: %j %s', (words, part) => {
    const argv = ['bun', 'opencode', ...words]
    expect(partIn({ ...window, mainThread: true, argv }, 'ada')).toBe(part)
  })

  test("is only to guard in the persona's own server, which has a shim already", () => {
    expect(command('serve', { OPENCODE_SERVER_PASSWORD: 'secret', TURNBELL_PERSONA: 'ada' })).toBe('guards')
    expect(command('serve', { OPENCODE_SERVER_PASSWORD: 'of a person' })).toBe('rings')
  })

  test('is none where another persona works', () => {
    expect(command('serve', { TURNBELL_PERSONA: 'bob' })).toBe('none')
    expect(command('serve', { TURNBELL_PERSONA: 'ada' })).toBe('rings')
    expect(command('serve', { TURNBELL_PERSONA: '' })).toBe('rings')
  })
})

describe('a drain', () => {
  const of_subagent = session('ses_2', { parentID: 'ses_1' })
  const { given } = client([session('ses_1'), of_subagent])
  const guardOn = (of: PluginClient) =>
    drainGuard({ server: ownServer(of, fakeClock()), directory: DIRECTORY, log: silentLog })
  const guarded = (tool: string, sessionID: string, args: unknown = {}) =>
    guardOn(given).before({ tool, sessionID, args })
  const drains = (of: DrainGuard, sessionID: string) =>
    of.before({ tool: 'turnbell_signals_pending', sessionID, args: {} })

  test("is refused to a subagent, which may send, and passes for the person's agent", async () => {
    await expect(guarded('turnbell_signals_pending', 'ses_2')).rejects.toThrow('A subagent may not')
    await guarded('turnbell_signals', 'ses_2')
    await guarded('turnbell_signals_pending', 'ses_1')
  })

  test.each([
    ['turnbell_signals', { action: 'pending' }],
    ['turnbell_tool_invoke', { name: 'signals_pending' }],
    ['turnbell_prism_signals_pending', {}],
  ])('is refused to a subagent as %s %j too', async (tool, args) => {
    await expect(guarded(tool, 'ses_2', args)).rejects.toThrow('A subagent may not')
    await guarded(tool, 'ses_1', args)
  })

  test('of another server is none of our business', async () => {
    await guarded('other_signals_pending', 'ses_2')
  })

  test('passes where it cannot be known whose it is', async () => {
    await guarded('turnbell_signals_pending', 'ses_unknown')
    const { given: broken, asked } = client()
    broken.session.get = async (of) => {
      asked.push(of)
      throw new Error('broken')
    }
    await drains(guardOn(broken), 'ses_2')
    expect(asked).toHaveLength(LIMITS.opencode_guard_tries)
  })

  test('is refused to a subagent that is looked up in vain at first', async () => {
    const { given: busy } = client([])
    let asked = 0
    busy.session.get = async (of) => {
      if (asked++ === 0) throw new Error('too busy')
      return given.session.get(of)
    }
    await expect(drains(guardOn(busy), 'ses_2')).rejects.toThrow('A subagent may not')
  })

  test('is refused to a subagent of which opencode told, without a question', async () => {
    const { given: silent, asked } = client([])
    const of = guardOn(silent)
    const told = (info: Session) =>
      of.told({ type: 'session.created', properties: { sessionID: info.id, info } })
    told(of_subagent)
    told(session('ses_1'))
    await expect(drains(of, 'ses_2')).rejects.toThrow('A subagent may not')
    await drains(of, 'ses_1')
    expect(asked).toEqual([])
    for (let n = 0; n < LIMITS.opencode_told_sessions_max; n++) told(session(`ses_of_${n}`))
    await drains(of, 'ses_2')
    expect(asked).toHaveLength(1)
  })
})

describe('the plugin', () => {
  test('is an object with a server, as opencode wants it', () => {
    expect(plugin).toMatchObject({ id: 'turnbell', server: expect.any(Function) as unknown })
  })

  test.each([
    ['no options', undefined, 'persona'],
    ['a name that is none', { persona: 'A B' }, 'persona'],
  ])('with %s says so in the log, and leaves opencode alone', async (_, options, what) => {
    const { given, logged } = client()
    expect(await plugin.server({ client: given, directory: DIRECTORY }, options)).toEqual({})
    expect(logged).toMatchObject([{ level: 'error', message: 'turnbell is not here' }])
    expect(String(logged[0]?.extra?.['err'])).toContain(what)
  })

  test('in an opencode of another kind says so, and leaves it alone', async () => {
    const { given, logged } = client()
    const other = { app: given.app, session: {} } as PluginClient
    const made = turnbellPlugin({ persona: 'ada', home: temporaryHome() })
    expect(await made.server({ client: other, directory: DIRECTORY })).toEqual({})
    expect(String(logged[0]?.extra?.['err'])).toContain('another API')
  })

  test('guards what it does not ring', async () => {
    const { given } = client()
    const made = turnbellPlugin({ persona: 'ada', home: temporaryHome() })
    const hooks = await made.server({ client: given, directory: DIRECTORY })
    expect(Object.keys(hooks).sort()).toEqual([
      ...['event', 'experimental.chat.system.transform', 'experimental.session.compacting'],
      ...['shell.env', 'tool.execute.before'],
    ])
  })

  test('leaves the system prompt as it is where no hub runs', async () => {
    const { given } = client([session('ses_1')])
    const made = turnbellPlugin({ persona: 'ada', home: temporaryHome() })
    const hooks = await made.server({ client: given, directory: DIRECTORY })
    const system = ['You are opencode']
    await hooks['experimental.chat.system.transform']!({ sessionID: 'ses_1' }, { system })
    expect(system).toEqual(['You are opencode'])
  })

  test('looks at what a tool is called with', async () => {
    const { given } = client([session('ses_2', { parentID: 'ses_1' })])
    const made = turnbellPlugin({ persona: 'ada', home: temporaryHome() })
    const hooks = await made.server({ client: given, directory: DIRECTORY })
    const before = hooks['tool.execute.before']!
    const call = { tool: 'turnbell_signals', sessionID: 'ses_2' }
    await expect(before(call, { args: { action: 'pending' } })).rejects.toThrow('A subagent may not')
    await before(call, { args: { action: 'send' } })
    await before(call)
  })

  test('hears of sessions, and leaves what it does not know', async () => {
    const { given } = client([])
    const made = turnbellPlugin({ persona: 'ada', home: temporaryHome() })
    const hooks = await made.server({ client: given, directory: DIRECTORY })
    const info = session('ses_2', { parentID: 'ses_1' })
    await hooks.event!({ event: { type: 'session.created', properties: { sessionID: 'ses_2', info } } })
    await hooks.event!({ event: { type: 'of tomorrow' } })
    const call = { tool: 'turnbell_signals_pending', sessionID: 'ses_2' }
    await expect(hooks['tool.execute.before']!(call)).rejects.toThrow('A subagent may not')
  })

  test('has a log that breaks nothing', async () => {
    const { given } = client()
    given.app.log = () => Promise.reject(new Error('no log'))
    ownLog(given).warn({ err: new Error('x') }, 'something')
    await atRest()
  })
})
