/**
 * Goals 3 and 4: the same signals stored durably by other servers. `bare-hub.ts` in the same rounds shows the upper
 * limit of a hub in Node.
 */
import { figure, interleave, leftOut, short, type Figure, type Goal } from '../report/figures.ts'
import { diskFlushes } from '../limits.ts'
import { busy, connectBareLoad, connectLoad, RECIPIENTS, warmUp, type Sent } from '../load.ts'
import type { PeerSenderHandlers } from '../programs/peer-sender.ts'
import { startNats, startRedis, Unavailable, type PeerServer } from '../peer-servers.ts'
import { startBareHub, startHub } from '../hubs.ts'
import { startRemote, type Remote } from '../remote.ts'
import type { RunResult } from '../closed-loop.ts'
import type { SenderHandlers } from '../programs/sender.ts'

const ROUNDS = 5
const SEND_MS = 800
const SENDERS = [1, 100]
const WARM_UP = { ms: 2_000, sends: 10_000 }
const START = { nats: startNats, redis: startRedis }
const GOALS: Record<string, Goal> = {
  'nats-1': '3: >= 1.1',
  'nats-100': '3: >= 4',
  'redis-1': '4: >= 0.8',
  'redis-100': '4: >= 1',
}
type Name = keyof typeof START
const NAMES = ['nats', 'redis'] as const

interface PeerRun extends RunResult {
  /** Cache flushes of the machine's disks per send; null if the system does not count them. */
  flushes_a_send: number | null
}

export async function peers(): Promise<Figure[]> {
  const sender = await startRemote<SenderHandlers>('sender')
  const peer_sender = await startRemote<PeerSenderHandlers>('peer-sender')
  const hub = await startHub('durable')
  const bare = await startBareHub()
  const { servers, missing } = await startPeers(peer_sender.call)
  try {
    await warmUp(sender.call, hub)
    const figures: Figure[] = []
    for (const count of SENDERS) {
      const own = await connectLoad(sender.call, hub, count)
      const runBare = await connectBareLoad(sender.call, bare, count)
      const runs = await Promise.all(servers.map((server) => connectPeer(peer_sender.call, server, count)))
      const rounds = await interleave<Record<string, PeerRun | Sent>>(ROUNDS, {
        turnbell: () => own.run(SEND_MS),
        bare: () => runBare(SEND_MS),
        ...Object.fromEntries(servers.map(({ protocol }, index) => [protocol, runs[index] ?? nothing])),
      })
      for (const server of servers) figures.push(figureOf(server, count, rounds))
      figures.push(besideBare(count, rounds))
      for (const server of servers) figures.push(bareFigureOf(server, count, rounds))
    }
    for (const [name, why] of missing) {
      for (const count of SENDERS) {
        figures.push(leftOut(`${name}-${count}`, 'sends/s', GOALS[`${name}-${count}`] ?? null, why))
      }
    }
    return figures
  } finally {
    await Promise.all([sender, peer_sender, hub, bare, ...servers].map((one) => one.stop()))
  }
}

const nothing = () => Promise.reject(new Error('no such peer'))

async function startPeers(sender: Remote<PeerSenderHandlers>) {
  const servers: PeerServer[] = []
  const missing: [Name, string][] = []
  for (const name of NAMES) {
    try {
      servers.push(await START[name](sender))
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      missing.push([name, error.message])
    }
  }
  return { servers, missing }
}

/** Returns a warmed-up connection: a function that runs this many senders for one round. */
async function connectPeer(
  sender: Remote<PeerSenderHandlers>,
  { protocol, port }: PeerServer,
  senders: number,
): Promise<() => Promise<PeerRun>> {
  const { group } = await sender.connect({ protocol, port, senders, to: RECIPIENTS })
  await sender.run({ group, ...WARM_UP })
  return async () => {
    const before = diskFlushes()
    const result = await sender.run({ group, ms: SEND_MS })
    const after = diskFlushes()
    const sends = (result.sends_per_s * result.elapsed_us) / 1e6
    return { ...result, flushes_a_send: before === null || after === null ? null : (after - before) / sends }
  }
}

type Rounds = readonly Record<string, PeerRun | Sent>[]

function figureOf({ protocol, described }: PeerServer, count: number, rounds: Rounds): Figure {
  const pairs = rounds.map((round) => {
    const [own, peer] = [round['turnbell'] as Sent, round[protocol] as PeerRun]
    return { value: own.sends_per_s, limit: peer.sends_per_s, own, peer }
  })
  const name = `${protocol}-${count}`
  return figure(name, 'sends/s', GOALS[name] ?? null, pairs, ({ own, peer }) => [
    `durable sends of ${sendersOf(count)}, each with a connection of its own and one send under way; p50 ${short(own.p50_us)} us; ${busy(own)}`,
    `limit: the same bytes to ${described}; p50 ${short(peer.p50_us)} us${flushesOf(peer)}`,
  ])
}

function besideBare(count: number, rounds: Rounds): Figure {
  const pairs = rounds.map((round) => {
    const [own, bare] = [round['turnbell'] as Sent, round['bare'] as Sent]
    return { value: own.sends_per_s, limit: bare.sends_per_s, bare }
  })
  return figure(`bare-${count}`, 'sends/s', null, pairs, ({ bare }) => [
    `durable sends of ${sendersOf(count)}`,
    `limit: the same to ${BARE}; p50 ${short(bare.p50_us)} us; ${busy(bare)}`,
  ])
}

function bareFigureOf({ protocol, described }: PeerServer, count: number, rounds: Rounds): Figure {
  const pairs = rounds.map((round) => {
    const [bare, peer] = [round['bare'] as Sent, round[protocol] as PeerRun]
    return { value: bare.sends_per_s, limit: peer.sends_per_s }
  })
  return figure(`${protocol}-${count}-bare`, 'sends/s', null, pairs, () => [
    `durable sends of ${sendersOf(count)} to ${BARE}`,
    `limit: the same bytes to ${described}`,
  ])
}

const BARE = 'a WebSocket server in Node that writes and syncs them, and does nothing else'
const sendersOf = (count: number) => (count === 1 ? 'one sender' : `${count} senders`)
const flushesOf = ({ flushes_a_send }: PeerRun) =>
  flushes_a_send === null ? '' : `, and the disk counted ${short(flushes_a_send)} flushes a send`
