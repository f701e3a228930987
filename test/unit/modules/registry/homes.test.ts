/** Tests that a directory with a turnbell home is not a project, even if an older hub registered it. */
import { beforeEach, expect, test } from 'vitest'
import { openProjects, type Projects } from '../../../../src/modules/registry/projects.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import type { RecordStore } from '../../../../src/ports/record-store.ts'
import { createMemoryRecordStore } from '../../../../src/storage/memory/record-store.ts'
import { createIds, systemRandom } from '../../../../src/system/random.ts'
import { fakeClock } from '../../../support/fakes/fake-clock.ts'
import { playedPlaces } from '../../../support/fakes/fake-path-inspector.ts'

const clock = fakeClock()
const ids = createIds(clock, systemRandom)
const ADA = '/home/ada'
let records: RecordStore
const open = () =>
  openProjects({ records, places: playedPlaces({ homes: [ADA] }), clock, ids, log: silentLog })
let projects: Projects
/** Records of an older hub that did not know of homes. */
const project_id = ids.next()
beforeEach(async () => {
  records = createMemoryRecordStore()
  const former = { project_id, root: ADA, aliases: ['me'], created_at: '2026-01-01T00:00:00.000Z' }
  await records.put('project', project_id, former)
  projects = await open()
})

const REFUSED = { code: 'project_unknown', detail: /^\/home\/ada is no project: a home of turnbell/ }

test.each(['at', 'add'] as const)(
  'a directory with a home is not registered as a project by %s, known or not',
  async (how) => {
    const make = (root: string) => (how === 'at' ? projects.at(root) : projects.add({ path: root }))
    await expect(make(ADA)).rejects.toMatchObject(REFUSED)
    await expect(make(`${ADA}/`)).rejects.toMatchObject(REFUSED)
    await projects.remove(project_id)
    await expect(make(ADA)).rejects.toMatchObject(REFUSED)
    expect(projects.list()).toEqual([])
    expect(await make(`${ADA}/code/x`)).toMatchObject({ root: `${ADA}/code/x` })
  },
)

test('a registered directory with a home contains nothing, and no call reaches it', async () => {
  for (const name of [ADA, `${ADA}/code/x`, project_id, 'me']) expect(projects.around(name), name).toBeNull()
  expect(projects.directories()).toEqual([])
  for (const name of [ADA, 'me']) expect(() => projects.get(name)).toThrow(/is not a project/)
  expect(() => projects.get(`${ADA}/code/x`)).toThrow(/There is no project/)
  await expect(projects.alias('me', 'mine', false)).rejects.toMatchObject(REFUSED)
  await projects.at('/home')
  expect(projects.around(`${ADA}/code/x`)?.root).toBe('/home')
  expect(projects.around(ADA)).toBeNull()
})

test('a registered directory with a home is still listed, so that it can be removed', async () => {
  for (const name of [ADA, project_id, 'me']) expect(projects.find(name)).toMatchObject({ project_id })
  expect(projects.list()).toHaveLength(1)
  await projects.remove(project_id)
  expect((await open()).list()).toEqual([])
})
