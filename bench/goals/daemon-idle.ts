/** Goal 10: the cost of idle daemons for a machine that runs one for every persona all day. */
import type { DaemonStatus } from '../../src/contracts/control.ts'
import { figure, interleave, micros, short, type Figure, type Pair } from '../report/figures.ts'
import { bareNodeStart } from '../limits.ts'
import { addPersonas, daemonArgs, socketsOf, startHub, type Hub } from '../hubs.ts'
import { pause, startNode, until, type Process } from '../processes.ts'
import { usage } from '../usage.ts'
import { attachShim, control, type Shim } from '../shim.ts'

const START_ROUNDS = 7
/** Number of daemons that idle at the same time, each next to an empty node process. */
const PAIRS = 5
/** Covers three heartbeats and three metrics updates. */
const IDLE_MS = 30_000
const SETTLE_MS = 5_000
const BARE = ['-e', 'setInterval(() => {}, 1e6)']

export async function daemonIdle(): Promise<Figure[]> {
  const hub = await startHub('durable')
  try {
    const starts = await measureStarts(hub)
    return [starts, ...(await measureIdle(hub))]
  } finally {
    await hub.stop()
  }
}

async function measureStarts(hub: Hub): Promise<Figure> {
  const persona = 'starter'
  await addPersonas(hub, [persona])
  const pairs = await interleave<Pair>(START_ROUNDS, {
    value: () => daemonStart(hub, persona),
    limit: bareNodeStart,
  })
  return figure('daemon-start', 'ms', '10: <= 2', pairs, () => [
    'from starting `turnbell daemon` (hub up) to the answer of `status` on its control socket, asked for every millisecond',
    'limit: from starting `node -e ""` to its end',
  ])
}

/** Returns the start time of a daemon in milliseconds, and stops it. */
async function daemonStart(hub: Hub, persona: string): Promise<number> {
  const socket = socketsOf(hub.home, persona).control
  const started = micros()
  const daemon = await startNode(daemonArgs(hub.home, persona), { bare: true })
  try {
    await until('the daemon answers', () => control<DaemonStatus>(socket, 'status'), 1)
    return (micros() - started) / 1000
  } finally {
    await daemon.stop()
  }
}

async function measureIdle(hub: Hub): Promise<Figure[]> {
  const personas = Array.from({ length: PAIRS }, (_, index) => `sleeper-${index}`)
  await addPersonas(hub, personas)
  const shims: Shim[] = []
  const processes: Process[] = []
  try {
    const pairs: { daemon: Process; bare: Process }[] = []
    for (const persona of personas) {
      const daemon = await startNode(daemonArgs(hub.home, persona), {
        ready: /^turnbell daemon ready /,
        bare: true,
      })
      const bare = await startNode(BARE, { bare: true })
      processes.push(daemon, bare)
      pairs.push({ daemon, bare })
      shims.push(await attachShim(socketsOf(hub.home, persona).surface, `${persona}-session`))
    }
    await until('all daemons are connected', async () => {
      const sockets = personas.map((persona) => socketsOf(hub.home, persona).control)
      const statuses = await Promise.all(sockets.map((socket) => control<DaemonStatus>(socket, 'status')))
      return statuses.every(({ state }) => state === 'CONNECTED')
    })
    await pause(SETTLE_MS)
    const rounds = await Promise.all(pairs.map(idlePair))
    return idleFigures(rounds)
  } finally {
    for (const shim of shims) shim.close()
    await Promise.all(processes.map((one) => one.stop()))
  }
}

interface Window {
  rss_mib: number
  cpu_percent: number
}

async function idlePair(pair: { daemon: Process; bare: Process }): Promise<{ daemon: Window; bare: Window }> {
  const [daemon, bare] = await Promise.all([idleWindow(pair.daemon), idleWindow(pair.bare)])
  return { daemon, bare }
}

async function idleWindow({ pid }: Process): Promise<Window> {
  const started = micros()
  const before = await usage(pid)
  await pause(IDLE_MS)
  const { rss_mib, cpu_us } = await usage(pid)
  return { rss_mib, cpu_percent: (100 * (cpu_us - before.cpu_us)) / (micros() - started) }
}

function idleFigures(rounds: readonly { daemon: Window; bare: Window }[]): Figure[] {
  const seconds = IDLE_MS / 1000
  const state = `${PAIRS} daemons side by side, each connected to the hub with a shim attached and nothing to do`
  const memory = rounds.map(({ daemon, bare }) => ({ value: daemon.rss_mib, limit: bare.rss_mib }))
  const cpu = rounds.map(({ daemon, bare }) => ({ value: daemon.cpu_percent, limit: 100, bare }))
  return [
    figure(
      'daemon-rss',
      'MiB',
      '10: <= 1.4',
      memory,
      () => [
        `resident memory after ${seconds} s: ${state}`,
        'limit: a node process that only has a timer, started beside each',
      ],
      'pairs',
    ),
    figure(
      'daemon-cpu',
      '%',
      '10: <= 0.005',
      cpu,
      ({ bare }) => [
        `processor time of all its threads during ${seconds} s: ${state}`,
        `limit: one core; the bare node process beside it used ${short(bare.cpu_percent)} %`,
      ],
      'pairs',
    ),
  ]
}
