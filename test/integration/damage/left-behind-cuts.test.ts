/**
 * Kills a hub between any two steps while it consumes the spool, and again while the next one continues. Steps are
 * operations on the spool's disk, on the records of projects and on the event log.
 */
import { expect, test } from 'vitest'
import type { HubEvent } from '../../../src/contracts/events.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { createSpoolConsumer } from '../../../src/hub/spool-consumer.ts'
import { silentLog } from '../../../src/ports/log.ts'
import type { ProjectStore } from '../../../src/ports/project-store.ts'
import type { RecordStore } from '../../../src/ports/record-store.ts'
import { openSpool } from '../../../src/storage/file/spool/spool.ts'
import { createMemoryEventLog } from '../../../src/storage/memory/event-log.ts'
import { createMemoryRecordStore } from '../../../src/storage/memory/record-store.ts'
import { createIds, systemRandom } from '../../../src/system/random.ts'
import { MemoryDisk, type Operation } from '../../support/disk/memory-disk.ts'
import { memoryProjects } from '../../support/worlds/memory-projects.ts'
import { memoryWorld } from '../../support/worlds/memory-world.ts'

const AT = '2026-03-01T11:00:00.000Z'
const idOf = (letter: string) => `01KJMHHR00${letter.repeat(16)}`
const post = (letter: string, root: string) => ({
  ...{ id: idOf(letter), at: AT, type: 'post', root, identity: 'ann' },
  entry: { entry_type: 'status', summary: letter },
})
const hook = (letter: string) => ({
  ...{ id: idOf(letter), at: AT, type: 'hook', client: 'codex', identity: 'ann', body: { session_id: 's' } },
})
const LINES = [
  hook('A'),
  post('B', '/projects/bob'),
  post('C', '/projects/shut'),
  post('D', '/projects/broken'),
  { ...post('E', '/projects/bob'), type: 'gossip' },
  {
    ...{ id: idOf('F'), at: AT, type: 'archive', root: '/projects/bob', trigger: 'commit' },
    before: '2026-03-01T11:30:00.000Z',
  },
  hook('G'),
  post('H', '/projects/bob'),
]
const DONE_TO_A_DISK: ReadonlySet<Operation> = new Set(['write', 'truncate', 'sync', 'rename', 'remove'])
const PASSES = LIMITS.spool_tries_max + 2

/** State that survives a process. */
interface Kept {
  disk: MemoryDisk
  hub_records: RecordStore
  openProject: (root: string) => ProjectStore | null
  events: readonly HubEvent[]
  /** All puts that took effect. */
  puts: string[]
}

async function left(): Promise<Kept> {
  const disk = new MemoryDisk()
  disk.put('/spool/hooks.jsonl', Buffer.from(LINES.map((line) => `${JSON.stringify(line)}\n`).join('')))
  const hub_records = createMemoryRecordStore()
  const openProject = memoryProjects()
  const world = await memoryWorld({ hub_records, openProject })
  await world.project('/projects/bob').put('entry', idOf('0'), {
    ...{ id: idOf('0'), timestamp: '2026-03-01T10:00:00.000Z', agent_id: 'ann', entry_type: 'finding' },
    ...{ tags: [], scope: 'project', summary: 'old', detail: '' },
  })
  return { disk, hub_records, openProject, events: [], puts: [] }
}

/** Runs one process that dies before a step; returns the number of its steps. */
async function run(kept: Kept, dies_before = Infinity): Promise<number> {
  let steps = 0
  const step = () => {
    steps += 1
    if (steps >= dies_before) throw new Error('killed')
  }
  let pass = 0
  const disk = kept.disk
  disk.fault = (operation) => {
    if (DONE_TO_A_DISK.has(operation)) step()
    return null
  }
  const opened = new Map<string, ProjectStore>()
  const openProject = (root: string): ProjectStore | null => {
    if (root === '/projects/broken') throw new RangeError('it broke')
    const project = opened.get(root) ?? (kept.openProject(root) as ProjectStore)
    if (!opened.has(root)) {
      const isShut = () => root === '/projects/shut' && pass < 2
      opened.set(root, { ...project, records: stepping(project.records, step, kept.puts, isShut) })
    }
    return opened.get(root) as ProjectStore
  }
  const world = await memoryWorld({ hub_records: kept.hub_records, openProject })
  const memory = createMemoryEventLog(world.clock, { before: kept.events })
  const events = {
    ...memory,
    append(event: Parameters<typeof memory.append>[0]) {
      step()
      return memory.append(event)
    },
    async written() {
      step()
      kept.events = memory.read({ limit: Infinity }).events
    },
  }
  let ahead_ms = 0
  const spool = openSpool({
    ...{ directory: '/spool', disk, ids: createIds(world.clock, systemRandom) },
    clock: { now: () => world.clock.now(), monotonic: () => ahead_ms },
  })
  const takeAll = createSpoolConsumer({ spool, blackboard: world.blackboard, events, log: silentLog })
  for (; pass < PASSES && steps < dies_before; pass += 1) {
    await takeAll().catch(() => undefined)
    ahead_ms += LIMITS.spool_quiet_ms
  }
  return steps
}

function stepping(
  records: RecordStore,
  step: () => void,
  puts: string[],
  isShut: () => boolean,
): RecordStore {
  return {
    ...records,
    async put(kind, id, body) {
      step()
      await records.put(kind, id, body)
      puts.push(`${kind.replace(/\/.*/, '')} ${id}`)
    },
    exclusive: async (kind, work) => {
      if (isShut()) throw new TurnbellError('store_unavailable', { detail: 'it is shut' })
      return records.exclusive(kind, (held) =>
        work({
          ...held,
          async put(id, body) {
            step()
            await held.put(id, body)
            puts.push(`${kind} ${id}`)
          },
          async remove(id) {
            step()
            await held.remove(id)
          },
        }),
      )
    },
  }
}

/** Returns the result of consuming the spool. */
async function outcome({ disk, openProject, events, puts }: Kept) {
  disk.fault = () => null
  const ids = async (root: string, kind: string) =>
    (await (openProject(root) as ProjectStore).records.list(kind)).map(({ id, body }) => ({
      id,
      summary: body['summary'],
    }))
  const rejected = disk.content('/spool/rejected.jsonl').toString().trim().split('\n')
  const line_ids = rejected.map((line) => {
    const { line: said } = JSON.parse(line) as { line: string }
    return (JSON.parse(said) as { id: string }).id
  })
  return {
    names: disk.names(),
    board: await ids('/projects/bob', 'entry'),
    archive: await ids('/projects/bob', 'archive/2026-03-01'),
    shut: await ids('/projects/shut', 'entry'),
    told: events.map(({ type, data }) => [type, data['id']]),
    puts: puts.toSorted(),
    rejected: line_ids.toSorted(),
  }
}

const EXPECTED = {
  names: ['/spool/rejected.jsonl'],
  board: [
    { id: idOf('F'), summary: expect.stringMatching(/^Archive summary: 2 entries/) as string },
    { id: idOf('H'), summary: 'H' },
  ],
  archive: [
    { id: idOf('0'), summary: 'old' },
    { id: idOf('B'), summary: 'B' },
  ],
  shut: [{ id: idOf('C'), summary: 'C' }],
  told: [
    ['hook', idOf('A')],
    ['hook', idOf('G')],
  ],
  puts: [
    ...[`archive ${idOf('0')}`, `archive ${idOf('B')}`],
    ...[`entry ${idOf('B')}`, `entry ${idOf('C')}`, `entry ${idOf('F')}`, `entry ${idOf('H')}`],
  ],
  rejected: [idOf('D'), idOf('E')],
}

test('spooled lines are consumed completely', async () => {
  const kept = await left()
  await run(kept)
  expect(await outcome(kept)).toEqual(EXPECTED)
})

test('no line is lost or consumed twice, whatever step the hub is killed at', async () => {
  const steps = await run(await left())
  expect(steps).toBeGreaterThan(40)
  for (let cut = 1; cut <= steps; cut += 1) {
    const kept = await left()
    await run(kept, cut)
    kept.disk = kept.disk.afterKill()
    // Another crash in the remaining steps.
    await run(kept, 1 + ((cut * 7) % 40))
    kept.disk = kept.disk.afterKill()
    await run(kept)
    expect(await outcome(kept), `killed before step ${cut}`).toEqual(EXPECTED)
  }
})

test('no line is lost or recorded partly, whatever step the power is cut at', async () => {
  const steps = await run(await left())
  for (let cut = 1; cut <= steps; cut += 1) {
    const kept = await left()
    await run(kept, cut)
    let drawn = cut
    kept.disk = kept.disk.afterPowerCut((max) => (drawn = (drawn * 31 + 7) % 1_009) % (max + 1))
    await run(kept)
    expect(await outcome(kept), `no power before step ${cut}`).toEqual(EXPECTED)
  }
})
