/**
 * What happens in the demo, step by step. It goes on only when what it waits for has really happened,
 * and keeps a record of everything for `verdict.ts`.
 */
import * as z from 'zod'
import { TurnbellError } from '../../contracts/errors.ts'
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
  /** The recipient was in a turn when it was sent. */
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
  /** As the hub has them at the end. */
  kept: SignalView[]
  rung_by_daemon: Record<string, number>
  pending_at_end: Record<string, number>
}

const Inbox = z.object({ signals: z.array(SignalView) })
const INBOX_LIMIT = 1_000

export async function play(world: World): Promise<Run> {
  const { story, invocation } = world
  const sent: Sent[] = []
  const rung = { ada: [] as Turn[], bob: [] as Turn[] }

  // --- 1
  story.chapter('A hub, two personas, two agents')
  story.tell(`a throw-away home: ${invocation.home.root}`)
  const first = await world.startHub()
  story.tell(`the hub is ready at ${first.url} (process ${first.pid}); ada and bob are its personas`)
  const pids = await Promise.all([world.startDaemon('ada'), world.startDaemon('bob')])
  story.tell(`each has a daemon (processes ${pids.join(' and ')}); both are connected and know what waits`)
  const ada = await world.attachAgent('ada', (turn) => rung.ada.push(turn))
  const bob = await world.attachAgent('bob', (turn) => rung.bob.push(turn))
  for (const agent of [ada, bob]) await untilLive(world, agent)
  story.tell('each has an agent attached to its own socket; both agents are idle')

  const send = async (
    from: Agent,
    to: Agent,
    intent: string,
    payload: Json,
    more: { reply_to?: string; priority?: number; idempotency_key?: string } = {},
  ): Promise<Receipt> => {
    const mid_turn = to.isBusy()
    const receipt = await from.send({ to: to.identity, intent, payload, ...more })
    const { signal_id, seq } = receipt
    sent.push({ signal_id, seq, from: from.identity, to: to.identity, intent, payload, mid_turn })
    return receipt
  }
  const nextRing = async (agent: Agent): Promise<Turn> => {
    const rings = rung[agent.identity as 'ada' | 'bob']
    const turn = await story.until(`${agent.identity} is rung`, () => rings.shift())
    const [bell] = turn.bells
    story.tell(`${agent.identity} is rung, and turn ${turn.turn_seq} begins: "${bell?.text}"`)
    return turn
  }
  const drain = async (agent: Agent) => {
    const signals = await agent.drain()
    story.tell(`${agent.identity} drains ${count(signals.length, 'signal')}: ${intentsOf(signals)}`)
    return signals
  }

  // --- 2
  story.chapter('One signal, one doorbell')
  const asked = await send(ada, bob, 'question', 'Which port does the proxy use?', { reply_to: 'ada' })
  story.tell(`ada asks bob; the receipt says durable: it came after the bytes were on disk`)
  await nextRing(bob)
  await drain(bob)

  // --- 3
  story.chapter('Never in the middle of a turn')
  for (const file of ['cart.ts', 'checkout.ts', 'invoice.ts']) await send(ada, bob, 'review', { file })
  story.tell('ada sends three more while bob works: durable, and no doorbell')
  await send(bob, ada, 'started', 'On it.')
  story.tell('bob sends ada a word; she is idle, so it rings at once')
  await nextRing(ada)
  await drain(ada)
  await bob.ack([asked.signal_id], { port: 4888 })
  story.tell('bob answers her question by acknowledging it with a result; it waits, for ada is in a turn')
  await bob.endTurn()
  story.tell("bob's turn is over: now it may ring, once for all three")
  await nextRing(bob)
  await drain(bob)
  await ada.endTurn()
  story.tell("ada's turn is over; the answer is there")
  await nextRing(ada)
  await drain(ada)
  await Promise.all([ada.endTurn(), bob.endTurn()])
  await untilFinal(world)
  story.tell('both turns are over: what each has drained it has confirmed as well, and that is final')

  // --- 4
  story.chapter('The hub is killed')
  await Promise.all([ada.beginTurn(), bob.beginTurn()])
  story.tell('both begin a turn by themselves, as when a person types something')
  for (const branch of ['main', 'cart', 'proxy']) await send(ada, bob, 'merged', { branch })
  for (const branch of ['cart', 'proxy', 'docs']) await send(bob, ada, 'tested', { branch })
  const pending_before = await pendingOf(world)
  story.tell('each sends the other three; six signals wait, nobody is rung')
  const { os_signal: killed_by } = await world.killHub()
  const killed_at_ms = story.elapsed_ms()
  story.tell(`kill -9: the hub (process ${first.pid}) is gone in the middle of it`)
  const late = { intent: 'late', payload: 'Did you get this?', key: 'demo-late-1' }
  const refused_while_down = await refusal(() =>
    ada.send({ to: 'bob', intent: late.intent, payload: late.payload, idempotency_key: late.key }),
  )
  story.tell(`ada sends into the void and is told so: ${refused_while_down}; nothing was promised`)
  const second = await world.startHub()
  const ready_again_ms = story.elapsed_ms()
  story.tell(
    `a new hub (process ${second.pid}) is ready on the same home, ${ready_again_ms - killed_at_ms} ms later`,
  )
  const pending_after = await pendingOf(world)
  story.tell(`its journal still holds what waits: ${describeCounts(pending_after)}`)
  for (const agent of [ada, bob]) {
    await story.until(`${agent.identity}'s daemon is back`, () => isConnected(invocation, agent.identity))
  }
  story.tell('both daemons found it by themselves and read the list anew; the turns go on, nothing rings')
  await send(ada, bob, late.intent, late.payload, { idempotency_key: late.key })
  story.tell('ada repeats what was refused, with the same key: it cannot be stored twice')
  await Promise.all([ada.endTurn(), bob.endTurn()])
  story.tell('both turns end: one doorbell each, for all that came meanwhile')
  for (const agent of [bob, ada]) {
    await nextRing(agent)
    await drain(agent)
    await agent.endTurn()
  }

  // --- 5
  story.chapter('A quiet one')
  await send(bob, ada, 'fyi', 'The build is green.', { priority: 0 })
  story.tell('bob sends ada something of priority 0: it rings nobody')
  await send(bob, ada, 'goodbye', 'That was all.')
  story.tell('and something that does')
  await nextRing(ada)
  await drain(ada)
  await ada.endTurn()
  await untilFinal(world)
  story.tell('nothing waits any more, and every drain is final')

  return {
    sent,
    agents: { ada, bob },
    question: asked.signal_id,
    hub: {
      first_pid: first.pid,
      second_pid: second.pid,
      killed_by,
      killed_at_ms,
      ready_again_ms,
      pending_before,
      pending_after,
      refused_while_down,
    },
    kept: await keptSignals(world),
    rung_by_daemon: await ofEach(async (name) => (await invocation.control(name).status()).doorbells_rung),
    pending_at_end: await pendingOf(world),
  }
}

/** The route is live once the daemon has told the hub of the surface. */
async function untilLive({ story, invocation }: World, { identity, session_id }: Agent): Promise<void> {
  await story.until(`${identity}'s agent is known to its daemon`, async () => {
    const { surface } = await invocation.control(identity).status()
    return surface.attached && surface.session_id === session_id && surface.turn === 'idle'
  })
}

/** Every drained signal is delivered for good: no lease is open that a crash could take back. */
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

/** The code it was refused with; that it was not refused is a finding as well. */
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
