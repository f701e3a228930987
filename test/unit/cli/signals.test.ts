import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Cli } from '../../../src/cli/cli.ts'
import type { LogEntry } from '../../../src/cli/commands/log.ts'
import type { Problem } from '../../../src/contracts/errors/errors.ts'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { DrainedSignal } from '../../../src/contracts/signal.ts'
import { eagerClock } from '../../support/fakes/fake-clock.ts'
import { testCli, type FakeHub } from '../../support/processes/test-cli.ts'
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

/** For a command that follows: `end` ends it, like Ctrl-C. */
function endable(): { ending: Pick<Cli, 'onTermination'>; end: () => void } {
  let ask = () => {}
  const onTermination: Cli['onTermination'] = (call) => {
    ask = () => call('SIGINT')
    return () => {}
  }
  return { ending: { onTermination }, end: () => ask() }
}

describe('send', () => {
  const sending = (options: { input?: string; hub?: FakeHub; overrides?: Partial<Cli> } = {}) =>
    testCli({ home: temporaryDirectory(), hub: { 'signals.send': () => RECEIPT }, ...options })

  test('send sends only the given fields', async () => {
    const turnbell = sending()
    expect(await turnbell.run('send', '--to', 'ada', 'hello')).toBe(0)
    expect(turnbell.hubCalls).toEqual([
      {
        what: 'signals.send',
        params: {
          ...{ to: 'ada', intent: 'message', payload: 'hello', reply_to: 'operator' },
          idempotency_key: expect.stringMatching(/^cli:/) as string,
        },
        token: null,
      },
    ])
    expect(turnbell.stdout()).toContain(RECEIPT.signal_id)
    expect(await turnbell.run('send', '--to', 'ada', 'hello', '--json')).toBe(0)
    expect(turnbell.json()).toEqual(RECEIPT)
  })

  test('send sends every option', async () => {
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

  test('send reads its text from stdin without the last newline', async () => {
    const turnbell = sending({ input: 'two\nlines, ünïcode\n' })
    await turnbell.run('send', '--to', 'ada', '-')
    expect(turnbell.hubCalls[0]?.params['payload']).toBe('two\nlines, ünïcode')
  })

  test('send with an empty stdin is refused', async () => {
    const turnbell = sending({ input: '\n' })
    expect(await turnbell.run('send', '--to', 'ada', '-')).toBe(64)
    expect(turnbell.hubCalls).toEqual([])
  })

  test('send reads JSON from stdin', async () => {
    const turnbell = sending({ input: '{"n":1}\n' })
    await turnbell.run('send', '--to', 'ada', '--payload', '-')
    expect(turnbell.hubCalls[0]?.params['payload']).toEqual({ n: 1 })
  })

  test('send reads JSON with a byte order mark', async () => {
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
  ])('send refuses a number that would be rounded with its path: %j', async (words, why) => {
    const turnbell = sending()
    expect(await turnbell.run(...words, '--json')).toBe(2)
    expect(turnbell.json()).toMatchObject({
      code: 'params_invalid',
      detail: expect.stringContaining(why) as string,
    })
    expect(turnbell.hubCalls).toEqual([])
  })

  const payloadOf = (turnbell: { hubCalls: { params: Record<string, unknown> }[] }) =>
    turnbell.hubCalls[0]?.params['payload']

  test.each([[['--topic', 'x']], [['']], [[' \n']], [['', '--intent', 'x']]])(
    'send without a text is refused: %j',
    async (said) => {
      const turnbell = sending({ input: '' })
      expect(await turnbell.run('send', '--to', 'ada', ...said)).toBe(64)
      expect(turnbell.hubCalls).toEqual([])
    },
  )

  test.each([[[]], [['--intent', 'x']]])('send reads the text of a pipe by default: %j', async (said) => {
    const turnbell = sending({ input: 'piped text\n' })
    expect(await turnbell.run('send', '--to', 'ada', ...said)).toBe(0)
    expect(payloadOf(turnbell)).toBe('piped text')
  })

  test('send does not read a pipe if a text or JSON is given', async () => {
    for (const said of [['hello'], ['--payload', '"hello"']]) {
      const turnbell = sending({ input: 'piped' })
      expect(await turnbell.run('send', '--to', 'ada', ...said)).toBe(0)
      expect(payloadOf(turnbell)).toBe('hello')
    }
  })

  /** Returns the reading end of an open pipe without data. */
  function openPipe(): Cli['stdin'] {
    const file = path.join(temporaryDirectory(), 'pipe')
    execFileSync('mkfifo', [file])
    const fd = fs.openSync(file, fs.constants.O_RDWR | fs.constants.O_NONBLOCK)
    onTestFinished(() => fs.closeSync(fd))
    return Object.assign(new PassThrough(), { fd })
  }

  test.each([[['--intent', 'wake']], [[]]])(
    'send is refused if a pipe on stdin delivers no text in time: %j',
    async (words) => {
      const turnbell = sending({ overrides: { stdin: openPipe(), clock: eagerClock() } })
      expect(await turnbell.run('send', '--to', 'ada', ...words, '--json')).toBe(64)
      expect(turnbell.json<Problem>()).toMatchObject({
        code: 'usage_invalid',
        hint: expect.stringMatching(/Use - to wait.*--payload null/) as string,
      })
      expect(turnbell.hubCalls).toEqual([])
    },
  )

  test.each([
    [['--payload', '{"n":1}'], { n: 1 }],
    [['--payload', 'null'], null],
    [['hello'], 'hello'],
  ])('send does not wait for an open pipe if the payload is given: %j', async (words, payload) => {
    const turnbell = sending({ overrides: { stdin: openPipe() } })
    expect(await turnbell.run('send', '--to', 'ada', '--intent', 'wake', ...words)).toBe(0)
    expect(payloadOf(turnbell)).toEqual(payload)
    expect(turnbell.stderr()).toBe('')
  })

  test('send prints a note if stdin stays open without a pipe', async () => {
    const turnbell = sending({ overrides: { stdin: new PassThrough(), clock: eagerClock() } })
    expect(await turnbell.run('send', '--to', 'ada', '--intent', 'wake')).toBe(0)
    expect(payloadOf(turnbell)).toBeNull()
    expect(turnbell.stderr()).toContain('use - to wait for it')
  })

  test.each([
    [['--payload', 'null'], null],
    [['--payload', '""'], ''],
    [['--intent', 'wake'], null],
  ])('send accepts an empty payload: %j', async (said, payload) => {
    const turnbell = sending()
    expect(await turnbell.run('send', '--to', 'ada', ...said)).toBe(0)
    expect(payloadOf(turnbell)).toBe(payload)
  })

  test('send sets reply_to to the operator, except for a persona or to the operator', async () => {
    const replyTo = async (...said: string[]) => {
      const turnbell = sending()
      await turnbell.run('send', 'hello', ...said)
      return turnbell.hubCalls[0]?.params['reply_to']
    }
    expect(await replyTo('--to', 'ada')).toBe('operator')
    expect(await replyTo('--to', 'ada', '--reply-to', 'bob')).toBe('bob')
    expect(await replyTo('--to', 'ada', '--from', 'bob')).toBeUndefined()
    expect(await replyTo('--to', 'operator', '--from', 'bob')).toBeUndefined()
  })

  test('send waits for a restarting hub and repeats the request with the same key', async () => {
    const clock = eagerClock()
    let tries = 0
    const restarting = () => {
      tries += 1
      if (tries === 1) throw new TurnbellError('hub_stopping', { detail: 'it stops' })
      if (tries === 2) throw new TurnbellError('hub_unreachable', { detail: 'it is gone' })
      return RECEIPT
    }
    const turnbell = sending({ hub: { 'signals.send': restarting }, overrides: { clock } })
    expect(await turnbell.run('send', '--to', 'ada', 'hello')).toBe(0)
    expect(new Set(turnbell.hubCalls.map(({ params }) => JSON.stringify(params))).size).toBe(1)
    expect(turnbell.hubCalls).toHaveLength(3)
  })

  test('send stops after 10 s and starts no hub for a configured address', async () => {
    const away = () => {
      throw new TurnbellError('hub_unreachable', { detail: 'it is gone' })
    }
    const clock = eagerClock()
    const turnbell = sending({ hub: { 'signals.send': away }, overrides: { clock } })
    const began = clock.monotonic()
    expect(await turnbell.run('send', '--to', 'ada', 'hello')).toBe(69)
    expect(clock.monotonic() - began).toBe(LIMITS.hub_reach_ms)
    expect(turnbell.stderr()).not.toContain('turnbell down')
  })
})

describe('send --wait', () => {
  const VIEW = {
    ...{
      signal_id: RECEIPT.signal_id,
      seq: 7,
      to: 'ada',
      from: 'operator',
      origin: 'human',
      intent: 'message',
    },
    ...{ payload: 'hello', priority: 3, deliveries: 1, expires_at: '2026-02-01T00:00:00.000Z' },
    stages: {
      ...{ created_at: '2026-01-01T00:00:00.000Z', pushed_at: null, rung_at: null, seen_at: null },
      ...{ drained_at: null, confirmed_at: null, completed_at: null },
    },
  }
  const REPLY = {
    ...{
      ...VIEW,
      signal_id: '01JZ0000000000000000000002',
      seq: 9,
      to: 'operator',
      from: 'ada',
      origin: 'agent',
    },
    ...{ intent: 'reply', status: 'pending', in_reply_to: RECEIPT.signal_id },
  }
  const OTHER = {
    ...REPLY,
    signal_id: '01JZ0000000000000000000003',
    seq: 10,
    in_reply_to: '01JZ0000000000000000000004',
  }
  const asking = (statuses: (string | Error)[], more: object = {}) => {
    const clock = eagerClock()
    return testCli({
      home: temporaryDirectory(),
      overrides: { clock },
      hub: {
        'signals.send': () => RECEIPT,
        'signals.read': () => {
          const status = statuses.length > 1 ? statuses.shift() : statuses[0]
          if (status instanceof Error) throw status
          return { ...VIEW, status, ...more }
        },
        // The oldest waiting signal is not the reply; the reply is on the second page of the newest.
        'signals.inbox': ({ before_seq }) =>
          before_seq === undefined
            ? { signals: [OTHER], next: 10 }
            : { signals: [REPLY, { ...OTHER, seq: RECEIPT.seq - 1 }], next: RECEIPT.seq - 1 },
        'signals.ack': ({ signal_ids }) => ({ completed: signal_ids, already: [], unknown: [] }),
      },
    })
  }

  test('send --wait prints the result across a hub restart and removes the reply from the inbox', async () => {
    const away = new TurnbellError('hub_unreachable', { detail: 'it restarts' })
    const turnbell = asking(['pending', away, 'acked', 'completed'], { result: 'all green' })
    expect(await turnbell.run('send', '--to', 'ada', '--wait', '5m', 'green?')).toBe(0)
    expect(turnbell.stdout()).toBe('all green\n')
    expect(turnbell.hubCalls[0]?.params).toMatchObject({ payload: 'green?', reply_to: 'operator' })
    expect(turnbell.hubCalls.at(-1)).toMatchObject({
      what: 'signals.ack',
      params: { signal_ids: [REPLY.signal_id] },
    })
  })

  test('send --wait uses its value as the text unless it is a duration', async () => {
    const turnbell = asking(['completed'], { result: { n: 1 } })
    expect(await turnbell.run('send', '--to', 'ada', '--from', 'bob', '--json', '--wait', 'green?')).toBe(0)
    expect(turnbell.hubCalls[0]?.params).toMatchObject({ payload: 'green?', reply_to: 'operator' })
    expect(turnbell.json()).toMatchObject({ ...RECEIPT, status: 'completed', result: { n: 1 }, by: 'ada' })
    expect(await asking(['completed']).run('send', '--to', 'ada', '--wait', 'soon', 'green?')).toBe(64)
  })

  test.each(['pending', 'acked', 'expired', 'cancelled', 'dead'])(
    'send --wait for a signal that is %s exits 1',
    async (status) => {
      const turnbell = asking([status])
      expect(await turnbell.run('send', '--to', 'ada', '--wait', '3s', 'green?', '--json')).toBe(1)
      expect(turnbell.json<Problem>()).toMatchObject({ code: 'result_missing' })
    },
  )
})

describe('send --wait stopped by Ctrl-C', () => {
  const waiting = async (...words: string[]) => {
    const { ending, end } = endable()
    const turnbell = testCli({
      home: temporaryDirectory(),
      overrides: { clock: eagerClock(), ...ending },
      hub: {
        'signals.send': () => RECEIPT,
        'signals.read': () => {
          end()
          throw new TurnbellError('hub_unreachable', { detail: 'it restarts' })
        },
      },
    })
    expect(await turnbell.run('send', '--wait', '5m', 'green?', '--json', ...words)).toBe(130)
    expect(turnbell.stdout()).toBe('')
    return turnbell.stderr().trim().split('\n').slice(1)
  }

  test.each([
    [['--to', 'ada'], ['The answer will be sent to your inbox: `turnbell inbox`.']],
    [['--to', 'ada', '--from', 'bob'], ['The answer will be sent to your inbox: `turnbell inbox`.']],
    [['--to', 'ada', '--reply-to', 'cleo'], ['The answer will be sent to cleo.']],
    [['--to', 'operator'], []],
  ])('send --wait stopped by Ctrl-C prints where the answer will be sent: %j', async (words, said) => {
    expect(await waiting(...words)).toEqual(said)
  })
})

describe('the output of send', () => {
  const sending = (options: { input?: string; hub?: FakeHub } = {}) =>
    testCli({ home: temporaryDirectory(), hub: { 'signals.send': () => RECEIPT }, ...options })

  test('send reports why the recipient cannot be rung', async () => {
    const route = { live: false, reason: 'surface_absent' }
    const turnbell = sending({ hub: { 'signals.send': () => ({ ...RECEIPT, route }) } })
    await turnbell.run('send', '--to', 'ada', 'hello')
    expect(turnbell.stdout()).toContain('surface is not attached')
  })

  test.each([
    ['0', 'It rings no doorbell'],
    ['3', 'ada gets a doorbell'],
  ])('send with priority %s reports what follows', async (priority, what) => {
    const turnbell = sending({
      hub: { 'signals.send': () => ({ ...RECEIPT, route: { live: true, reason: null } }) },
    })
    await turnbell.run('send', '--to', 'ada', '--priority', priority, 'hello')
    expect(turnbell.stdout()).toContain(what)
  })

  test.each([
    ['usual', []],
    ['quiet', ['--priority', '0']],
  ])('send to the operator names the inbox for a %s signal', async (_, more) => {
    const route = { live: false, reason: 'no_binding' }
    const turnbell = sending({ hub: { 'signals.send': () => ({ ...RECEIPT, route }) } })
    await turnbell.run('send', '--to', 'operator', ...more, 'hello')
    expect(turnbell.stdout().split('\n')[1]).toContain('`turnbell inbox`')
  })

  test('a refused send exits 2 with the reason', async () => {
    const refuse = () => {
      throw new TurnbellError('target_wrapped', { detail: 'ada is wrapped' })
    }
    const turnbell = sending({ hub: { 'signals.send': refuse } })
    expect(await turnbell.run('send', '--to', 'ada', 'hello', '--json')).toBe(2)
    expect(turnbell.json<Problem>()).toMatchObject({ code: 'target_wrapped', detail: 'ada is wrapped' })
  })

  test('send with a wrong token exits 77', async () => {
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

  test('pending --take drains as the agent and confirms once stdout has accepted the output', async () => {
    const turnbell = testCli({ home: temporaryDirectory(), hub: hub(drained) })
    expect(await turnbell.run('pending', '--persona', 'ada', '--take', '--limit', '5')).toBe(0)
    expect(turnbell.hubCalls.slice(2)).toEqual([
      { what: 'signals.pending', params: { limit: 5, peek: false }, token: 'ada/agent' },
      { what: 'signals.pending', params: { confirm: DRAIN_ID, peek: true, limit: 1 }, token: 'ada/agent' },
    ])
    expect(turnbell.stdout()).toMatch(/review from bob[^]*"branch": "main"[^]*2 more signals wait/)
  })

  test('pending for an unknown persona is refused and adds none', async () => {
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

  test('pending uses a new session each time', async () => {
    const turnbell = testCli({ home: temporaryDirectory(), hub: hub(drained) })
    await turnbell.run('pending', '--persona', 'ada', '--take')
    await turnbell.run('pending', '--persona', 'ada', '--take')
    const sessions = turnbell.hubCalls
      .filter(({ what }) => what === '/auth/token')
      .map(({ params }) => params['session_id'])
    expect(new Set(sessions).size).toBe(2)
  })

  test('pending --take releases the signals if its reader is gone', async () => {
    const home = temporaryDirectory()
    const gone = new Writable({
      write(_chunk, _encoding, done) {
        done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
      },
    }).on('error', () => {})
    const turnbell = testCli({ home, hub: hub(drained), overrides: { stdout: gone } })
    expect(await turnbell.run('pending', '--persona', 'ada', '--take')).toBe(1)
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
  ] as const)(
    'pending --take reports a failed confirm with %s on stderr and exits %d',
    async (code, exit) => {
      const confirmFails = (params: Record<string, unknown>) => {
        if ('confirm' in params) throw new TurnbellError(code, { detail: 'gone by now', hint: 'try again' })
        return drained
      }
      const turnbell = testCli({
        home: temporaryDirectory(),
        hub: { ...hub(drained), 'signals.pending': confirmFails },
      })
      expect(await turnbell.run('pending', '--persona', 'ada', '--take', '--json')).toBe(exit)
      expect(turnbell.json()).toEqual(drained)
      expect(turnbell.stderr()).toMatch(/gone by now[^]*try again/)
    },
  )

  test.each([[[]], [['--peek']]])('pending without --take does not drain: %j', async (said) => {
    const turnbell = testCli({ home: temporaryDirectory(), hub: hub({ ...drained, drain_id: null }) })
    expect(await turnbell.run('pending', '--persona', 'ada', '--json', ...said)).toBe(0)
    expect(turnbell.hubCalls.map(({ what }) => what)).toEqual([
      'personas.get',
      '/auth/token',
      'signals.pending',
    ])
    expect(turnbell.hubCalls[2]?.params).toEqual({ limit: 20, peek: true })
    expect(turnbell.json<{ remaining: number }>().remaining).toBe(2)
  })

  test('pending refuses --take with --peek', async () => {
    const turnbell = testCli({ home: temporaryDirectory(), hub: hub(drained) })
    expect(await turnbell.run('pending', '--persona', 'ada', '--take', '--peek')).toBe(64)
    expect(turnbell.hubCalls).toEqual([])
  })

  test('pending --take reports the drain and expired signals', async () => {
    const expired = [
      { signal_id: SIGNAL.signal_id, from: 'bob', intent: 'deploy', expired_at: '2026-01-02T00:00:00.000Z' },
    ]
    const turnbell = testCli({ home: temporaryDirectory(), hub: hub({ ...drained, expired }) })
    await turnbell.run('pending', '--persona', 'ada', '--take')
    expect(turnbell.stderr()).toContain('Taken from the queue of ada: 1 signal.')
    expect(turnbell.stdout()).toContain('deploy from bob expired at 2026-01-02')
  })

  test('pending reports an empty queue', async () => {
    const nothing = { signals: [], remaining: 0, drain_id: null }
    const turnbell = testCli({ home: temporaryDirectory(), hub: hub(nothing) })
    await turnbell.run('pending', '--persona', 'ada')
    expect(turnbell.stdout()).toBe('Nothing waits for ada.\n')
  })
})

describe('inbox', () => {
  const MAIL = { ...SIGNAL, to: 'operator', payload: 'done' }
  const inbox = (drained: object, overrides: Partial<Cli> = {}) =>
    testCli({ home: temporaryDirectory(), hub: { 'signals.pending': () => drained }, overrides })

  test('inbox peeks as the operator and drains only with --take', async () => {
    const turnbell = inbox({ signals: [MAIL], remaining: 0, drain_id: null })
    expect(await turnbell.run('inbox')).toBe(0)
    expect(turnbell.stdout()).toMatch(/review from bob[^]*done/)
    const taking = inbox({ signals: [MAIL], remaining: 0, drain_id: DRAIN_ID })
    expect(await taking.run('inbox', '--take', '--limit', '5', '--json')).toBe(0)
    expect([...turnbell.hubCalls, ...taking.hubCalls].map(({ params }) => params)).toEqual([
      { limit: 20, peek: true },
      { limit: 5, peek: false },
      { confirm: DRAIN_ID, peek: true, limit: 1 },
    ])
    expect(taking.json()).toMatchObject({ signals: [MAIL] })
  })

  /** Returns a signal to the operator in the format of `signals inbox`. */
  const view = (seq: number, payload: string) => {
    const { created_at, ...mail } = MAIL
    const none = { pushed_at: null, rung_at: null, seen_at: null, drained_at: null, confirmed_at: null }
    return {
      ...{ ...mail, signal_id: `01JZ0000000000000000${String(seq).padStart(6, '0')}`, seq, payload },
      ...{ status: 'pending', expires_at: '2026-02-01T00:00:00.000Z' },
      stages: { created_at, ...none, completed_at: null },
    }
  }

  /** A hub with this inbox: a peek returns its oldest signals first, `signals inbox` its newest first. */
  const hubWith = (waiting: () => ReturnType<typeof view>[], peeked: number): FakeHub => ({
    'signals.pending': () => ({
      signals: waiting()
        .slice(0, peeked)
        .map((signal) => ({ ...MAIL, signal_id: signal.signal_id, payload: signal.payload })),
      remaining: Math.max(0, waiting().length - peeked),
      drain_id: null,
    }),
    'signals.inbox': ({ limit, before_seq, ...query }) => {
      expect(query).toEqual({ to: 'operator', status: ['pending'] })
      const older = waiting().filter(({ seq }) => seq < ((before_seq as number | undefined) ?? Infinity))
      const signals = older.reverse().slice(0, limit as number)
      return { signals, next: older.length > signals.length ? (signals.at(-1)?.seq ?? null) : null }
    },
  })

  /** Runs `inbox -f` over these states of the inbox, one for each poll; returns the printed payloads. */
  async function followed(looks: ReturnType<typeof view>[][], peeked = 100) {
    const { ending, end } = endable()
    let asked_at = -1
    let look = -1
    const clock = eagerClock()
    const hub = hubWith(() => {
      if (clock.now() !== asked_at) look += 1
      asked_at = clock.now()
      if (look >= looks.length - 1) end()
      return [...(looks[look] ?? [])]
    }, peeked)
    const turnbell = testCli({ home: temporaryDirectory(), hub, overrides: { clock, ...ending } })
    expect(await turnbell.run('inbox', '-f', '--json')).toBe(0)
    expect(turnbell.hubCalls.every(({ params }) => params['peek'] !== false)).toBe(true)
    const lines = turnbell.stdout().trim().split('\n')
    const payloads = lines.map((line) => DrainedSignal.parse(JSON.parse(line)).payload)
    return { payloads, notes: turnbell.stderr() }
  }

  test('inbox -f prints new signals in order while more are pending than a peek returns', async () => {
    const old = Array.from({ length: 5 }, (_, at) => view(at + 1, `old ${at + 1}`))
    const arrived = Array.from({ length: 50 }, (_, at) => view(at + 6, `new ${at + 6}`))
    const { payloads, notes } = await followed([old, old, [...old, ...arrived], [...old, ...arrived]], 3)
    expect(payloads).toEqual(['old 1', 'old 2', 'old 3', ...arrived.map(({ payload }) => payload)])
    expect(notes).toBe('2 more signals wait.\n')
  })

  test('inbox -f prints a signal once that arrives during its first poll', async () => {
    const { ending, end } = endable()
    const both = [view(1, 'one'), view(2, 'two')]
    let requests = 0
    const hub = hubWith(() => {
      requests += 1
      if (requests === 6) end()
      return requests === 1 ? [view(1, 'one')] : [...both]
    }, 100)
    const overrides = { clock: eagerClock(), ...ending }
    const turnbell = testCli({ home: temporaryDirectory(), hub, overrides })
    expect(await turnbell.run('inbox', '-f', '--json')).toBe(0)
    expect(turnbell.stdout().trim().split('\n')).toHaveLength(2)
  })

  test('inbox -f prints each signal once across a hub restart', async () => {
    const { ending, end } = endable()
    let looks = 0
    const hub = hubWith(() => (looks < 3 ? [view(1, 'done')] : [view(1, 'done'), view(2, 'later')]), 100)
    const turnbell = testCli({
      home: temporaryDirectory(),
      overrides: { clock: eagerClock(), ...ending },
      hub: {
        ...hub,
        'signals.inbox': (params, call) => {
          looks += 1
          if (looks === 2) throw new TurnbellError('hub_unreachable', { detail: 'it restarts' })
          if (looks === 4) end()
          return hub['signals.inbox']?.(params, call)
        },
      },
    })
    expect(await turnbell.run('inbox', '-f', '--json')).toBe(0)
    const lines = turnbell.stdout().trim().split('\n')
    expect(lines.map((line) => (JSON.parse(line) as { payload: string }).payload)).toEqual(['done', 'later'])
  })

  test.each([
    ['prints a signal that was replayed after it was taken', true, 2],
    ['does not print again what it could not confirm', false, 1],
  ])('inbox -f --take %s', async (_, confirms, lines) => {
    const { ending, end } = endable()
    let drains = 0
    const turnbell = testCli({
      home: temporaryDirectory(),
      overrides: { clock: eagerClock(), ...ending },
      hub: {
        'signals.pending': ({ confirm }) => {
          if (confirm !== undefined && !confirms)
            throw new TurnbellError('hub_unreachable', { detail: 'it restarts' })
          if (confirm !== undefined) return { signals: [], remaining: 0, drain_id: null }
          drains += 1
          if (drains === 2) end()
          return { signals: [MAIL], remaining: 0, drain_id: DRAIN_ID }
        },
      },
    })
    expect(await turnbell.run('inbox', '-f', '--take', '--json')).toBe(0)
    expect(turnbell.stdout().trim().split('\n')).toHaveLength(lines)
  })
})

describe('cancel and log', () => {
  test('cancel names the recipient and is refused after a drain', async () => {
    const signal_id = SIGNAL.signal_id
    const turnbell = testCli({
      home: temporaryDirectory(),
      hub: { 'signals.cancel': () => ({ signal_id, to: 'ada', status: 'cancelled' }) },
    })
    expect(await turnbell.run('cancel', signal_id)).toBe(0)
    expect(turnbell.hubCalls[0]?.params).toEqual({ signal_id })
    expect(turnbell.stdout()).toContain('cancelled')
    expect(await turnbell.run('cancel', 'nonsense')).toBe(64)
    const taken = () => {
      throw new TurnbellError('signal_taken', { detail: 'It is acked.' })
    }
    const refused = testCli({ home: temporaryDirectory(), hub: { 'signals.cancel': taken } })
    expect(await refused.run('cancel', signal_id, '--json')).toBe(2)
    expect(refused.json<Problem>().code).toBe('signal_taken')
  })

  /** The signals are one day apart. */
  const timeOf = (seq: number) => new Date(Date.UTC(2026, 0, seq)).toISOString()
  const view = (seq: number, status: string, more: object = {}) => ({
    ...{ signal_id: `01JZ0000000000000000${String(seq).padStart(6, '0')}`, seq, to: 'ada', from: 'bob' },
    ...{ origin: 'agent', intent: 'review', payload: 'secret', priority: 3, status, deliveries: 0 },
    expires_at: '2026-01-03T00:00:00.000Z',
    stages: {
      ...{ created_at: timeOf(seq), pushed_at: null, rung_at: null, seen_at: null },
      ...{ drained_at: null, confirmed_at: null, completed_at: null, ...more },
    },
  })

  test('log prints the history, oldest first and without payloads', async () => {
    const page = {
      signals: [view(3, 'expired'), view(2, 'pending', { rung_at: '2026-01-02T00:00:05.000Z' })],
      next: null,
    }
    const turnbell = testCli({ home: temporaryDirectory(), hub: { 'signals.inbox': () => page } })
    expect(await turnbell.run('log', '--json')).toBe(0)
    expect(turnbell.json()).toMatchObject({
      signals: [
        { at: '2026-01-02T00:00:00.000Z', from: 'bob', to: 'ada', intent: 'review', stage: 'rung' },
        { stage: 'expired', stage_at: '2026-01-03T00:00:00.000Z' },
      ],
    })
    expect(turnbell.stdout()).not.toContain('secret')
    expect(await turnbell.run('log', '--since', '2026-01-03')).toBe(0)
    expect(turnbell.stdout().trim().split('\n')).toHaveLength(2)
    expect(await turnbell.run('log', '--persona', 'ada')).toBe(0)
    expect(turnbell.hubCalls.slice(-2).map(({ params }) => params)).toEqual([
      { to: 'ada', limit: 50 },
      { from: 'ada', limit: 50 },
    ])
    expect(await turnbell.run('log', '--since', 'yesterday')).toBe(64)
  })

  /** Runs `log -f` over these histories, one for each poll; returns the printed signals and stages. */
  async function followed(histories: ReturnType<typeof view>[][], ...words: string[]) {
    const { ending, end } = endable()
    const turnbell = testCli({
      home: temporaryDirectory(),
      overrides: { clock: eagerClock(), ...ending },
      hub: {
        'signals.inbox': ({ limit }) => {
          const newest = [...(histories.shift() ?? [])].sort((one, other) => other.seq - one.seq)
          if (histories.length === 0) end()
          return { signals: newest.slice(0, limit as number), next: null }
        },
      },
    })
    expect(await turnbell.run('log', '-f', '--json', ...words)).toBe(0)
    expect(turnbell.stdout()).not.toContain('secret')
    const lines = turnbell.stdout().trim().split('\n')
    return lines.map((line) => JSON.parse(line) as LogEntry).map(({ seq, stage }) => `${seq} ${stage}`)
  }
  const views = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, at) => view(from + at, 'pending'))

  test('log -f prints a signal again at each new stage, and only then', async () => {
    const rung = view(1, 'pending', { rung_at: timeOf(2) })
    const drained = view(1, 'acked', { drained_at: timeOf(3) })
    expect(await followed([[view(1, 'pending')], [view(1, 'pending')], [rung], [rung], [drained]])).toEqual([
      ...['1 pending', '1 rung', '1 drained'],
    ])
  })

  const delivered = { pushed_at: timeOf(2), rung_at: timeOf(3), seen_at: timeOf(4), drained_at: timeOf(5) }
  const cameBack = { ...view(1, 'pending', delivered), deliveries: 1 }

  test('log prints a released signal as pending with its deliveries', async () => {
    const page = { signals: [cameBack], next: null }
    const turnbell = testCli({ home: temporaryDirectory(), hub: { 'signals.inbox': () => page } })
    expect(await turnbell.run('log', '--json')).toBe(0)
    expect(turnbell.json()).toMatchObject({
      signals: [{ status: 'pending', stage: 'pending', stage_at: timeOf(5), deliveries: 1 }],
    })
    expect(await turnbell.run('log')).toBe(0)
    expect(turnbell.stdout()).toContain('  pending, deliveries 1  ')
  })

  test('log -f prints a released signal again although no poll saw its drain', async () => {
    const drained = { ...view(1, 'acked', delivered), deliveries: 1 }
    const first = view(1, 'pending')
    expect(await followed([[first], [drained], [cameBack], [cameBack]])).toEqual([
      ...['1 pending', '1 drained', '1 pending'],
    ])
    expect(await followed([[first], [cameBack], [{ ...cameBack, deliveries: 2 }]])).toEqual([
      ...['1 pending', '1 pending', '1 pending'],
    ])
  })

  test('log -f prints no older signals in later polls', async () => {
    const first = views(1, 20)
    const second = [...first.slice(0, 4), view(5, 'cancelled'), ...first.slice(5), ...views(21, 21)]
    expect(await followed([first, second, second], '--limit', '2')).toEqual([
      ...['19 pending', '20 pending'],
      ...['5 cancelled', '21 pending'],
    ])
  })

  test('log -f prints no signal that returns to its page after a removal', async () => {
    const page = LIMITS.inbox_limit_max
    const all = views(1, page + 5)
    const without = [...all.slice(0, -5), ...views(page + 6, page + 6)]
    expect(await followed([all, without], '--limit', '1')).toEqual([
      `${page + 5} pending`,
      `${page + 6} pending`,
    ])
  })
})

describe('call', () => {
  afterEach(() => vi.restoreAllMocks())

  test('call passes parameters and prints the result', async () => {
    const turnbell = testCli({
      home: temporaryDirectory(),
      input: '{"to":"ada"}',
      hub: { 'signals.inbox': (params) => ({ got: params }) },
    })
    expect(await turnbell.run('call', 'signals', 'inbox', '--params', '-', '--json')).toBe(0)
    expect(turnbell.json()).toEqual({ got: { to: 'ada' } })
    expect(turnbell.hubCalls).toEqual([expect.not.objectContaining({ scope: expect.anything() as string })])
  })

  test('call that skips an id reports it and exits 1', async () => {
    const unknown = [SIGNAL.signal_id]
    const turnbell = testCli({
      home: temporaryDirectory(),
      hub: { 'signals.release': () => ({ released: [], unknown }) },
    })
    const params = JSON.stringify({ signal_ids: unknown })
    expect(await turnbell.run('call', 'signals', 'release', '--params', params, '--json')).toBe(1)
    expect(turnbell.json()).toEqual({ released: [], unknown })
    expect(turnbell.stderr()).toContain(SIGNAL.signal_id)
  })

  test('call prints JSON of the hub without control characters', async () => {
    const got = { topic: '\u009b2J\u001b[2J\u007f', text: 'zażółć\n' }
    const turnbell = testCli({ home: temporaryDirectory(), hub: { 'signals.inbox': () => got } })
    expect(await turnbell.run('call', 'signals', 'inbox')).toBe(0)
    expect(turnbell.stdout()).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
    expect(turnbell.json()).toEqual(got)
  })

  test('call --wait is limited to its maximum', async () => {
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

  test('call --scope accepts a relative directory or the name of a project', async () => {
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

  test('call --scope with the name of a directory suggests ./NAME', async () => {
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

  test.each([[''], ['a\nb'], ['x'.repeat(1_025)]])('call refuses the invalid scope %j', async (scope) => {
    const turnbell = testCli({ home: temporaryDirectory(), hub: { 'sentinel.list_issues': () => ({}) } })
    expect(await turnbell.run('call', 'sentinel', 'list_issues', '--scope', scope)).toBe(64)
    expect(turnbell.hubCalls).toEqual([])
  })
})
