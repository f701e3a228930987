/**
 * The steps of the demo. Each step waits for the real effect of the previous one. Everything is recorded for
 * `verdict.ts`.
 */
import * as z from 'zod'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import type { Json, SignalId } from '../../contracts/ids.ts'
import { type Receipt, SignalView } from '../../contracts/signal.ts'
import { count } from '../render.ts'
import type { Exit } from '../up/launch.ts'
import type { Agent, Turn } from './agent.ts'
import { isConnected, type World } from './world.ts'

export interface Sent {
  signal_id: SignalId
  seq: number
  from: string
  to: string
  intent: string
  payload: Json
  /** The recipient was in a turn at the time of the send. */
  mid_turn: boolean
}

export interface Run {
  sent: Sent[]
  agents: Record<'ada' | 'bob', Agent>
  question: SignalId
  hub: {
    first_pid: number
    second_pid: number
    killed_by: Exit['os_signal']
    killed_at_ms: number
    ready_again_ms: number
    pending_before: Record<string, number>
    pending_after: Record<string, number>
    refused_while_down: string
  }
  /** The hub's signals at the end. */
  kept: SignalView[]
  rung_by_daemon: Record<string, number>
  pending_at_end: Record<string, number>
}

const Inbox = z.object({ signals: z.array(SignalView) })
const INBOX_LIMIT = 1_000

/** Both agents, and the steps that the chapters share. */
interface Stage {
  world: World
  ada: Agent
  bob: Agent
  send: (
    from: Agent,
    to: Agent,
    intent: string,
    payload: Json,
    more?: { reply_to?: string; priority?: number; idempotency_key?: string },
  ) => Promise<Receipt>
  /** Waits for the next doorbell of the agent. */
  nextRing: (agent: Agent) => Promise<void>
  drain: (agent: Agent) => Promise<void>
}

export async function play(world: World): Promise<Run> {
  const { invocation } = world
  const sent: Sent[] = []
  const { stage, first } = await setUp(world, sent)
  const { ada, bob } = stage
  const question = await oneDoorbell(stage)
  await noInterruption(stage, question)
  const hub = await killedHub(stage, first.pid)
  await quietSignal(stage)
  return {
    sent,
    agents: { ada, bob },
    question,
    hub,
    kept: await keptSignals(world),
    rung_by_daemon: await ofEach(async (name) => (await invocation.control(name).status()).doorbells_rung),
    pending_at_end: await pendingOf(world),
  }
}

async function setUp(world: World, sent: Sent[]): Promise<{ stage: Stage; first: { pid: number } }> {
  const { story, invocation } = world
  const rung = { ada: [] as Turn[], bob: [] as Turn[] }
  story.chapter('A hub, two personas, two agents')
  story.step(`a temporary home: ${invocation.home.root}`)
  const first = await world.startHub()
  story.step(`the hub is ready at ${first.url} (process ${first.pid}); ada and bob are its personas`)
  const pids = await Promise.all([world.startDaemon('ada'), world.startDaemon('bob')])
  story.step(
    `each has a daemon (processes ${pids.join(' and ')}); both are connected and know their pending signals`,
  )
  const ada = await world.attachAgent('ada', (turn) => rung.ada.push(turn))
  const bob = await world.attachAgent('bob', (turn) => rung.bob.push(turn))
  for (const agent of [ada, bob]) await untilLive(world, agent)
  story.step('each has an agent attached to its own socket; both agents are idle')
  const stage: Stage = {
    world,
    ada,
    bob,
    async send(from, to, intent, payload, more = {}) {
      const mid_turn = to.isBusy()
      const receipt = await from.send({ to: to.identity, intent, payload, ...more })
      const { signal_id, seq } = receipt
      sent.push({ signal_id, seq, from: from.identity, to: to.identity, intent, payload, mid_turn })
      return receipt
    },
    async nextRing(agent) {
      const rings = rung[agent.identity as 'ada' | 'bob']
      const turn = await story.until(`${agent.identity} is rung`, () => rings.shift())
      const [bell] = turn.bells
      story.step(`${agent.identity} is rung, and turn ${turn.turn_seq} begins: "${bell?.text}"`)
    },
    async drain(agent) {
      const signals = await agent.drain()
      story.step(`${agent.identity} drains ${count(signals.length, 'signal')}: ${intentsOf(signals)}`)
    },
  }
  return { stage, first }
}

/** Returns the id of the question. Bob's turn is still running at the end. */
async function oneDoorbell({ world: { story }, ada, bob, ...stage }: Stage): Promise<SignalId> {
  story.chapter('One signal, one doorbell')
  const question = 'Which port does the proxy use?'
  const { signal_id } = await stage.send(ada, bob, 'question', question, { reply_to: 'ada' })
  story.step(`ada asks bob; the receipt arrives only after the signal is on disk`)
  await stage.nextRing(bob)
  await stage.drain(bob)
  return signal_id
}

async function noInterruption(stage: Stage, question: SignalId): Promise<void> {
  const { world, ada, bob, send, nextRing, drain } = stage
  const { story } = world
  story.chapter('Never in the middle of a turn')
  for (const file of ['cart.ts', 'checkout.ts', 'invoice.ts']) await send(ada, bob, 'review', { file })
  story.step('ada sends three more while bob works: they are durable, and no doorbell rings')
  await send(bob, ada, 'started', 'On it.')
  story.step('bob sends ada a signal; she is idle, so the doorbell rings at once')
  await nextRing(ada)
  await drain(ada)
  await bob.ack([question], { port: 4888 })
  story.step('bob answers her question with the result of an ack; it waits, because ada is in a turn')
  await bob.endTurn()
  story.step("bob's turn is over: one doorbell rings for all three signals")
  await nextRing(bob)
  await drain(bob)
  await ada.endTurn()
  story.step("ada's turn is over; the answer is pending")
  await nextRing(ada)
  await drain(ada)
  await Promise.all([ada.endTurn(), bob.endTurn()])
  await untilFinal(world)
  story.step('both turns are over, and every drained signal is confirmed')
}

async function killedHub({ world, ada, bob, send, nextRing, drain }: Stage, first_pid: number) {
  const { story, invocation } = world
  story.chapter('The hub is killed')
  await Promise.all([ada.beginTurn(), bob.beginTurn()])
  story.step('both begin a turn by themselves, as if their users typed something')
  for (const branch of ['main', 'cart', 'proxy']) await send(ada, bob, 'merged', { branch })
  for (const branch of ['cart', 'proxy', 'docs']) await send(bob, ada, 'tested', { branch })
  const pending_before = await pendingOf(world)
  story.step('each sends the other three; six signals are pending, and no doorbell rings')
  const { os_signal: killed_by } = await world.killHub()
  const killed_at_ms = story.elapsed_ms()
  story.step(`kill -9: the hub (process ${first_pid}) ends in the middle of it`)
  const late = { intent: 'late', payload: 'Did you get this?', key: 'demo-late-1' }
  const refused_while_down = await refusal(() =>
    ada.send({ to: 'bob', intent: late.intent, payload: late.payload, idempotency_key: late.key }),
  )
  story.step(`ada sends without a hub and is refused: ${refused_while_down}; there is no receipt`)
  const { pid: second_pid } = await world.startHub()
  const ready_again_ms = story.elapsed_ms()
  story.step(
    `a new hub (process ${second_pid}) is ready on the same home, ${ready_again_ms - killed_at_ms} ms later`,
  )
  const pending_after = await pendingOf(world)
  story.step(`its journal still contains the pending signals: ${describeCounts(pending_after)}`)
  for (const agent of [ada, bob]) {
    await story.until(`${agent.identity}'s daemon is back`, () => isConnected(invocation, agent.identity))
  }
  story.step(
    'both daemons reconnect and read the pending list again; the turns continue, and no doorbell rings',
  )
  await send(ada, bob, late.intent, late.payload, { idempotency_key: late.key })
  story.step('ada repeats the refused signal with the same key, so that it cannot be stored twice')
  await Promise.all([ada.endTurn(), bob.endTurn()])
  story.step('both turns end: one doorbell each, for all signals that arrived in between')
  for (const agent of [bob, ada]) {
    await nextRing(agent)
    await drain(agent)
    await agent.endTurn()
  }
  return {
    first_pid,
    second_pid,
    killed_by,
    killed_at_ms,
    ready_again_ms,
    pending_before,
    pending_after,
    refused_while_down,
  }
}

async function quietSignal({ world, ada, bob, send, nextRing, drain }: Stage): Promise<void> {
  const { story } = world
  story.chapter('A quiet signal')
  await send(bob, ada, 'fyi', 'The build is green.', { priority: 0 })
  story.step('bob sends ada a signal of priority 0: no doorbell rings')
  await send(bob, ada, 'goodbye', 'That was all.')
  story.step('then he sends one of normal priority')
  await nextRing(ada)
  await drain(ada)
  await ada.endTurn()
  await untilFinal(world)
  story.step('no signal is pending, and every drain is final')
}

/** Waits until the daemon knows the agent, so that the route is live. */
async function untilLive({ story, invocation }: World, { identity, session_id }: Agent): Promise<void> {
  await story.until(`${identity}'s agent is known to its daemon`, async () => {
    const { surface } = await invocation.control(identity).status()
    return surface.attached && surface.session_id === session_id && surface.turn === 'idle'
  })
}

/** Waits until every drained signal is confirmed, so that no open lease could be released by a crash. */
async function untilFinal(world: World): Promise<void> {
  await world.story.until('every drain is final', async () => {
    const kept = await keptSignals(world)
    return kept.every(({ status, stages }) => status === 'completed' || stages.confirmed_at !== null)
  })
}

async function keptSignals({ invocation }: World): Promise<SignalView[]> {
  const of = (to: string) => invocation.hub().ask('signals', 'inbox', { to, limit: INBOX_LIMIT }, Inbox)
  const both = await Promise.all([of('ada'), of('bob')])
  return both.flatMap(({ signals }) => signals)
}

async function pendingOf(world: World): Promise<Record<string, number>> {
  const kept = await keptSignals(world)
  return ofEach(async (name) => kept.filter(({ to, status }) => to === name && status === 'pending').length)
}

async function ofEach<T>(ask: (name: string) => Promise<T>): Promise<Record<string, T>> {
  const entries = await Promise.all(['ada', 'bob'].map(async (name) => [name, await ask(name)] as const))
  return Object.fromEntries(entries)
}

/** Returns the error code of the refusal, or `accepted`. */
async function refusal(call: () => Promise<unknown>): Promise<string> {
  try {
    await call()
    return 'accepted'
  } catch (error) {
    if (error instanceof TurnbellError) return error.code
    throw error
  }
}

const intentsOf = (signals: readonly { intent: string; from: string }[]) =>
  signals.map(({ intent, from }) => `${intent} from ${from}`).join(', ') || 'nothing'

const describeCounts = (counts: Record<string, number>) =>
  Object.entries(counts)
    .map(([name, number]) => `${number} for ${name}`)
    .join(', ')
