/** Recovers from the files after a crash with the real stores and the real hub, twice. */
import fs from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { FACADES } from '../../src/facades/all.ts'
import { createHub, type Hub } from '../../src/hub/hub.ts'
import { silentLog as log } from '../../src/ports/log.ts'
import type { Spool } from '../../src/ports/spool.ts'
import { openSpool } from '../../src/storage/file/spool/spool.ts'
import { projectOpener } from '../../src/storage/file/project/open-projects.ts'
import { openStores, type Stores } from '../../src/storage/open.ts'
import { prepareHome } from '../../src/system/config/home.ts'
import { systemPathInspector } from '../../src/system/files/path-inspector.ts'
import { createIds, systemRandom } from '../../src/system/random.ts'
import { ensureSecrets } from '../../src/system/config/secrets.ts'
import { fakeClock, type FakeClock } from '../support/fakes/fake-clock.ts'
import { gitRunner } from '../support/worlds/git-world.ts'
import { playedOutside } from '../support/fakes/fake-outside.ts'
import { observeRecords, seenSignals, type Seen, type SeenSignals } from './observe.ts'
import type { Tree } from './recorded-files.ts'
import { DISK, SIZES, type Places } from './setting.ts'
import type { Receipt } from './story.ts'
import { RECEIVED } from '../../src/ports/sent-answer.ts'

export interface Recovered {
  operator_token: string
  /** Signals when the store was opened. */
  found: SeenSignals
  /** Signals after the hub released drained ones. */
  started: SeenSignals
  records: Seen
  /** By sender and key: the signal that a repeated send returns. */
  recalled: Record<string, string>
  /** The seq of the next signal and of the first event. */
  next_seq: number
  next_event_seq: number
}

export const keyName = ({ from, key }: { from: string; key: string }): string => `${from} ${key}`

/** Only the snapshot compares modification times, and only those of the journal. */
export const timeMatters = (name: string): boolean => name.includes(`${path.sep}journal${path.sep}`)

/** Old enough that no lock appears to be held and no incomplete line appears to be in progress. */
const LONG_AGO_MS = 3_600_000

/** Replaces existing files. */
export function build(root: string, tree: Tree): void {
  for (const name of fs.readdirSync(root)) fs.rmSync(path.join(root, name), { recursive: true })
  const long_ago_s = (Date.now() - LONG_AGO_MS) / 1000
  for (const [name, leaf] of tree) {
    if (leaf === 'directory') fs.mkdirSync(name, { mode: 0o700 })
    else {
      fs.writeFileSync(name, leaf.bytes, { mode: 0o600 })
      // In the middle of its millisecond, so that rounding keeps the millisecond.
      const changed_s = timeMatters(name) ? (Math.floor(leaf.changed_at) + 0.5) / 1000 : long_ago_s
      fs.utimesSync(name, changed_s, changed_s)
    }
  }
  for (const [name, leaf] of tree) if (leaf === 'directory') fs.utimesSync(name, long_ago_s, long_ago_s)
}

/** Throws the error of an opening, and if the second start does not find the state left by the first. */
export async function recover(
  places: Places,
  now_ms: number,
  receipts: readonly Receipt[],
): Promise<Recovered> {
  const clock = fakeClock(now_ms)
  prepareHome(places.home)
  fs.mkdirSync(places.project, { recursive: true })
  const { operator_token } = ensureSecrets(places.home)
  const stores = await open(places, clock)
  const found = await signalsOf(stores)
  const { seq: next_event_seq } = stores.events.append({ type: 'x.probe', agent_id: null, data: {} })
  const recalled: Recovered['recalled'] = {}
  for (const { key } of receipts) {
    const known = key === undefined ? null : stores.signals.findByKey(key.from, key.key)
    if (key !== undefined && known !== null) recalled[keyName(key)] = known.signal_id
  }
  const { hub, settled } = await startHub(places, stores, clock)
  await settled()
  const started = await signalsOf(stores)
  await letMend(hub, stores, places)
  const next_seq = await sendOne(hub, stores)
  const after = await signalsOf(stores)
  await hub.close()
  await stores.close()
  const records = await observeRecords(places)

  const again = await open(places, clock)
  const foundAgain = await signalsOf(again)
  const second = await startHub(places, again, clock)
  await second.settled()
  await letMend(second.hub, again, places)
  await second.hub.close()
  await again.close()
  needSame('signals', after, foundAgain)
  needSame('records', records, await observeRecords(places))
  return { operator_token, found, started, records, recalled, next_seq, next_event_seq }
}

const open = ({ home }: Places, clock: FakeClock): Promise<Stores> =>
  openStores('file:', { clock, log, hub_dir: home.hub_dir, disk: DISK, sizes: SIZES })

async function signalsOf({ signals }: Stores): Promise<SeenSignals> {
  const { signals: views } = await signals.query({ limit: Infinity })
  const seqs = new Set(views.map(({ seq }) => seq))
  if (seqs.size < views.length) throw new Error('two signals have the same seq')
  return seenSignals(views)
}

async function startHub(
  { home }: Places,
  stores: Stores,
  clock: FakeClock,
): Promise<{ hub: Hub; settled: () => Promise<void> }> {
  const ids = createIds(clock, systemRandom)
  const spool = openSpool({ directory: home.spool, clock, ids })
  const passes: Promise<unknown>[] = []
  const noted: Spool = {
    ...spool,
    consume(take) {
      const pass = spool.consume(take)
      passes.push(pass)
      return pass
    },
  }
  const hub = await createHub({
    ...{ tenant_id: 'local', version: '0.0.0-test', clock, ids, log, stores, spool: noted },
    secrets: ensureSecrets(home),
    openProject: projectOpener({ log, newId: () => ids.next() }),
    places: systemPathInspector(home),
    git: gitRunner,
    facades: FACADES,
    outside: playedOutside(),
    ownHosts: () => [],
  })
  await hub.start()
  return { hub, settled: async () => void (await Promise.all(passes)) }
}

const OPERATOR = { tenant_id: 'local', kind: 'operator', identity: 'operator' } as const
/**
 * Pending entries of a decision's outbox are delivered before another decision is written. The id does not exist. A
 * call would create a project that is not one yet.
 */
async function letMend(hub: Hub, { records }: Stores, { project }: Places): Promise<void> {
  if ((await records.list('project')).length === 0) return
  const params = { decision_id: '01JZ0000000000000000000000', commit_hash: '0000000' }
  const outcome = await hub.kernel.dispatch({
    ...{ facade: 'decisions', action: 'link_commit', params, caller: OPERATOR, answer: RECEIVED },
    context: { scope: project },
  })
  if (outcome.ok || outcome.problem.code !== 'record_unknown')
    throw new Error(`decisions cannot be written: ${JSON.stringify(outcome)}`)
}

/** Returns its seq. Adds a persona to a home without one. */
async function sendOne(hub: Hub, { signals }: Stores): Promise<number> {
  if (hub.personas.get('dan') === null) await hub.personas.add({ identity: 'dan', surface: 'mcp' })
  const outcome = await hub.kernel.dispatch({
    ...{ facade: 'signals', action: 'send', params: { to: 'dan', intent: 'probe' } },
    ...{ caller: OPERATOR, answer: RECEIVED },
  })
  if (!outcome.ok) throw new Error(`nothing can be sent: ${outcome.problem.detail}`)
  const { signal_id, seq } = outcome.result as unknown as Receipt
  if ((await signals.read(signal_id)) === null) throw new Error('what was just sent is not there')
  return seq
}

function needSame(what: string, first: object, second: object): void {
  if (isDeepStrictEqual(first, second)) return
  throw new Error(`the second start finds other ${what}: ${difference(first as Seen, second as Seen)}`)
}

/** Returns the first difference. */
export function difference(one: Seen, other: Seen): string {
  for (const name of new Set([...Object.keys(one), ...Object.keys(other)])) {
    if (isDeepStrictEqual(one[name], other[name])) continue
    return `${name} was ${JSON.stringify(one[name]) ?? 'not there'}, and is ${JSON.stringify(other[name]) ?? 'not there'}`
  }
  return 'nothing'
}
