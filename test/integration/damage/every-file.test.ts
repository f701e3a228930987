/** Damages every file and directory of a hub's store and start in every way, with the hub stopped and running. */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FindingDocument } from '../../../src/cli/doctor/finding.ts'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { openHubLogs } from '../../../src/hub/observability/logs.ts'
import { silentLog } from '../../../src/ports/log.ts'
import type { GivenUp } from '../../../src/storage/file/signals/give-up.ts'
import { openStores, type StoreOptions } from '../../../src/storage/open.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { loadConfig } from '../../../src/system/config/config.ts'
import { prepareHome, resolveHome } from '../../../src/system/config/home.ts'
import { ensureSecrets } from '../../../src/system/config/secrets.ts'
import { cellsOf, outcomeOf } from '../../support/disk/damage-table.ts'
import { DAMAGES } from '../../support/disk/damage.ts'
import { eventually } from '../../support/eventually.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { signalMaker } from '../../support/signals.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { testCli } from '../../support/processes/test-cli.ts'

const clock = fakeClock()
const make = signalMaker(clock)
let cells = 0
afterAll(() => {
  fs.rmSync(template.root, { recursive: true, force: true })
  console.log(`files of a home, damaged: ${cells} cells`)
})

const STORE = [
  'hub/journal/0000000001.jsonl',
  'hub/journal/epoch',
  'hub/high-water.json',
  'hub/snapshot/index.bin',
  'hub/events/events.jsonl',
  'hub/records/persona/ada.json',
  ...['hub', 'hub/journal', 'hub/snapshot', 'hub/events', 'hub/records', 'hub/records/persona'],
]
const START = [
  ...['config.yaml', 'secrets/operator.token', 'secrets/signing.key'],
  ...['logs/hub.log', 'logs/dispatch.jsonl', 'secrets', 'logs', 'spool'],
]

interface World {
  root: string
  receipts: { signal_id: string; seq: number }[]
}

/** State that the stores report to the operator. */
interface Told {
  warnings: object[]
}

const open = (root: string, more: Partial<StoreOptions> = {}, told: Told = { warnings: [] }) =>
  openStores('file:', {
    ...{ clock, hub_dir: path.join(root, 'hub'), ...more },
    log: { ...silentLog, warn: (fields) => void told.warnings.push(fields) },
  })

/** Reads everything that a starting hub reads. */
function startParts(root: string): void {
  const home = resolveHome({}, root)
  const config = loadConfig(home.config, {})
  prepareHome(home)
  const logs = openHubLogs(home, config.log.level, systemClock)
  logs.log.error({}, 'a line')
  logs.close()
  ensureSecrets(home)
}

let template: World
beforeAll(async () => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'turnbell-'))
  fs.writeFileSync(path.join(root, 'config.yaml'), 'personas: {ada: {surface: mcp}}\n', { mode: 0o600 })
  startParts(root)
  fs.writeFileSync(path.join(root, 'logs/dispatch.jsonl'), '{}\n', { mode: 0o600 })
  fs.writeFileSync(path.join(root, 'spool/hooks.jsonl'), '{"not":"a hook"}\n', { mode: 0o600 })
  const stores = await open(root)
  const receipts = []
  for (let count = 0; count < 3; count += 1) receipts.push(await stores.signals.append(make.signal()))
  await stores.records.put('persona', 'ada', { identity: 'ada' })
  stores.events.append({ type: 'persona.added', agent_id: 'ada', data: {} })
  await stores.close()
  template = { root, receipts }
})

function copied(): World {
  const root = path.join(temporaryDirectory(), 'home')
  fs.cpSync(template.root, root, { recursive: true, preserveTimestamps: true })
  return { root, receipts: [...template.receipts] }
}

/** Returns the code of the error, or `heals`. */
async function outcome(act: () => unknown): Promise<string> {
  try {
    await act()
    return 'heals'
  } catch (error) {
    if (!(error instanceof TurnbellError)) throw error
    expect(error.hint).not.toBe('')
    return error.code
  }
}

async function doctorOn(root: string): Promise<FindingDocument[]> {
  const turnbell = testCli({ home: root, env: { PATH: '' } })
  await turnbell.run('doctor', '--json')
  return turnbell.json<{ findings: FindingDocument[] }>().findings
}

const findingOn = (findings: readonly FindingDocument[], file: string) =>
  findings.find(({ state, detail }) => state === 'broken' && detail.includes(file))

/**
 * doctor reports the damage; its advice is followed until no finding is left: a command, or a start with `--repair`.
 */
async function wayBack(root: string, file: string): Promise<{ repair: boolean }> {
  for (let advice = 0; ; advice += 1) {
    const found = findingOn(await doctorOn(root), file)
    if (found === undefined) {
      expect(advice, `doctor says nothing of ${file}`).toBeGreaterThan(0)
      return { repair: false }
    }
    expect(advice, `the advice changes nothing: ${found.mend}`).toBeLessThan(3)
    const commands = [...(found.mend ?? '').matchAll(/`([^`]+)`/g)].map(([, command]) => command ?? '')
    if (commands.includes('turnbell hub --repair')) return { repair: true }
    const command = commands.find((one) => /^(rm|mv) /.test(one))
    expect(command, `no command in: ${found.mend}`).toBeDefined()
    execFileSync('sh', ['-c', command ?? 'false'])
  }
}

/**
 * Opens the store and compares it with the receipts: missing signals must be reported, and no number may be used twice.
 */
async function noneLostSilently(
  { root, receipts }: World,
  { repair, anew }: { repair: boolean; anew: boolean },
): Promise<void> {
  const told: Told = { warnings: [] }
  const stores = await open(root, { repair }, told)
  const kept = await Promise.all(receipts.map(({ signal_id }) => stores.signals.read(signal_id)))
  const lost = kept.filter((view) => view === null).length
  if (anew) expect(lost).toBe(receipts.length)
  else if (lost > 0) {
    expect(repair).toBe(true)
    const given_up = told.warnings.find((fields) => 'goes_on_after' in fields) as GivenUp
    expect(Math.max(given_up.lost ?? 0, given_up.known_seq - given_up.last_seq)).toBe(lost)
  }
  const { seq } = await stores.signals.append(make.signal())
  if (anew) expect(seq).toBe(1)
  else expect(seq).toBeGreaterThan(Math.max(...receipts.map((receipt) => receipt.seq)))
  await stores.close()
}

describe('with the hub stopped', () => {
  test.each(cellsOf(STORE))('a stopped hub with damage to $path: $damage', async ({ path: file, damage }) => {
    const world = copied()
    const at = path.join(world.root, file)
    DAMAGES[damage](at)
    const wanted = outcomeOf(file, 'stopped', damage)
    const found = await outcome(async () => {
      const stores = await open(world.root)
      try {
        await stores.records.get('persona', 'ada')
        await stores.records.put('persona', 'bob', { identity: 'bob' })
      } finally {
        await stores.close()
      }
    })
    expect(found).toBe(wanted === 'starts empty' ? 'heals' : wanted)
    const refused = wanted !== 'heals' && wanted !== 'starts empty'
    const { repair } = refused ? await wayBack(world.root, at) : { repair: false }
    await noneLostSilently(world, { repair, anew: file === 'hub' })
    cells += 1
  })

  test.each(cellsOf(START))('a start with damage to $path: $damage', async ({ path: file, damage }) => {
    const { root } = copied()
    const at = path.join(root, file)
    DAMAGES[damage](at)
    const wanted = outcomeOf(file, 'stopped', damage)
    expect(await outcome(() => startParts(root))).toBe(wanted)
    if (wanted !== 'heals' && file === 'config.yaml') {
      // Only its author knows the right contents, so doctor only names the file.
      const findings = await doctorOn(root)
      expect(findings.find(({ check }) => check === 'config')).toMatchObject({
        state: 'broken',
        detail: expect.stringContaining('config.yaml') as string,
      })
      fs.rmSync(at, { recursive: true })
    } else if (wanted !== 'heals') await wayBack(root, at)
    startParts(root)
    cells += 1
  })
})

describe('under a running hub', () => {
  test.each(cellsOf(STORE))('a running hub with damage to $path: $damage', async ({ path: file, damage }) => {
    const world = copied()
    let writable = 0
    const own = fakeClock()
    const stores = await open(world.root, { clock: own, onWritable: () => (writable += 1) })
    world.receipts.push(await stores.signals.append(make.signal()))
    // Writes go to the newest segment.
    const at = path.join(world.root, file).replace('0000000001.jsonl', '0000000002.jsonl')
    DAMAGES[damage](at)
    const wanted = outcomeOf(file, 'running', damage)
    const found = await outcome(async () => {
      world.receipts.push(await stores.signals.append(make.signal()))
      await stores.records.put('persona', 'bob', { identity: 'bob' })
    })
    expect(found).toBe(wanted)
    const { writable: writes } = stores.signals.health()
    const holds_signals = wanted === 'heals' || file.startsWith('hub/records')
    expect(writes).toBe(holds_signals)
    // Only a missing epoch file is recreated automatically.
    if (!writes && file === 'hub/journal/epoch' && wanted === 'store_unavailable') {
      await eventually('it goes on', () => own.advance(10_000).then(() => writable === 1))
    } else {
      await own.advance(60_000)
      expect(writable).toBe(0)
    }
    await stores.close()
    const broken = findingOn(await doctorOn(world.root), at)
    if (!writes && writable === 0 && !(file === 'hub' && broken === undefined))
      expect(broken, 'doctor finds it').toBeDefined()
    const { repair } = broken === undefined ? { repair: false } : await wayBack(world.root, at)
    // If the directory still exists, the hub has recorded in it the end of its journal.
    await noneLostSilently(world, { repair, anew: file === 'hub' && damage !== 'emptied' })
    cells += 1
  })
})
