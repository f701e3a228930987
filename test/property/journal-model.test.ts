/** The file store behaves like the reference store for any sequence of commands, also after a restart. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openFileSignalStore } from '../../src/storage/file/signals/signal-store.ts'
import { createMemorySignalStore } from '../../src/storage/memory/signal-store.ts'
import { MemoryDisk } from '../support/disk/memory-disk.ts'
import { commandsAndCompaction, Script, type Command } from '../support/store-commands.ts'
import { stateOf } from '../support/store-state.ts'

type Step =
  | Command
  | { do: 'kill' | 'reopen' | 'kill without snapshot' }
  | { do: 'together'; commands: Command[] }

const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: commandsAndCompaction },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom('kill' as const, 'reopen' as const, 'kill without snapshot' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('together' as const),
      // The order is arbitrary, so the clock does not change between them.
      commands: fc.array(
        commandsAndCompaction.filter((command) => command.do !== 'pass' && command.do !== 'stepBack'),
        { minLength: 2, maxLength: 6 },
      ),
    }),
  },
)

/** Writes the buffered stages to the journal. */
const COMMIT: Command = {
  do: 'append',
  draft: {
    ...{ to: 'ada', from: 'bob', priority: 5, intent: 'note', key: undefined, session: undefined },
    ...{ reply: false, ttl_ms: 1000, payload: null },
  },
}
const isMark = (command: Command) => command.do === 'mark'

test('the file store agrees with the reference on any sequence of commands, kills and restarts', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(steps, { minLength: 1, maxLength: 60, size: 'max' }),
      fc.constantFrom(400, 3000, 1_000_000),
      async (script, segment_bytes_max) => {
        const world = new Script()
        let disk = new MemoryDisk()
        const open = () =>
          openFileSignalStore({ directory: '/hub', clock: world.clock, disk, segment_bytes_max })
        const reference = createMemorySignalStore(world.clock)
        let store = await open()
        const runInBoth = async (command: Command) => {
          const run = await world.plan(command)
          const [answer, expected] = await Promise.all([run(store), run(reference)])
          expect(answer).toEqual(expected)
        }
        /** Whether observed stages may wait for the next commit, which writes them after the entry that causes it. */
        let marked = false
        const writeMarks = async () => {
          if (marked) await runInBoth(COMMIT)
          // Stages that begin a segment are in a commit of their own, for which a query waits.
          await store.query({ limit: 1 })
          marked = false
        }
        for (const step of script) {
          marked ||= step.do === 'mark' || (step.do === 'together' && step.commands.some(isMark))
          switch (step.do) {
            case 'kill':
            case 'kill without snapshot':
              // A kill may lose waiting stages, which limit the times of later stages.
              await writeMarks()
              disk = disk.afterKill()
              if (step.do === 'kill without snapshot') disk.remove('/hub/snapshot/index.bin')
              store = await open()
              expect(await stateOf(store)).toEqual(await stateOf(reference))
              break
            case 'reopen':
              await store.close()
              store = await open()
              expect(await stateOf(store)).toEqual(await stateOf(reference))
              break
            case 'together': {
              const plans = []
              for (const command of step.commands) plans.push(await world.plan(command))
              const answers = plans.map((run) => run(store))
              const expected = await Promise.all(plans.map((run) => run(reference)))
              expect(await Promise.all(answers)).toEqual(expected)
              break
            }
            case 'stepBack':
              // A later entry with an earlier time would be read first.
              await writeMarks()
              await runInBoth(step)
              break
            default:
              await runInBoth(step)
          }
        }
        expect(await stateOf(store)).toEqual(await stateOf(reference))
      },
    ),
    { numRuns: 60 },
  )
})
