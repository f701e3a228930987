/** Runs hubs under the same senders: the durable one, the same with sync off, and other servers for comparison. */
import {
  addPersonas,
  agentToken,
  meanSignalLine,
  startHub,
  type BareServer,
  type Hub,
  type HubKind,
} from './hubs.ts'
import { busyWhile } from './usage.ts'
import type { Process } from './processes.ts'
import { startRemote, type Remote } from './remote.ts'
import type { RunResult } from './closed-loop.ts'
import type { SenderHandlers } from './programs/sender.ts'

/** Enough queues of LIMITS.queue_depth_max for all sends of a run. */
export const RECIPIENTS = Array.from({ length: 100 }, (_, index) => `recipient-${index}`)
/**
 * A count, not a time: otherwise the slower hub would be warmed up with fewer sends and be measured while its code is
 * still being compiled.
 */
export const WARM_UP_SENDS = 20_000
const WARM_UP_SENDERS = 20
const WARM_UP_MS_MAX = 20_000
const WARM_UP_BARE_MS_MAX = 2_000

export interface Sent extends RunResult {
  /** Processor use of all threads of the hub, in percent of one core. */
  hub_cpu_percent: number
}

export interface LoadedHub {
  hub: Hub
  /** Group id in the sender process. */
  group: number
  /** Sends for this time, or this number of times. */
  run: (ms: number, sends?: number) => Promise<Sent>
}

export interface Load {
  durable: LoadedHub
  syncOff: LoadedHub
  /** Bytes that one send appends to the journal. */
  line_bytes: number
  /** Starts another hub under the same senders, which stops with the others. */
  beside(kind: HubKind): Promise<LoadedHub>
  stop(): Promise<void>
}

/** Starts both hubs and `count` warmed-up senders for each. */
export async function startLoad(count: number): Promise<Load> {
  const sender = await startRemote<SenderHandlers>('sender')
  const started: Process[] = [sender]
  const beside = async (kind: HubKind): Promise<LoadedHub> => {
    const hub = await startHub(kind)
    started.push(hub)
    return warmLoad(sender.call, hub, count)
  }
  const durable = await beside('durable')
  const syncOff = await beside('sync off')
  return {
    ...{ durable, syncOff, beside },
    line_bytes: meanSignalLine(durable.hub.journal),
    stop: async () => void (await Promise.all(started.map((one) => one.stop()))),
  }
}

async function warmLoad(sender: Remote<SenderHandlers>, hub: Hub, count: number): Promise<LoadedHub> {
  await warmUp(sender, hub)
  return connectLoad(sender, hub, count)
}

/** Connects `count` senders to a warm hub. */
export async function connectLoad(
  sender: Remote<SenderHandlers>,
  hub: Hub,
  count: number,
): Promise<LoadedHub> {
  const group = await connectSenders(sender, hub, `sender-of-${count}`, count)
  return { group, hub, run: runOf(sender, hub.pid, group) }
}

/** Connects the senders to a server without authentication, and warms it up. */
export async function connectBareLoad(
  sender: Remote<SenderHandlers>,
  { pid, url }: BareServer,
  count: number,
): Promise<LoadedHub['run']> {
  const senders = Array.from({ length: count }, (_, index) => ({ identity: `sender-${index}`, token: '' }))
  const { group } = await sender.connect({ url, senders, to: RECIPIENTS })
  await sender.run({ group, sends: WARM_UP_SENDS, ms: WARM_UP_BARE_MS_MAX })
  return runOf(sender, pid, group)
}

function runOf(sender: Remote<SenderHandlers>, pid: number, group: number): LoadedHub['run'] {
  return async (ms, sends) => {
    const run = () => sender.run({ group, ms, ...(sends === undefined ? {} : { sends }) })
    const { done, cpu_percent } = await busyWhile(pid, run)
    return { ...done, hub_cpu_percent: cpu_percent }
  }
}

/** Makes many sends to a new hub, so that its code is compiled. */
export async function warmUp(
  sender: Remote<SenderHandlers>,
  hub: Hub,
  senders = WARM_UP_SENDERS,
): Promise<void> {
  await addPersonas(hub, RECIPIENTS)
  const group = await connectSenders(sender, hub, 'warm-up', senders)
  await sender.run({ group, sends: WARM_UP_SENDS, ms: WARM_UP_MS_MAX })
}

async function connectSenders(sender: Remote<SenderHandlers>, hub: Hub, name: string, count: number) {
  const senders = []
  for (let index = 0; index < count; index++) {
    const identity = `${name}-${index}`
    senders.push({ identity, token: await agentToken(hub, identity) })
  }
  return (await sender.connect({ url: hub.url, senders, to: RECIPIENTS })).group
}

/** Describes the processor use, which shows what limits the throughput. */
export function busy({ hub_cpu_percent, cpu_percent }: Sent): string {
  return `hub ${Math.round(hub_cpu_percent)} %, sender process ${Math.round(cpu_percent)} % of a core`
}
