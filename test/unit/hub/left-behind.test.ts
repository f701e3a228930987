import { beforeEach, describe, expect, test } from 'vitest'
import { ArchiveInput, ReadInput } from '../../../src/contracts/blackboard.ts'
import { TurnbellError } from '../../../src/contracts/errors.ts'
import { leftBehindTaker } from '../../../src/hub/left-behind.ts'
import { silentLog } from '../../../src/ports/log.ts'
import type { Taken } from '../../../src/ports/spool.ts'
import { memoryWorld, type MemoryWorld } from '../../support/memory-world.ts'

const AT = '2026-03-01T11:00:00.000Z'
let world: MemoryWorld
beforeEach(async () => {
  world = await memoryWorld()
})

/** What becomes of each line. */
async function left(lines: readonly (object | string)[], blackboard = world.blackboard): Promise<Taken[]> {
  const outcomes: Taken[] = []
  const spool = {
    async takeAll(take: (line: string) => Promise<Taken>) {
      for (const line of lines)
        outcomes.push(await take(typeof line === 'string' ? line : JSON.stringify(line)))
      return { taken: 0, refused: 0 }
    },
    close: async () => undefined,
  }
  await leftBehindTaker({ spool, blackboard, events: world.needs.events, log: silentLog })()
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

describe('what was left behind', () => {
  test('is posted under its own id and time, and only once', async () => {
    expect(await left([POST, POST])).toEqual(['taken', 'taken'])
    expect(await left([POST])).toEqual(['taken'])
    expect(await entries()).toEqual([
      {
        ...{ id: POST.id, timestamp: AT, agent_id: 'ann', entry_type: 'status', tags: [], scope: 'project' },
        ...{ summary: 'The tests are green', detail: '' },
      },
    ])
  })

  test('is not posted again where it was archived since', async () => {
    await left([POST])
    await world.clock.advance(60_000)
    await world.blackboard.archive(world.bob, ArchiveInput.parse({ summarize: false }))
    await world.clock.advance(86_400_000)
    expect(await left([POST])).toEqual(['taken'])
    expect(await entries()).toEqual([])
  })

  test('stays as somebody has changed it since', async () => {
    await left([POST])
    const records = world.project('/projects/bob')
    const posted = await records.get('entry', POST.id)
    await records.put('entry', POST.id, { ...posted, summary: 'They are red' })
    expect(await left([POST])).toEqual(['taken'])
    expect(await entries()).toMatchObject([{ summary: 'They are red' }])
  })

  test('archives what a commit made old, but what is open, and only once', async () => {
    await world.post({ entry_type: 'need', summary: 'A review' })
    await world.post({ entry_type: 'finding', summary: 'old' })
    await world.clock.advance(60_000)
    await world.post({ entry_type: 'finding', summary: 'new' })
    expect(await left([ARCHIVE, ARCHIVE])).toEqual(['taken', 'taken'])
    // Of another process, and of a time when more is old.
    await left([{ ...ARCHIVE, before: '2026-03-02T00:00:00.000Z' }])
    const said = (await entries()).map(({ id, summary }) => [id === ARCHIVE.id, summary])
    expect(said).toEqual([
      [true, expect.stringMatching(/^Archive summary: 1 /)],
      [false, 'A review'],
      [false, 'new'],
    ])
  })

  test('archives nothing where the project wants none of it', async () => {
    const kept = await memoryWorld({ config: 'archive:\n  auto_archive_on_commit: false\n' })
    world = kept
    await world.post({ entry_type: 'finding', summary: 'old' })
    expect(await left([ARCHIVE])).toEqual(['taken'])
    expect(await entries()).toHaveLength(1)
  })

  test('is told as an event where a hook said it', async () => {
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
    ['what is no JSON', '{"id":', /line/],
    ['a line of no type', { id: POST.id, at: AT }, /type/],
    ['an unknown type', { ...POST, type: 'gossip' }, /type/],
    ['a line without an id', { ...POST, id: undefined }, /id/],
    ['an entry without a summary', { ...POST, entry: { entry_type: 'status' } }, /summary/],
    ['a place that is no path', { ...POST, root: 'bob' }, /root/],
    ['a path that cannot be one', { ...POST, root: '/projects/\0bob' }, /root.*NUL/],
    ['a directory that is gone', { ...POST, root: '/gone/bob' }, /gone\/bob/],
    [
      'a decision',
      { ...POST, entry: { entry_type: 'decision', summary: 'x', rationale: 'y' } },
      /never left behind/,
    ],
  ])('is refused for %s', async (_, line, reason) => {
    expect(await left([line])).toEqual([{ refused: expect.stringMatching(reason) as string }])
    expect(await entries()).toEqual([])
  })

  test('waits while its project cannot be written', async () => {
    const full = async (): Promise<void> => {
      throw new TurnbellError('store_unavailable', { detail: 'the disk is full' })
    }
    const elsewhere = { ...POST, root: '/projects/other' }
    const tried: string[] = []
    const postLeft: MemoryWorld['blackboard']['postLeft'] = async ({ context }) => {
      tried.push(String(context.scope))
      if (context.scope === POST.root) await full()
    }
    // What comes after it for the same project does not overtake it.
    expect(await left([POST, ARCHIVE, elsewhere], { ...world.blackboard, postLeft })).toEqual([
      { later: 'the disk is full' },
      { later: 'the disk is full' },
      'taken',
    ])
    expect(tried).toEqual(['/projects/bob', '/projects/other'])
    expect(await left([POST, ARCHIVE])).toEqual(['taken', 'taken'])
  })

  test('is said to have broken where something breaks that is no refusal', async () => {
    const breaks = async () => {
      throw new RangeError('out of it')
    }
    expect(await left([POST], { ...world.blackboard, postLeft: breaks })).toEqual([
      { broke: 'RangeError: out of it' },
    ])
  })
})

test('a blackboard that has grown too long loses its older half by itself', async () => {
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
