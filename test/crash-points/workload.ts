/**
 * The recorded workload: a hub changes files of its home and of a project through its API. Signals and spooled lines
 * run a second time at the end, on the state that everything else has left.
 */
import { once } from 'node:events'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import WebSocket from 'ws'
import { DRAIN_TOOL } from '../../src/contracts/drain-calls.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { SignalView } from '../../src/contracts/signal.ts'
import { DAY_MS } from '../../src/ports/clock.ts'
import type { Hand, Stage } from './play.ts'

interface Drained {
  signals: { signal_id: string }[]
  drain_id: string | null
}

const PERSONAS = ['ada', 'bob', 'cyd']
/** Long enough for the next sweep to finish. */
const SWEEP_MS = LIMITS.sweep_interval_ms + 100

export async function workload(stage: Stage): Promise<void> {
  const { step, order } = stage
  await step('first start', (hand) => hand.during(stage.start))
  for (const identity of PERSONAS) {
    await step(`add ${identity}`, (hand) =>
      hand.call('personas/add', { identity, surface: 'mcp', project: stage.places.project }),
    )
  }
  await signals(stage)
  await records(stage)
  await step('restart', (hand) => hand.during(() => restart(stage)))
  await memory(stage)
  await leftBehind(stage)
  await overDoors(stage)
  await step('killed, and started again', (hand) =>
    hand.during(async () => {
      await stage.kill()
      await stage.start()
    }),
  )
  await aWeekLater(stage)
  await signals(stage)
  await leftBehind(stage)
  await step('bob is wrapped', (hand) => hand.call('personas/wrap', { identity: 'bob' }))
  await step('stop', (hand) => hand.during(() => order({ do: 'stop' })))
}

async function restart({ order, start }: Stage): Promise<void> {
  await order({ do: 'stop' })
  await start()
}

const text = (length: number) => 'x'.repeat(length)

/** From the first send to every final state of a signal. */
async function signals({ step, token, order }: Stage): Promise<void> {
  const bob = await token('bob', 'bob-1')
  const drain = (hand: Hand, params: object) => hand.call<Drained>('signals/pending', params, bob)
  const [, , ...more] = await step('eight are sent at once', ({ send }) =>
    Promise.all(
      Array.from({ length: 8 }, (_, number) =>
        send({
          to: 'bob',
          from: number % 2 === 0 ? 'ada' : 'cyd',
          priority: number % 3,
          payload: text(number * 60),
        }),
      ),
    ),
  )
  const key = `once-${more[0]}`
  await step('one with a key', ({ send }) =>
    send({ to: 'bob', from: 'ada', idempotency_key: key, reply_to: 'ada' }),
  )
  await step('the same again', ({ send }) =>
    send({ to: 'bob', from: 'ada', idempotency_key: key, reply_to: 'ada' }),
  )
  await step('a broadcast', ({ call }) =>
    call('signals/broadcast', { intent: 'news', payload: text(200), from: 'operator' }),
  )
  await step('a broadcast with a key', ({ call }) =>
    call('signals/broadcast', { intent: 'news', from: 'ada', idempotency_key: key, to: ['bob', 'cyd'] }),
  )
  const first = await step('bob drains', (hand) => drain(hand, { limit: 4 }))
  await step('bob confirms', (hand) => drain(hand, { peek: true, confirm: first.drain_id }))
  await step('bob completes', ({ call }) =>
    call(
      'signals/ack',
      { signal_ids: first.signals.map(({ signal_id }) => signal_id), result: { ok: true } },
      bob,
    ),
  )
  const second = await step('bob drains again', (hand) => drain(hand, { limit: 3 }))
  await step('bob gives one back', ({ call }) =>
    call('signals/release', { signal_ids: [second.signals[0]?.signal_id] }, bob),
  )
  // The next request confirms the drain; the confirmation is written after its response.
  await step('bob drains more, which confirms', async (hand) => {
    await drain(hand, { limit: 20 })
    await hand.call('signals/read', { signal_id: second.signals[1]?.signal_id }, bob)
    await hand.during(() => Promise.resolve())
  })
  const ada = await token('ada', 'ada-1')
  await step('one for ada', ({ send }) => send({ to: 'ada', from: 'cyd', payload: text(300) }))
  for (let time = 0; time <= LIMITS.deliveries_max; time += 1) {
    const { signals: taken } = await step('ada drains', ({ call }) =>
      call<Drained>('signals/pending', {}, ada),
    )
    await step('ada gives them back', ({ call }) =>
      call('signals/release', { signal_ids: taken.map(({ signal_id }) => signal_id) }, ada),
    )
  }
  await step('the dead are put back', async ({ call }) => {
    const { signals: dead } = await call<{ signals: { signal_id: string }[] }>('signals/inbox', {
      ...{ to: 'ada', status: ['dead'] },
    })
    return call('signals/replay', { signal_ids: dead.map(({ signal_id }) => signal_id) })
  })
  await step('some are short-lived', ({ send }) =>
    Promise.all(PERSONAS.map((to) => send({ to, from: 'operator', ttl_s: 2, payload: text(100) }))),
  )
  await step('their time is over', ({ during }) => during(() => order({ do: 'advance', ms: SWEEP_MS })))
}

/** Records of the home, and record kinds of a project without further logic. */
async function records({ step, token }: Stage): Promise<void> {
  const [ada, bob] = [await token('ada', 'ada-1'), await token('bob', 'bob-1')]
  await step('ada tells of herself', ({ call }) => call('coordinator/register', { purpose: 'parser' }, ada))
  await step('ada locks', ({ call }) => call('coordinator/lock', { resource: 'src/parser', ttl_s: 60 }, ada))
  await step('bob locks', ({ call }) => call('coordinator/lock', { resource: 'src/lexer', ttl_s: 900 }, bob))
  await step('ada unlocks', ({ call }) => call('coordinator/unlock', { resource: 'src/parser' }, ada))
  await step('bob listens', ({ call }) => call('coordinator/subscribe', { topic: 'releases' }, bob))
  await step('ada blocks bob', ({ call }) =>
    call('coordinator/block', { identity: 'bob', reason: 'schema' }, ada),
  )
  await step('ada blocks him no more', ({ call }) => call('coordinator/unblock', { identity: 'bob' }, ada))
  const { run_id } = await step('a run', ({ call }) =>
    call<{ run_id: string }>(
      'vector/create_run',
      { prompt: 'Split the parser. Done when the tests pass.' },
      ada,
    ),
  )
  await step('a checkpoint', ({ call }) => call('vector/checkpoint', { run_id, summary: 'half of it' }, ada))
  await step('the run ends', ({ call }) => call('vector/complete_run', { run_id, summary: 'all of it' }, ada))
  const { id } = await step('a friction', ({ call }) =>
    call<{ id: string }>('friction/log', { text: 'The database is reset by hand.' }, ada),
  )
  await step('another one', ({ call }) =>
    call('store/put', { kind: 'friction', record: { text: 'It is slow.', tags: ['tests'] } }, bob),
  )
  await step('it is over', ({ call }) =>
    call('store/close', { kind: 'friction', id, fields: { resolution: 'A script does it.' } }, ada),
  )
}

/** The project memory. */
async function memory({ step, token, order }: Stage): Promise<void> {
  const [ada, bob] = [await token('ada', 'ada-1'), await token('bob', 'bob-1')]
  const post = (hand: Hand, entry: object, as = ada) =>
    hand.call<{ id: string }>('blackboard/post', entry, as)
  await step('an entry', (hand) => post(hand, { entry_type: 'finding', summary: 'The parser is slow.' }))
  await step('several entries at once', (hand) =>
    Promise.all(
      [ada, bob, ada].map((as, number) =>
        post(hand, { entry_type: 'warning', summary: `Mind step ${number}.`, scope: 'src/parser/' }, as),
      ),
    ),
  )
  const decide = (hand: Hand, summary: string, more: object = {}) =>
    hand.call<{ id: string }>(
      'decisions/decide',
      {
        ...{
          domain: 'architecture',
          scope: 'src/storage/',
          summary,
          context: 'A receipt.',
          rationale: 'Fast.',
        },
        ...{ affected_files: ['src/storage/journal.ts'], ...more },
      },
      ada,
    )
  const { id: kept } = await step('a decision', (hand) => decide(hand, 'Keep signals in an append-only file'))
  await step('one that contradicts it', (hand) =>
    decide(hand, 'Keep signals in a database', { scope: 'src/storage/' }),
  )
  await step('it is doubted', ({ call }) =>
    call('decisions/reconsider', { decision_id: kept, new_context: 'The load has tripled.' }, bob),
  )
  await step('it stands', ({ call }) =>
    call('decisions/reconsider', { decision_id: kept, new_context: 'Measured.', stands: true }, bob),
  )
  await step('a commit carries it out', ({ call }) =>
    call('decisions/link_commit', { decision_id: kept, commit_hash: '3c8f08b' }, ada),
  )
  await step('it is taken back', ({ call }) =>
    call(
      'decisions/override',
      { decision_id: kept, reason: 'It was.', new_decision: 'Use a log of segments' },
      ada,
    ),
  )
  await step('a thing', ({ call }) =>
    call('graph/add_entity', { name: 'src/auth/jwt.ts', type: 'file', properties: { owner: 'ada' } }, ada),
  )
  await step('another thing', ({ call }) =>
    call('graph/add_entity', { name: 'src/auth/keys.ts', type: 'file' }, bob),
  )
  await step('what they have to do with each other', ({ call }) =>
    call(
      'graph/add_relation',
      { source: 'src/auth/jwt.ts', target: 'src/auth/keys.ts', type: 'imports' },
      ada,
    ),
  )
  await order({ do: 'jump', ms: DAY_MS })
  const later = await token('ada', 'ada-2')
  await step('the old is archived', ({ call }) => call('blackboard/archive', {}, later))
  await step('an entry after that', (hand) =>
    post(hand, { entry_type: 'status', summary: 'Archived.' }, later),
  )
}

/** Spool lines, one of them invalid, and the sweep that consumes them. */
async function leftBehind({ step, token, order, leave, places }: Stage): Promise<void> {
  const post = (summary: string) =>
    leave({ type: 'post', root: places.project, entry: { entry_type: 'finding', summary } })
  const ada = await token('ada', 'ada-1')
  await step('lines are left behind', async ({ during, call }) => {
    await during(async () => {
      await post('Found by a hook.')
      await leave({ type: 'hook', client: 'claude-code', identity: 'ada', body: { session_id: 's' } })
      await leave({
        type: 'post',
        root: '/nowhere',
        entry: { entry_type: 'finding', summary: 'For nobody.' },
      })
      await post('Found by another.')
      await order({ do: 'advance', ms: SWEEP_MS })
    })
    // The first reader also removes the incomplete line of the killed process.
    await call('blackboard/recent', {}, ada)
  })
  await step('what was taken in is removed', ({ during }) =>
    during(async () => {
      for (let waited = 0; waited <= LIMITS.spool_quiet_ms; waited += SWEEP_MS) {
        await order({ do: 'advance', ms: SWEEP_MS })
        await order({ do: 'rest' })
      }
    }),
  )
}

/** The other transports: MCP, and the WebSocket of a daemon whose report of a turn confirms a lease. */
async function overDoors({ step, token, url }: Stage): Promise<void> {
  await step('two for cyd', async ({ send }) => {
    await Promise.all([
      send({ to: 'cyd', from: 'ada' }),
      send({ to: 'cyd', from: 'bob', payload: text(500) }),
    ])
  })
  const cyd = await token('cyd', 'cyd-1')
  const drained = await step('cyd drains over MCP', async ({ named }) => {
    const client = new Client(
      { name: 'agent', version: '1' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    )
    // Each request has its own name, because the drain is not answered by the first one.
    const request: typeof fetch = (input, init) => {
      const headers = new Headers(init?.headers)
      for (const [header, name] of Object.entries(named())) headers.set(header, name)
      headers.set('authorization', `Bearer ${cyd}`)
      return fetch(input, { ...init, headers })
    }
    await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', url()), { fetch: request }))
    const { isError, structuredContent } = await client.callTool({
      ...{ name: DRAIN_TOOL, arguments: { limit: 1 } },
    })
    await client.close()
    const [drained] = (structuredContent as Partial<Drained>).signals ?? []
    if (isError === true || drained === undefined)
      throw new Error(`nothing was drained over MCP: ${JSON.stringify(structuredContent)}`)
    return drained
  })
  await step('her daemon says that her turn is over', ({ during }) =>
    during(async () => {
      const socket = new WebSocket(`${url().replace(/^http/, 'ws')}/ws`, {
        headers: { authorization: `Bearer ${cyd}` },
      })
      const said = (type: string) =>
        new Promise<void>((resolve) =>
          socket.on('message', (data: Buffer) => {
            if ((JSON.parse(data.toString()) as { type: string }).type === type) resolve()
          }),
        )
      const tell = (frame: object) => socket.send(JSON.stringify(frame))
      await once(socket, 'open')
      const welcome = said('welcome')
      tell({
        type: 'hello',
        protocol: 1,
        kind: 'agent',
        identity: 'cyd',
        session_id: 'cyd-1',
        surface: 'mcp',
      })
      await welcome
      const surface = { attached: true, session_id: 'cyd-1', turn: 'idle' }
      for (const turn_seq of [1, 2])
        tell({ type: 'heartbeat', seq: turn_seq, surface: { ...surface, turn_seq } })
      const pong = said('pong')
      tell({ type: 'ping' })
      await pong
      const closed = once(socket, 'close')
      socket.close()
      await closed
    }),
  )
  const { stages } = await step('which confirms what she drained', ({ call }) =>
    call<SignalView>('signals/read', { signal_id: drained.signal_id }),
  )
  if (stages.confirmed_at === null) throw new Error('the end of her turn has confirmed nothing')
}

/** Waiting signals expire, are forgotten like all finished ones, and are removed from the journal. */
async function aWeekLater({ step, order }: Stage): Promise<void> {
  const later = (ms: number) => async () => {
    await order({ do: 'jump', ms })
    await order({ do: 'advance', ms: SWEEP_MS })
  }
  await step('a day goes by', ({ during }) => during(later(DAY_MS)))
  await step('a week goes by', ({ during }) => during(later(LIMITS.finished_retention_ms + DAY_MS)))
  await step('the rest of the hour goes by', ({ during }) =>
    during(() => order({ do: 'advance', ms: LIMITS.compaction_interval_ms })),
  )
}
