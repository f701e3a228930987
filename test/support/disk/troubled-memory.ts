/**
 * Shared memory over records that sometimes cannot be written, and processes that die while they write. Acts as bob, in
 * /projects/bob.
 */
import { expect } from 'vitest'
import { ReadInput } from '../../../src/contracts/memory/blackboard.ts'
import type { Decision } from '../../../src/contracts/memory/decision.ts'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../src/ports/log.ts'
import type { RecordStore } from '../../../src/ports/record-store.ts'
import { memoryWorld, type MemoryWorld } from '../worlds/memory-world.ts'
import { troubledProjects, type Trouble } from './troubled-records.ts'

export interface TroubledMemory {
  /** Replaced by each restart. */
  world: MemoryWorld
  trouble: Trouble
  /** Whether listing the archive days fails. */
  archives_shut: boolean
  logged: { level: string; message: string }[]
  /** Returns the files' contents, even while access fails. */
  kept(): RecordStore
  /** Returns how often this process has listed records. */
  looks(): number
  refuse(...kinds: string[]): void
  mend(): void
  /** Starts another process over the same files. */
  restart(): Promise<void>
  /** Runs `work` until the process dies of a fault, then starts another one without faults. */
  dieIn(work: () => Promise<unknown>): Promise<void>
  /** Resolves when rejected writes have been retried. */
  later(): Promise<void>
  /** Makes a change unrelated to the others. */
  another(): Promise<unknown>
  /** Returns the summaries of the entries. */
  said(wanted?: object): Promise<string[]>
  read(id: string): Promise<Decision>
  statusOf(id: string): Promise<string>
}

export const refused = () => new TurnbellError('store_unavailable', { detail: 'it is full' })
export const tooLarge = () => new TurnbellError('record_too_large', { detail: 'it is too large' })

export async function troubledMemory(): Promise<TroubledMemory> {
  const logged: TroubledMemory['logged'] = []
  const at = (level: string) => (_: object, message: string) => void logged.push({ level, message })
  const log = { ...silentLog, warn: at('warn'), error: at('error') }
  let projects = troubledProjects(
    (kind, body) => memory.trouble(kind, body),
    (project) => ({
      async archivedDays() {
        if (memory.archives_shut) throw refused()
        return project.archivedDays()
      },
    }),
  )
  const memory: TroubledMemory = {
    world: await memoryWorld({ openProject: projects.openProject, log }),
    ...{ trouble: () => null, archives_shut: false, logged },
    kept: () => projects.untroubled('/projects/bob'),
    looks: () => projects.looks(),
    refuse: (...kinds) => void (memory.trouble = (kind) => (kinds.includes(kind) ? refused() : null)),
    mend: () => void (memory.trouble = () => null),
    async restart() {
      projects = await projects.left()
      const { hub_records, clock } = memory.world
      memory.world = await memoryWorld({ hub_records, openProject: projects.openProject, log })
      // Ids that two processes create in the same millisecond have no defined order.
      await memory.world.clock.advance(clock.now() - memory.world.clock.now() + 1_000)
    },
    async dieIn(work) {
      const ended = work().then(() => 'ended')
      expect(await Promise.race([ended, projects.died])).toBe('died')
      memory.mend()
      await memory.restart()
    },
    later: () => memory.world.clock.advance(LIMITS.outbox_retry_ms),
    another: () => memory.world.decide({ summary: 'Another', domain: 'elsewhere', scope: 'docs/' }),
    async said(wanted = {}) {
      const { world } = memory
      const { entries } = await world.blackboard.read(world.bob, ReadInput.parse(wanted))
      return entries.map(({ summary }) => summary)
    },
    read: (id) => memory.world.decisions.read(memory.world.bob, id),
    statusOf: async (id) => (await memory.read(id)).status,
  }
  return memory
}
