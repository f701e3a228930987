/** What follows a decision and was refused, or a crash came in between of. */
import { beforeEach, describe, expect, test } from 'vitest'
import { ReadInput } from '../../../../src/contracts/blackboard.ts'
import { OverrideInput } from '../../../../src/contracts/decision.ts'
import { TurnbellError } from '../../../../src/contracts/errors.ts'
import type { RecordBody, RecordStore } from '../../../../src/ports/record-store.ts'
import { memoryProjects } from '../../../support/memory-projects.ts'
import { memoryWorld, type MemoryWorld } from '../../../support/memory-world.ts'

let world: MemoryWorld
/** Why a record cannot be written now; null where it can. */
let trouble: (kind: string, body: RecordBody) => Error | null

const refused = () => new TurnbellError('store_unavailable', { detail: 'it is too large' })
const refuse = (...kinds: string[]) => (trouble = (kind) => (kinds.includes(kind) ? refused() : null))
const mend = () => (trouble = () => null)

function troubled(records: RecordStore): RecordStore {
  const needPut = (kind: string, body: RecordBody) => {
    const error = trouble(kind, body)
    if (error !== null) throw error
  }
  return {
    ...records,
    async put(kind, id, body) {
      needPut(kind, body)
      return records.put(kind, id, body)
    },
    exclusive: (kind, work) =>
      records.exclusive(kind, (held) =>
        work({
          ...held,
          async put(id, body) {
            needPut(kind, body)
            return held.put(id, body)
          },
        }),
      ),
  }
}

function openProject() {
  const projects = memoryProjects()
  const opened = new Map<string, ReturnType<typeof projects>>()
  return (root: string) => {
    const project = opened.get(root) ?? projects(root)
    if (project === null || opened.has(root)) return project
    opened.set(root, { ...project, records: troubled(project.records) })
    return opened.get(root) ?? null
  }
}

const restart = async () => {
  world = await memoryWorld({ home: world.home, openProject: world.needs.openProject })
}
const override = (decision_id: string) =>
  world.decisions.override(world.bob, OverrideInput.parse({ decision_id, reason: 'Legal.' }))
const said = async (wanted: object = {}) =>
  (await world.blackboard.read(world.bob, ReadInput.parse(wanted))).entries.map(({ summary }) => summary)
const statusOf = async (id: string) => (await world.decisions.read(world.bob, id)).status
/** A change that has nothing to do with the others. */
const another = () => world.decide({ summary: 'Another', domain: 'elsewhere', scope: 'docs/' })
const relations = async () => (await world.project('/work/bob').list('relation')).length

beforeEach(async () => {
  mend()
  world = await memoryWorld({ openProject: openProject() })
})

describe('a decision', () => {
  test('is made, once, where the graph cannot be written, which has its part later', async () => {
    refuse('entity', 'relation')
    const { status } = await world.decide({ summary: 'A', affected_files: ['src/a.ts'] })
    expect(status).toBe('active')
    expect(await said()).toEqual(['A'])
    await another()
    await restart()
    await another()
    expect(await relations()).toBe(0)
    mend()
    await another()
    expect(await relations()).toBe(1)
  })

  test('is made, once, where the blackboard cannot be written, which tells of it later', async () => {
    await world.decide({ summary: 'A' })
    refuse('entry')
    expect(await world.decide({ summary: 'B' })).toMatchObject({ status: 'provisional' })
    expect(await said()).toEqual(['A'])
    mend()
    await another()
    expect((await said({ entry_types: ['decision'] })).toSorted()).toEqual(['A', 'Another', 'B'])
    expect(await said({ open: true })).toEqual([expect.stringMatching(/^Potential conflict/)])
  })

  test('that is taken back while the blackboard cannot be written is told of later', async () => {
    const { id } = await world.decide({ summary: 'A' })
    await world.decide({ summary: 'B' })
    refuse('entry')
    expect(await override(id)).toMatchObject({ overridden: true })
    mend()
    await restart()
    await another()
    expect(await said({ entry_types: ['decision'] })).toContain('Override: A (by human)')
    expect(await said({ open: true })).toEqual([])
  })

  test('that is taken back is told of where a crash came in between, and nothing twice', async () => {
    const { id } = await world.decide({ summary: 'A' })
    for (let n = 0; n < 25; n += 1) await world.decide({ summary: `${n}`, domain: `d${n}` })
    await world.clock.advance(1)
    trouble = (kind) => (kind === 'entry' ? new Error('killed') : null)
    await expect(override(id)).rejects.toThrow('killed')
    mend()
    for (let n = 0; n < 2; n += 1) {
      await restart()
      await another()
    }
    const told = (await said({ entry_types: ['decision'] })).filter((summary) =>
      summary.startsWith('Override'),
    )
    expect(told).toEqual(['Override: A (by human)'])
  })

  test('that contradicts another anew warns of that, also where a crash came in between', async () => {
    const one = await world.decide({ summary: 'A' })
    const second = await world.decide({ summary: 'B' })
    const third = await world.decide({ summary: 'C' })
    trouble = (_, { entry_type }) => (entry_type === 'warning' ? new Error('killed') : null)
    await expect(override(one.id)).rejects.toThrow('killed')
    mend()
    await restart()
    await another()
    expect([await statusOf(second.id), await statusOf(third.id)]).toEqual(['active', 'provisional'])
    expect(await said({ open: true })).toEqual([expect.stringContaining(`${third.id} in scope`)])
  })

  test('that stands is asked for no more, where a crash came before it was told', async () => {
    const { id } = await world.decide({ summary: 'A' })
    const look = (stands: boolean) =>
      world.decisions.reconsider(world.bob, { decision_id: id, new_context: 'It was measured.', stands })
    await look(false)
    refuse('entry')
    expect(await look(true)).toMatchObject({ flagged: false, status: 'active' })
    mend()
    await restart()
    await another()
    expect(await said({ open: true })).toEqual([])
  })
})
