/**
 * Checks the state that a restart finds after a crash: it is a state that existed, and every confirmed change is in it.
 * Crashes are tried after any prefix of the journal's bytes, after any failed disk operation, and as a kill or a power
 * cut between any two of them.
 */
import fc from 'fast-check'
import { isDeepStrictEqual as equals } from 'node:util'
import { describe, expect, test } from 'vitest'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import type { SignalStore } from '../../../src/ports/signal-store.ts'
import { openFileSignalStore } from '../../../src/storage/file/signals/signal-store.ts'
import { createMemorySignalStore } from '../../../src/storage/memory/signal-store.ts'
import { MemoryDisk, systemError, type Choose } from '../../support/disk/memory-disk.ts'
import { commands, commandsAndCompaction, Script, type Command } from '../../support/store-commands.ts'
import { PERSONAS, stateOf, type StoreState } from '../../support/store-state.ts'

const JOURNAL = /^\/hub\/journal\/\d+\.jsonl$/

describe('recovery from a prefix of the journal', () => {
  /** Marks are written together with other lines, so the end of such a command has no single position. */
  const unmarked = commands.filter((command) => command.do !== 'mark')

  /** Runs commands one after another, and records the journal's length and the state after each. */
  async function record(script: readonly Command[], segment_bytes_max: number) {
    const world = new Script()
    const disk = new MemoryDisk()
    const store = await openFileSignalStore({
      directory: '/hub',
      clock: world.clock,
      disk,
      segment_bytes_max,
    })
    const truths: { bytes: number; state: StoreState }[] = [{ bytes: 0, state: await stateOf(store) }]
    for (const command of script) {
      await (
        await world.plan(command)
      )(store)
      truths.push({ bytes: Buffer.concat(segments(disk)).length, state: await stateOf(store) })
    }
    return { world, disk, truths }
  }

  async function checkPrefix(recorded: Awaited<ReturnType<typeof record>>, length: number) {
    const { world, disk, truths } = recorded
    const cut = new MemoryDisk()
    let left = length
    for (const name of disk.names()) {
      if (!JOURNAL.test(name)) continue
      const bytes = disk.content(name)
      if (left > 0) cut.put(name, bytes.subarray(0, left))
      left -= bytes.length
    }
    const store = await openFileSignalStore({ directory: '/hub', clock: world.clock, disk: cut })
    const expected = truths.findLast(({ bytes }) => bytes <= length)
    expect(await stateOf(store)).toEqual(expected?.state)
  }

  test('recovery from a prefix of any length gives the state of that moment', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(unmarked, { minLength: 5, maxLength: 30, size: 'max' }),
        fc.constantFrom(500, 2000, 1_000_000),
        fc.array(fc.nat(), { minLength: 20, maxLength: 20 }),
        async (script, segment_bytes_max, lengths) => {
          const recorded = await record(script, segment_bytes_max)
          const all = recorded.truths.at(-1)!.bytes
          for (const length of lengths) await checkPrefix(recorded, length % (all + 1))
        },
      ),
      { numRuns: 15 },
    )
  })

  test('recovery from a journal cut at any byte gives the state of that moment', async () => {
    const [script] = fc.sample(fc.array(unmarked, { minLength: 12, maxLength: 12 }), { numRuns: 1, seed: 7 })
    const recorded = await record(script!, 1200)
    for (let length = 0; length <= recorded.truths.at(-1)!.bytes; length += 1) {
      await checkPrefix(recorded, length)
    }
  })
})

describe('recovery from a crash', () => {
  type Blow = 'one failure' | 'the disk stays broken' | 'kill' | 'power cut'

  /**
   * Runs groups of commands, each group in one tick, until the disk operation `at` (counted from the first) fails.
   * Checks the state that a restart finds.
   */
  async function strike(
    groups: readonly Command[][],
    options: { at: number; blow: Blow; choose: Choose; code: string },
  ) {
    const { at, blow, choose, code } = options
    const world = new Script()
    const disk = new MemoryDisk()
    const open = (disk: MemoryDisk) =>
      openFileSignalStore({ directory: '/hub', clock: world.clock, disk, segment_bytes_max: 900 })
    const reference = createMemorySignalStore(world.clock)
    const truths = [await stateOf(reference)]
    /** Numbers of commands, counted from 1, that succeeded. */
    const answered: number[] = []
    let called = 0
    /** Rejected by a store that continues; they must have no effect. */
    const refused = new Set<number>()

    let operations = 0
    let crashed: { disk: MemoryDisk; answered: number[]; called: number } | null = null
    disk.fault = () => {
      operations += 1
      if (operations < at) return null
      if (blow === 'one failure') return operations === at ? systemError(code) : null
      if (blow !== 'the disk stays broken') {
        crashed ??= {
          disk: blow === 'kill' ? disk.afterKill() : disk.afterPowerCut(choose),
          answered: [...answered],
          called,
        }
      }
      return systemError(code)
    }

    let store: SignalStore
    try {
      store = await open(disk)
    } catch (error) {
      // The failure happened during opening, so there is no earlier state.
      expect(error).toHaveProperty('code')
      disk.fault = () => null
      const struck: MemoryDisk = (crashed as { disk: MemoryDisk } | null)?.disk ?? disk.afterKill()
      expect(await stateOf(await open(struck))).toEqual(truths[0])
      return { operations }
    }
    for (const group of groups) {
      const plans: { command: Command; run: (store: SignalStore) => Promise<unknown> }[] = []
      for (const command of group) plans.push({ command, run: await world.plan(command) })
      const answers: Promise<unknown>[] = []
      for (const { command, run } of plans) {
        called += 1
        const mine = called
        const answer = run(store).then(
          () => void answered.push(mine),
          (error: unknown) => {
            expect(error).toBeInstanceOf(TurnbellError)
            expect(error).toMatchObject({ code: 'store_unavailable' })
            // Signals that a compaction has forgotten stay forgotten; only the rewrite failed.
            if (store.health().writable && command.do !== 'compact') refused.add(mine)
          },
        )
        answers.push(answer)
      }
      await Promise.all(answers)
      for (const { run } of plans) {
        if (!refused.has(truths.length)) await run(reference)
        truths.push(await stateOf(reference))
      }
      if (!store.health().writable) break
    }
    const end = crashed ?? { disk: null, answered, called }
    disk.fault = () => null
    // A confirmed change proves all earlier ones; a command without a change proves nothing.
    const candidatesOf = ({ answered, called }: { answered: number[]; called: number }) => {
      const changes = answered.filter((number) => !equals(truths[number], truths[number - 1]))
      return truths.slice(Math.max(0, ...changes), called + 1)
    }
    if (!store.health().writable) {
      // Until it is reopened, the store returns the state that survived.
      const told = await stateOf(store)
      expect(candidatesOf({ answered, called }).map((state) => asToldDead(state, told))).toContainEqual(
        asToldDead(told, told),
      )
    }
    // The restart may fail as well, while it truncates, removes and raises the epoch.
    const left: MemoryDisk = end.disk ?? disk.afterKill()
    const second_at = 1 + choose(60)
    let second: MemoryDisk | null = null
    let restarting = 0
    left.fault = () => {
      restarting += 1
      if (restarting < second_at) return null
      second ??= choose(1) === 0 ? left.afterKill() : left.afterPowerCut(choose)
      return systemError(code)
    }
    await open(left).catch((error: unknown) => expect(error).toHaveProperty('code'))
    left.fault = () => null
    const restarted = await open(second ?? left.afterKill())
    const found = await stateOf(restarted)
    expect(candidatesOf(end)).toContainEqual(found)

    // The store works afterwards.
    const more = world.make.signal()
    expect(await restarted.append(more)).toMatchObject({ seq: found.health.last_seq + 1 })
    return { operations }
  }

  const groups = fc.array(fc.array(commandsAndCompaction, { minLength: 1, maxLength: 4 }), {
    minLength: 8,
    maxLength: 20,
    size: 'max',
  })
  const blow = fc.constantFrom<Blow[]>(
    'one failure',
    'the disk stays broken',
    'kill',
    'power cut',
    'power cut',
  )

  test('recovery from a crash at any moment keeps confirmed changes and adds none', async () => {
    await fc.assert(
      fc.asyncProperty(
        groups,
        fc.array(fc.tuple(fc.nat(), blow, fc.infiniteStream(fc.nat())), { minLength: 8, maxLength: 8 }),
        fc.constantFrom('EIO', 'ENOSPC'),
        async (groups, blows, code) => {
          const { operations } = await strike(groups, {
            at: Infinity,
            blow: 'kill',
            choose: () => 0,
            code,
          })
          for (const [pick, blow, stream] of blows) {
            const choose = (max: number) => (stream.next().value as number) % (max + 1)
            await strike(groups, { at: 1 + (pick % operations), blow, choose, code })
          }
        },
      ),
      { numRuns: 20 },
    )
  })
})

/**
 * Returns the part of a state that a read-only store reports. Forgotten signals stay forgotten, also if their expiry was
 * undone. Signals returned to a lease are last in it, because their order matters only for a release, which the store
 * rejects.
 */
function asToldDead(state: StoreState, told: StoreState) {
  const { views, leases, waiting, counts, bodies, depths, health, ...rest } = state
  const kept = new Set(told.views.map(({ signal_id }) => signal_id))
  const forgotten = waiting.map((signals) => signals.filter(({ signal_id }) => !kept.has(signal_id)).length)
  const lessForgotten = (identity: string, count: number) =>
    count - (forgotten[PERSONAS.indexOf(identity)] as number)
  return {
    ...rest,
    pending: health.pending - forgotten.reduce((sum, count) => sum + count, 0),
    counts: counts.map((count, place) => lessForgotten(PERSONAS[place] as string, count)),
    depths: depths
      .map(([identity, depth]) => [identity, lessForgotten(identity, depth)] as const)
      .filter(([, depth]) => depth > 0),
    waiting: waiting.map((signals) => signals.filter(({ signal_id }) => kept.has(signal_id))),
    bodies: bodies.map((signals) => signals.filter(({ signal }) => kept.has(signal.signal_id))),
    views: views.filter(({ signal_id }) => kept.has(signal_id)),
    leases: leases.map((lease) => ({ ...lease, signal_ids: lease.signal_ids.toSorted() })),
  }
}

function segments(disk: MemoryDisk): Buffer[] {
  return disk
    .names()
    .filter((name) => JOURNAL.test(name))
    .map((name) => disk.content(name))
}
