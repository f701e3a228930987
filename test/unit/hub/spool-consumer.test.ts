import { beforeEach, describe, expect, test } from 'vitest'
import { ArchiveInput, ReadInput } from '../../../src/contracts/memory/blackboard.ts'
import { TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { createSpoolConsumer } from '../../../src/hub/spool-consumer.ts'
import { silentLog } from '../../../src/ports/log.ts'
import type { LineOutcome } from '../../../src/ports/spool.ts'
import { memoryWorld, type MemoryWorld } from '../../support/worlds/memory-world.ts'

const AT = '2026-03-01T11:00:00.000Z'
let world: MemoryWorld
beforeEach(async () => {
  world = await memoryWorld()
})

/** Returns the outcome of each line. */
async function left(
  lines: readonly (object | string)[],
  blackboard = world.blackboard,
): Promise<LineOutcome[]> {
  const outcomes: LineOutcome[] = []
  const spool = {
    async consume(take: (lines: readonly string[]) => Promise<readonly LineOutcome[]>) {
      outcomes.push(
        ...(await take(lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))))),
      )
      return { taken: 0, refused: 0 }
    },
    close: async () => undefined,
  }
  await createSpoolConsumer({ spool, blackboard, events: world.needs.events, log: silentLog })()
  return outcomes
}
const entries = async () => (await world.blackboard.read(world.bob, ReadInput.parse({}))).entries

const POST = {
  ...{ id: '01KJMHHR00AAAAAAAAAAAAAAAA', at: AT, type: 'post', root: '/projects/bob', identity: 'ann' },
  entry: { entry_type: 'status', summary: 'The tests are green' },
}
const ARCHIVE = {
  ...{ id: '01KJMHHR00BBBBBBBBBBBBBBBB', at: AT, type: 'archive', root: '/projects/bob', trigger: 'commit' },
  before: '2026-03-01T12:00:30.000Z',
}

describe('a spooled line', () => {
  test('a spooled entry is posted under its own id and time, once', async () => {
    expect(await left([POST, POST])).toEqual(['taken', 'taken'])
    expect(await left([POST])).toEqual(['taken'])
    expect(await entries()).toEqual([
      {
        ...{ id: POST.id, timestamp: AT, agent_id: 'ann', entry_type: 'status', tags: [], scope: 'project' },
        ...{ summary: 'The tests are green', detail: '' },
      },
    ])
  })

  test('a spooled entry that was archived is not posted again', async () => {
    await left([POST])
    await world.clock.advance(60_000)
    await world.blackboard.archive(world.bob, ArchiveInput.parse({ summarize: false }))
    await world.clock.advance(86_400_000)
    expect(await left([POST])).toEqual(['taken'])
    expect(await entries()).toEqual([])
  })

  test('a spooled entry that was changed keeps the change', async () => {
    await left([POST])
    const records = world.project('/projects/bob')
    const posted = await records.get('entry', POST.id)
    await records.put('entry', POST.id, { ...posted, summary: 'They are red' })
    expect(await left([POST])).toEqual(['taken'])
    expect(await entries()).toMatchObject([{ summary: 'They are red' }])
  })

  test('a spooled commit archives older entries that are not open, once', async () => {
    await world.post({ entry_type: 'need', summary: 'A review' })
    await world.post({ entry_type: 'finding', summary: 'old' })
    await world.clock.advance(60_000)
    await world.post({ entry_type: 'finding', summary: 'new' })
    expect(await left([ARCHIVE, ARCHIVE])).toEqual(['taken', 'taken'])
    // Archived by another process, at a time when more entries are old.
    await left([{ ...ARCHIVE, before: '2026-03-02T00:00:00.000Z' }])
    const said = (await entries()).map(({ id, summary }) => [id === ARCHIVE.id, summary])
    expect(said).toEqual([
      [true, expect.stringMatching(/^Archive summary: 1 /)],
      [false, 'A review'],
      [false, 'new'],
    ])
  })

  test('a spooled commit archives nothing if the project disables it', async () => {
    const kept = await memoryWorld({ config: 'archive:\n  auto_archive_on_commit: false\n' })
    world = kept
    await world.post({ entry_type: 'finding', summary: 'old' })
    expect(await left([ARCHIVE])).toEqual(['taken'])
    expect(await entries()).toHaveLength(1)
  })

  test('a spooled event of a hook is published', async () => {
    const body = { session_id: 's', hook_event_name: 'Stop', prompt: 'secret' }
    const line = { id: POST.id, at: AT, type: 'hook', client: 'claude-code', identity: 'ann', body }
    expect(await left([line])).toEqual(['taken'])
    expect(world.told().at(-1)).toMatchObject({
      ...{ type: 'hook', agent_id: 'ann' },
      data: { client: 'claude-code', session_id: 's', at: AT, id: POST.id },
    })
    expect(await left([line])).toEqual(['taken'])
    expect(world.told().filter(({ type }) => type === 'hook')).toHaveLength(1)
    expect(JSON.stringify(world.told())).not.toContain('secret')
  })

  test.each<[string, object | string, RegExp]>([
    ['invalid JSON', '{"id":', /line/],
    ['a line without a type', { id: POST.id, at: AT }, /type/],
    ['an unknown type', { ...POST, type: 'gossip' }, /type/],
    ['a line without an id', { ...POST, id: undefined }, /id/],
    ['an entry without a summary', { ...POST, entry: { entry_type: 'status' } }, /summary/],
    ['a place that is not a path', { ...POST, root: 'bob' }, /root/],
    ['an invalid path', { ...POST, root: '/projects/\0bob' }, /root.*NUL/],
    ['a missing directory', { ...POST, root: '/gone/bob' }, /gone\/bob/],
    [
      'a decision',
      { ...POST, entry: { entry_type: 'decision', summary: 'x', rationale: 'y' } },
      /cannot be spooled/,
    ],
  ])('a spooled line is rejected for %s', async (_, line, reason) => {
    expect(await left([line])).toEqual([{ refused: expect.stringMatching(reason) as string }])
    expect(await entries()).toEqual([])
  })

  test('a spooled line waits while its project cannot be written', async () => {
    const full = async (): Promise<void> => {
      throw new TurnbellError('store_unavailable', { detail: 'the disk is full' })
    }
    const elsewhere = { ...POST, root: '/projects/other' }
    const tried: string[] = []
    const postSpooled: MemoryWorld['blackboard']['postSpooled'] = async ({ context }) => {
      tried.push(String(context.scope))
      if (context.scope === POST.root) await full()
      return []
    }
    // Later lines for the same project do not overtake it.
    expect(await left([POST, ARCHIVE, elsewhere], { ...world.blackboard, postSpooled })).toEqual([
      { later: 'the disk is full' },
      { later: 'the disk is full' },
      'taken',
    ])
    expect(tried).toEqual(['/projects/bob', '/projects/other'])
    expect(await left([POST, ARCHIVE])).toEqual(['taken', 'taken'])
  })

  test('an unexpected error with a spooled line is logged as such', async () => {
    const breaks = async () => {
      throw new RangeError('out of it')
    }
    expect(await left([POST], { ...world.blackboard, postSpooled: breaks })).toEqual([
      { broke: 'RangeError: out of it' },
    ])
  })
})

test('a blackboard that has grown too long is archived by half automatically', async () => {
  world = await memoryWorld({ config: 'archive:\n  max_blackboard_entries_before_archive: 10\n' })
  await world.post({ entry_type: 'need', summary: 'A review' })
  for (let n = 0; n < 9; n += 1) await world.post({ entry_type: 'finding', summary: `${n}` })
  await world.blackboard.sweep()
  expect(await entries()).toHaveLength(10)
  for (let n = 9; n < 11; n += 1) await world.post({ entry_type: 'finding', summary: `${n}` })
  await world.blackboard.sweep()
  const said = (await entries()).map(({ summary }) => summary)
  expect(said.slice(0, -1)).toEqual(['A review', '6', '7', '8', '9', '10'])
  expect(said.at(-1)).toMatch(/^Archive summary: 6 entries/)
  expect((await entries()).at(-1)?.agent_id).toBe('turnbell')
  await world.blackboard.sweep()
  expect(await entries()).toHaveLength(7)
})
