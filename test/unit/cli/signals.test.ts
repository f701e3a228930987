import fs from 'node:fs'
import path from 'node:path'
import { Writable } from 'node:stream'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Problem } from '../../../src/contracts/errors.ts'
import { TurnbellError } from '../../../src/contracts/errors.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { testCli, type FakeHub } from '../../support/test-cli.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const RECEIPT = {
  signal_id: '01JZ0000000000000000000001',
  durable: true,
  seq: 7,
  status: 'pending',
  route: { live: true, reason: null },
}
const DRAIN_ID = '01JZ000000000000000000000D'
const SIGNAL = {
  signal_id: '01JZ0000000000000000000001',
  from: 'bob',
  origin: 'agent',
  to: 'ada',
  intent: 'review',
  payload: { branch: 'main' },
  priority: 3,
  created_at: '2026-01-01T00:00:00.000Z',
  deliveries: 1,
}

describe('send', () => {
  const sending = (options: { input?: string; hub?: FakeHub } = {}) =>
    testCli({ home: temporaryDirectory(), hub: { 'signals.send': () => RECEIPT }, ...options })

  test('says only what was said', async () => {
    const turnbell = sending()
    expect(await turnbell.run('send', '--to', 'ada', 'hello')).toBe(0)
    expect(turnbell.hubCalls).toEqual([
      { what: 'signals.send', params: { to: 'ada', intent: 'message', payload: 'hello' }, token: null },
    ])
    expect(turnbell.stdout()).toContain(RECEIPT.signal_id)
    expect(await turnbell.run('send', '--to', 'ada', 'hello', '--json')).toBe(0)
    expect(turnbell.json()).toEqual(RECEIPT)
  })

  test('passes on every option', async () => {
    const turnbell = sending()
    await turnbell.run(
      ...['send', '--to', 'ada', '--from', 'bob', '--intent', 'review.request', '--priority', '0'],
      ...['--topic', 'shop', '--reply-to', 'cleo', '--ttl', '2h', '--to-session', 's 1', '--require-live'],
      ...['--idempotency-key', 'k1', '--payload', '{"a":[1,null]}'],
    )
    expect(turnbell.hubCalls[0]?.params).toEqual({
      to: 'ada',
      from: 'bob',
      intent: 'review.request',
      priority: 0,
      topic: 'shop',
      reply_to: 'cleo',
      ttl_s: 7200,
      to_session: 's 1',
      require_live: true,
      idempotency_key: 'k1',
      payload: { a: [1, null] },
    })
  })

  test('reads its text from stdin, without the last line end', async () => {
    const turnbell = sending({ input: 'two\nlines, ünïcode\n' })
    await turnbell.run('send', '--to', 'ada', '-')
    expect(turnbell.hubCalls[0]?.params['payload']).toBe('two\nlines, ünïcode')
  })

  test('of an empty stdin is refused, and nothing is sent', async () => {
    const turnbell = sending({ input: '\n' })
    expect(await turnbell.run('send', '--to', 'ada', '-')).toBe(64)
    expect(turnbell.hubCalls).toEqual([])
  })

  test('reads JSON from stdin', async () => {
    const turnbell = sending({ input: '{"n":1}\n' })
    await turnbell.run('send', '--to', 'ada', '--payload', '-')
    expect(turnbell.hubCalls[0]?.params['payload']).toEqual({ n: 1 })
  })

  test('reads JSON that an editor has put a mark in front of', async () => {
    const file = path.join(temporaryDirectory(), 'payload.json')
    fs.writeFileSync(file, '\uFEFF{"n":1}')
    const turnbell = sending()
    await turnbell.run('send', '--to', 'ada', '--payload', `@${file}`)
    expect(turnbell.hubCalls[0]?.params['payload']).toEqual({ n: 1 })
  })

  test.each([
    [
      ['send', '--to', 'ada', '--payload', '{"id":9007199254740993}'],
      '--payload: id: 9007199254740993 is beyond 2^53',
    ],
    [
      ['call', 'signals', 'send', '--params', '{"payload":[1e400]}'],
      '--params: payload.0: 1e400 is beyond the range',
    ],
  ])('a number that would be rounded is refused with its path: %j', async (words, why) => {
    const turnbell = sending()
    expect(await turnbell.run(...words, '--json')).toBe(2)
    expect(turnbell.json()).toMatchObject({
      code: 'params_invalid',
      detail: expect.stringContaining(why) as string,
    })
    expect(turnbell.hubCalls).toEqual([])
  })

  test.each(['', 'a text that nobody asked for\n'])(
    'that says nothing is refused, whatever is on stdin: %j',
    async (input) => {
      const turnbell = sending({ input })
      expect(await turnbell.run('send', '--to', 'ada', '--topic', 'x')).toBe(64)
      expect(turnbell.hubCalls).toEqual([])
      expect(turnbell.stderr()).toContain('There is nothing to send: no text was given.')
      expect(turnbell.stderr()).toContain('- reads it from stdin')
    },
  )

  test.each([
    [[''], ''],
    [['--payload', 'null'], null],
    [['--payload', '""'], ''],
  ])('says nothing on purpose: %j', async (said, payload) => {
    const turnbell = sending()
    expect(await turnbell.run('send', '--to', 'ada', ...said)).toBe(0)
    expect(turnbell.hubCalls[0]?.params).toEqual({ to: 'ada', intent: 'message', payload })
  })

  test('without a text is a bare notice', async () => {
    const turnbell = sending()
    await turnbell.run('send', '--to', 'ada', '--intent', 'wake')
    expect(turnbell.hubCalls[0]?.params).toEqual({ to: 'ada', intent: 'wake', payload: null })
  })

  test('says why nobody will be rung', async () => {
    const route = { live: false, reason: 'surface_absent' }
    const turnbell = sending({ hub: { 'signals.send': () => ({ ...RECEIPT, route }) } })
    await turnbell.run('send', '--to', 'ada', 'hello')
    expect(turnbell.stdout()).toContain('surface is not attached')
  })

  test.each([
    ['0', 'It rings nobody: it waits until ada drains next.'],
    ['3', 'ada will be rung at once, or when the turn ends that runs.'],
  ])('of priority %s says what follows', async (priority, what) => {
    const turnbell = sending({
      hub: { 'signals.send': () => ({ ...RECEIPT, route: { live: true, reason: null } }) },
    })
    await turnbell.run('send', '--to', 'ada', '--priority', priority, 'hello')
    expect(turnbell.stdout()).toContain(what)
  })

  test('is refused with exit 2 and the reason', async () => {
    const refuse = () => {
      throw new TurnbellError('target_wrapped', { detail: 'ada is wrapped' })
    }
    const turnbell = sending({ hub: { 'signals.send': refuse } })
    expect(await turnbell.run('send', '--to', 'ada', 'hello', '--json')).toBe(2)
    expect(turnbell.json<Problem>()).toMatchObject({ code: 'target_wrapped', detail: 'ada is wrapped' })
  })

  test('with a wrong token ends with 77', async () => {
    const refuse = () => {
      throw new TurnbellError('token_invalid', { detail: 'not ours' })
    }
    expect(await sending({ hub: { 'signals.send': refuse } }).run('send', '--to', 'ada', 'x')).toBe(77)
  })
})

describe('pending', () => {
  const hub = (drained: object): FakeHub => ({
    '/auth/token': ({ identity, kind }) => ({
      token: `${String(identity)}/${String(kind)}`,
      expires_in: 3600,
    }),
    'personas.get': ({ identity }) => ({ identity }),
    'signals.pending': () => drained,
    'signals.release': () => ({ released: [], unknown: [] }),
  })
  const drained = { signals: [SIGNAL], remaining: 2, drain_id: DRAIN_ID }

  test('drains as the agent and confirms once stdout has it', async () => {
    const turnbell = testCli({ home: temporaryDirectory(), hub: hub(drained) })
    expect(await turnbell.run('pending', '--persona', 'ada', '--limit', '5')).toBe(0)
    expect(turnbell.hubCalls.slice(2)).toEqual([
      { what: 'signals.pending', params: { limit: 5, peek: false }, token: 'ada/agent' },
      { what: 'signals.pending', params: { confirm: DRAIN_ID, peek: true, limit: 1 }, token: 'ada/agent' },
    ])
    expect(turnbell.stdout()).toMatch(/review from bob[^]*"branch": "main"[^]*2 more signals wait/)
  })

  test('for a persona that nobody knows is refused, and makes none', async () => {
    const unknown = () => {
      throw new TurnbellError('target_unknown', { detail: 'There is no persona nobody.' })
    }
    const turnbell = testCli({
      home: temporaryDirectory(),
      hub: { ...hub(drained), 'personas.get': unknown },
    })
    expect(await turnbell.run('pending', '--persona', 'nobody')).toBe(2)
    expect(turnbell.hubCalls.map(({ what }) => what)).toEqual(['personas.get'])
  })

  test('is a session of its own each time, so that none confirms what another could not show', async () => {
    const turnbell = testCli({ home: temporaryDirectory(), hub: hub(drained) })
    await turnbell.run('pending', '--persona', 'ada')
    await turnbell.run('pending', '--persona', 'ada')
    const sessions = turnbell.hubCalls
      .filter(({ what }) => what === '/auth/token')
      .map(({ params }) => params['session_id'])
    expect(new Set(sessions).size).toBe(2)
  })

  test('gives the signals back when its reader is gone, and confirms nothing', async () => {
    const home = temporaryDirectory()
    const gone = new Writable({
      write(_chunk, _encoding, done) {
        done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
      },
    }).on('error', () => {})
    const turnbell = testCli({ home, hub: hub(drained), overrides: { stdout: gone } })
    expect(await turnbell.run('pending', '--persona', 'ada')).toBe(1)
    expect(turnbell.hubCalls.map(({ what }) => what)).toEqual([
      'personas.get',
      '/auth/token',
      'signals.pending',
      'signals.release',
    ])
    expect(turnbell.hubCalls[3]?.params).toEqual({ signal_ids: [SIGNAL.signal_id] })
    expect(turnbell.stderr()).toBe('')
  })

  test.each([
    ['hub_unreachable', 69],
    ['store_unavailable', 1],
  ] as const)('says on stderr alone that the confirm failed: %s ends with %d', async (code, exit) => {
    const confirmFails = (params: Record<string, unknown>) => {
      if ('confirm' in params) throw new TurnbellError(code, { detail: 'gone by now', hint: 'try again' })
      return drained
    }
    const turnbell = testCli({
      home: temporaryDirectory(),
      hub: { ...hub(drained), 'signals.pending': confirmFails },
    })
    expect(await turnbell.run('pending', '--persona', 'ada', '--json')).toBe(exit)
    expect(turnbell.json()).toEqual(drained)
    expect(turnbell.stderr()).toMatch(/gone by now[^]*try again/)
  })

  test('only looks with --peek', async () => {
    const turnbell = testCli({ home: temporaryDirectory(), hub: hub({ ...drained, drain_id: null }) })
    await turnbell.run('pending', '--persona', 'ada', '--peek', '--json')
    expect(turnbell.hubCalls.map(({ what }) => what)).toEqual([
      'personas.get',
      '/auth/token',
      'signals.pending',
    ])
    expect(turnbell.hubCalls[2]?.params).toEqual({ limit: 20, peek: true })
    expect(turnbell.json<{ remaining: number }>().remaining).toBe(2)
  })

  test('says that nothing waits', async () => {
    const nothing = { signals: [], remaining: 0, drain_id: null }
    const turnbell = testCli({ home: temporaryDirectory(), hub: hub(nothing) })
    await turnbell.run('pending', '--persona', 'ada')
    expect(turnbell.stdout()).toBe('Nothing waits for ada.\n')
  })
})

describe('call', () => {
  afterEach(() => vi.restoreAllMocks())

  test('passes parameters on and prints the bare result', async () => {
    const turnbell = testCli({
      home: temporaryDirectory(),
      input: '{"to":"ada"}',
      hub: { 'signals.inbox': (params) => ({ got: params }) },
    })
    expect(await turnbell.run('call', 'signals', 'inbox', '--params', '-', '--json')).toBe(0)
    expect(turnbell.json()).toEqual({ got: { to: 'ada' } })
    expect(turnbell.hubCalls).toEqual([expect.not.objectContaining({ scope: expect.anything() as string })])
  })

  test("cannot move the reader's cursor, and still is the JSON that the hub gave", async () => {
    const got = { topic: '\u009b2J\u001b[2J\u007f', text: 'zażółć\n' }
    const turnbell = testCli({ home: temporaryDirectory(), hub: { 'signals.inbox': () => got } })
    expect(await turnbell.run('call', 'signals', 'inbox')).toBe(0)
    expect(turnbell.stdout()).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
    expect(turnbell.json()).toEqual(got)
  })

  test('waits as long as it is told, and no longer than it can', async () => {
    const turnbell = testCli({ home: temporaryDirectory(), hub: { 'routine.run': () => ({ ok: true }) } })
    const patience = vi.spyOn(AbortSignal, 'timeout')
    expect(await turnbell.run('call', 'routine', 'run', '--wait', '90s')).toBe(0)
    expect(await turnbell.run('call', 'routine', 'run')).toBe(0)
    expect(patience.mock.calls).toEqual([[90_000], [LIMITS.hub_answer_ms]])
    for (const [wait, why] of [
      ['0', 'must be a duration'],
      ['5m', 'at most 4m'],
    ] as const) {
      expect(await turnbell.run('call', 'routine', 'run', '--wait', wait)).toBe(64)
      expect(turnbell.stderr()).toContain(why)
    }
    expect(turnbell.hubCalls).toHaveLength(2)
  })

  test('says what it is about: a directory, seen from here, or a project by its name', async () => {
    const home = temporaryDirectory()
    const turnbell = testCli({ home, hub: { 'sentinel.list_issues': () => ({}) } })
    const said = ['.', './app/', '../x', '/projects/app', 'shop', 'portfolio', '/projects/größe']
    for (const scope of said)
      expect(await turnbell.run('call', 'sentinel', 'list_issues', '--scope', scope)).toBe(0)
    expect(turnbell.hubCalls.map(({ scope }) => Buffer.from(scope ?? '', 'latin1').toString())).toEqual([
      ...[
        home,
        path.join(home, 'app'),
        path.join(path.dirname(home), 'x'),
        '/projects/app',
        'shop',
        'portfolio',
      ],
      '/projects/größe',
    ])
  })

  test('of a word that only a directory here has for its name says how to name that', async () => {
    const home = temporaryDirectory()
    fs.mkdirSync(path.join(home, 'repo'))
    const refuse = () => {
      throw new TurnbellError('project_unknown', { detail: 'The hub knows no such project.' })
    }
    const turnbell = testCli({ home, hub: { 'sentinel.list_issues': refuse } })
    const hint = async (scope: string) => {
      expect(await turnbell.run('call', 'sentinel', 'list_issues', '--scope', scope, '--json')).toBe(2)
      return turnbell.json<{ hint: string }>().hint
    }
    expect(await hint('repo')).toContain('--scope ./repo')
    expect(await hint('nowhere')).not.toContain('./')
    expect(await hint('./repo')).not.toContain('--scope ./')
  })

  test.each([[''], ['a\nb'], ['x'.repeat(1_025)]])('refuses a scope that is none: %j', async (scope) => {
    const turnbell = testCli({ home: temporaryDirectory(), hub: { 'sentinel.list_issues': () => ({}) } })
    expect(await turnbell.run('call', 'sentinel', 'list_issues', '--scope', scope)).toBe(64)
    expect(turnbell.hubCalls).toEqual([])
  })
})
