/** Goal 8: the restart time of a hub with many stored signals. */
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { figure, interleave, micros, short, type Figure } from '../report/figures.ts'
import { startHub } from '../hubs.ts'
import { temporaryDirectory } from '../processes.ts'
import { startRemote } from '../remote.ts'
import { resolveHome } from '../../src/system/config/home.ts'
import { fillStore } from '../stored.ts'
import type { StoredHandlers } from '../programs/stored-process.ts'

const ROUNDS = 5
const SIGNALS = 1_000_000

interface Opened {
  ms: number
  signals: number
  rss_mib: number
}
interface Round {
  replay: Opened
  scan: { ms: number }
  snapshot: Opened
  hub_ms: number
  empty_ms: number
}

export async function restart(): Promise<Figure[]> {
  const home = temporaryDirectory()
  const { hub_dir, hub_snapshot } = resolveHome({}, home)
  fs.mkdirSync(hub_dir, { mode: 0o700 })
  const bytes = await fillStore(hub_dir, SIGNALS)
  const aside = path.join(home, 'snapshot-aside')
  const rounds = await interleave<Round>(ROUNDS, {
    scan: () => fresh((call) => call.scan({ directory: hub_dir })),
    async replay() {
      fs.renameSync(hub_snapshot, aside)
      try {
        return await opened(hub_dir)
      } finally {
        fs.rmSync(hub_snapshot, { recursive: true, force: true })
        fs.renameSync(aside, hub_snapshot)
      }
    },
    snapshot: () => opened(hub_dir),
    hub_ms: () => hubStart(home),
    empty_ms: () => hubStart(temporaryDirectory()),
  })
  const stored = `${SIGNALS} stored signals, all waiting, ${Math.round(bytes / 1024 / 1024)} MiB of journal in the file system's cache; a new process each time`
  const pairs = rounds.map((round) => ({ ...round, value: round.replay.ms, limit: round.scan.ms }))
  const loaded = rounds.map((round) => ({ ...round, value: round.snapshot.ms, limit: round.replay.ms }))
  const hubs = rounds.map((round) => ({ ...round, value: round.hub_ms, limit: round.empty_ms }))
  return [
    figure('restart-replay', 'ms', '8: <= 1.5', pairs, ({ replay }) => [
      `opening the store without a snapshot: ${stored}; then ${Math.round(replay.rss_mib)} MiB resident`,
      'limit: reading the same bytes and comparing each line with its checksum',
    ]),
    figure('restart-snapshot', 'ms', '8: <= 0.1', loaded, ({ snapshot }) => [
      `opening the store with a snapshot: ${stored}; then ${Math.round(snapshot.rss_mib)} MiB resident`,
      'limit: the same without a snapshot',
    ]),
    figure('restart-hub', 'ms', null, hubs, (round) => [
      `from starting \`turnbell hub\` to its ready line, with a snapshot: ${stored}`,
      `limit: the same with an empty home; without a snapshot it would be ${short(round.replay.ms - round.snapshot.ms)} ms more`,
    ]),
  ]
}

/** Opens the store. Throws if signals are missing, which would be fast. */
async function opened(directory: string): Promise<Opened> {
  const store = await fresh((call) => call.open({ directory }))
  if (store.signals !== SIGNALS) throw new Error(`${store.signals} signals were found, not ${SIGNALS}`)
  return store
}

/** Makes one call in a fresh process, which is then killed without cleaning up. */
async function fresh<R>(
  work: (call: Awaited<ReturnType<typeof startRemote<StoredHandlers>>>['call']) => Promise<R>,
): Promise<R> {
  const { call, child } = await startRemote<StoredHandlers>('stored-process')
  try {
    return await work(call)
  } finally {
    child.kill('SIGKILL')
    // Its memory is released before the next measurement.
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
}

/** Returns the start time of a hub in milliseconds. The hub is stopped and leaves the journal unchanged. */
async function hubStart(home: string): Promise<number> {
  const started = micros()
  const hub = await startHub('durable', home)
  const ms = (micros() - started) / 1000
  await hub.stop()
  return ms
}
