/** Invariants for any interleaving: no signal is under two live leases, and a completed one is never returned again. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Confirmed, Drained, Released, SignalStore } from '../../src/ports/signal-store.ts'
import { openFileSignalStore } from '../../src/storage/file/signals/signal-store.ts'
import { MemoryDisk } from '../support/disk/memory-disk.ts'
import { commandsAndCompaction, Script, type Command } from '../support/store-commands.ts'
import { PERSONAS } from '../support/store-state.ts'

// A replay deliberately returns a completed signal again.
const commands = commandsAndCompaction.filter((command) => command.do !== 'replay')

class Watcher {
  private readonly held = new Set<string>()
  private readonly completed = new Set<string>()

  /** Records the responses in call order, which is the order in which the calls took effect. */
  note(command: Command, answer: unknown): void {
    switch (command.do) {
      case 'drain':
        for (const { signal } of answer as Drained[]) {
          expect(this.completed.has(signal.signal_id)).toBe(false)
          expect(this.held.has(signal.signal_id)).toBe(false)
          this.held.add(signal.signal_id)
        }
        return
      case 'release':
      case 'releaseSignals':
        for (const { signal_id } of answer as Released[]) expect(this.held.delete(signal_id)).toBe(true)
        return
      case 'confirm':
        for (const signal_id of (answer as Confirmed).confirmed) this.held.delete(signal_id)
        return
      case 'complete':
        for (const signal_id of (answer as { completed: string[] }).completed) {
          this.held.delete(signal_id)
          this.completed.add(signal_id)
        }
        return
      default:
    }
  }

  check(store: SignalStore): void {
    const held = store.leases().flatMap(({ signal_ids }) => signal_ids)
    expect(new Set(held).size).toBe(held.length)
    const waiting = PERSONAS.flatMap((identity) =>
      store.peek(identity, 100_000).map(({ signal_id }) => signal_id),
    )
    expect(new Set(waiting).size).toBe(waiting.length)
    for (const id of [...held, ...waiting]) expect(this.completed.has(id)).toBe(false)
    for (const id of held) expect(waiting).not.toContain(id)
  }
}

test('concurrent commands, kills and restarts never break the invariants of leases', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(commands, { minLength: 1, maxLength: 8 }), {
        minLength: 1,
        maxLength: 15,
        size: 'max',
      }),
      fc.array(fc.nat({ max: 4 })),
      async (groups, restarts) => {
        const world = new Script()
        let disk = new MemoryDisk()
        const open = () =>
          openFileSignalStore({ directory: '/hub', clock: world.clock, disk, segment_bytes_max: 2000 })
        let store = await open()
        const watcher = new Watcher()
        for (const [place, group] of groups.entries()) {
          const plans = []
          for (const command of group) plans.push({ command, run: await world.plan(command) })
          const answers = await Promise.all(plans.map(({ run }) => run(store)))
          for (const [number, { command }] of plans.entries()) watcher.note(command, answers[number])
          watcher.check(store)
          if (restarts[place] === 0) {
            disk = disk.afterKill()
            store = await open()
            watcher.check(store)
          }
        }
      },
    ),
    { numRuns: 60 },
  )
})

test('concurrent drains share the queue and return each signal once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 60 }),
      fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 10 }),
      async (count, limits) => {
        const world = new Script()
        const store = await openFileSignalStore({
          directory: '/hub',
          clock: world.clock,
          disk: new MemoryDisk(),
        })
        const signals = Array.from({ length: count }, (_, place) =>
          world.make.signal({ priority: place % 10 }),
        )
        const appends = signals.map((signal) => store.append(signal))
        const drains = limits.map((limit) =>
          store.drain('bob', { ...world.make.lease(), limit, now: world.make.at() }),
        )
        const given = (await Promise.all(drains)).flat().map(({ signal }) => signal)
        await Promise.all(appends)
        const inOrder = [...signals].sort((a, b) => b.priority - a.priority)
        expect(given).toEqual(
          inOrder.slice(
            0,
            limits.reduce((sum, limit) => sum + limit, 0),
          ),
        )
      },
    ),
    { numRuns: 40 },
  )
})
