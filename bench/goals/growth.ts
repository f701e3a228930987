/** Goal 14: the cost of more personas and more stored signals for the existing ones. */
import fs from 'node:fs'
import { startPath, type Path, type Rung } from './doorbell.ts'
import { figure, interleave, short, type Figure } from '../report/figures.ts'
import type { LinkHandlers } from '../programs/links.ts'
import { busy, connectLoad, WARM_UP_SENDS, type LoadedHub, type Sent } from '../load.ts'
import { operatorToken, startHub, type Hub } from '../hubs.ts'
import { temporaryDirectory } from '../processes.ts'
import { startRemote, type Remote } from '../remote.ts'
import type { SenderHandlers } from '../programs/sender.ts'
import { fillStore } from '../stored.ts'
import { resolveHome } from '../../src/system/config/home.ts'

const ROUNDS = 5
const SENDERS = 100
/** A queue holds LIMITS.queue_depth_max signals. */
const SENDS = 5_000
const SENDS_MS_MAX = 10_000
const BELLS = 30
const WARM_UP_BELLS = 60

/** Number of personas with a daemon, and number of stored signals. The first entry is the baseline of the others. */
const SIZES = [
  { name: 'small', personas: 1, stored: 0 },
  { name: '10-personas', personas: 10, stored: 0 },
  { name: '50-personas', personas: 50, stored: 0 },
  { name: '100k-signals', personas: 1, stored: 100_000 },
  { name: '1m-signals', personas: 1, stored: 1_000_000 },
] as const
type Size = (typeof SIZES)[number]

interface Grown {
  sent: Sent
  rung: Rung
}

interface GrownHub {
  size: Size
  measure: () => Promise<Grown>
  stop: () => Promise<void>
}

export async function growth(): Promise<Figure[]> {
  const sender = await startRemote<SenderHandlers>('sender')
  const links = await startRemote<LinkHandlers>('links')
  const hubs: GrownHub[] = []
  try {
    for (const size of SIZES) hubs.push(await startGrown(size, sender.call, links.call))
    const variants = Object.fromEntries(hubs.map(({ size, measure }) => [size.name, measure]))
    const rounds = await interleave<Record<string, Grown>>(ROUNDS, variants)
    return SIZES.slice(1).flatMap((size) => figuresOf(size, rounds))
  } finally {
    for (const hub of hubs) await hub.stop()
    await Promise.all([sender.stop(), links.stop()])
  }
}

async function startGrown(
  size: Size,
  sender: Remote<SenderHandlers>,
  links: Remote<LinkHandlers>,
): Promise<GrownHub> {
  const home = temporaryDirectory()
  const { hub_dir } = resolveHome({}, home)
  fs.mkdirSync(hub_dir, { mode: 0o700 })
  if (size.stored > 0) await fillStore(hub_dir, size.stored)
  const hub = await startHub('durable', home)
  const path = await startPath(sender, hub)
  // The persona under test already has a daemon.
  await links.connect({ ...door(hub), identities: names('beside', size.personas - 1) })
  const load = await connectLoad(sender, hub, SENDERS)
  const pushed = createPushed(size, sender, links, load)
  await path.ring(WARM_UP_BELLS)
  await pushed()
  return {
    size,
    measure: async () => ({ sent: await pushed(), rung: await ringing(path) }),
    stop: () => path.stop(),
  }
}

const ringing = (path: Path) => path.ring(BELLS)
const door = (hub: Hub) => ({ url: hub.url, token: operatorToken(hub) })
const names = (prefix: string, count: number) => Array.from({ length: count }, (_, at) => `${prefix}-${at}`)

/** Sends a few thousand signals to fresh personas, each with a daemon that receives the pushes. */
function createPushed(
  { personas }: Size,
  sender: Remote<SenderHandlers>,
  links: Remote<LinkHandlers>,
  { hub, group, run }: LoadedHub,
): () => Promise<Sent> {
  let round = 0
  return async () => {
    round += 1
    const to = names(`round-${round}`, personas)
    const daemons = await links.connect({ ...door(hub), identities: to })
    await sender.aim({ group, to })
    const sent = await run(SENDS_MS_MAX, SENDS)
    await links.close(daemons)
    return sent
  }
}

function figuresOf(size: Size, rounds: readonly Record<string, Grown>[]): Figure[] {
  const pairs = rounds.map((round) => ({ large: round[size.name] as Grown, small: round['small'] as Grown }))
  const sends = pairs.map((pair) => ({
    ...pair,
    value: pair.large.sent.sends_per_s,
    limit: pair.small.sent.sends_per_s,
  }))
  const bells = pairs.map((pair) => ({
    ...pair,
    value: pair.large.rung.p50_us,
    limit: pair.small.rung.p50_us,
  }))
  const many =
    size.stored > 0 ? `${size.stored} signals stored before` : `${size.personas} personas with daemons`
  const limit = `limit: the same with one such persona and nothing stored before, in the same round; every hub was warmed up with up to ${WARM_UP_SENDS} sends`
  return [
    figure(`growth-sends-${size.name}`, 'sends/s', '14: >= 0.8', sends, ({ large }) => [
      `${SENDS} durable sends of ${SENDERS} senders to personas whose daemons are told of each, ${many}; ${busy(large.sent)}`,
      limit,
    ]),
    figure(`growth-doorbell-${size.name}`, 'us', '14: <= 1.2', bells, ({ large }) => [
      `p50 of ${BELLS} times from send to doorbell, ${many}; p99 ${short(large.rung.p99_us)} us`,
      limit,
    ]),
  ]
}
