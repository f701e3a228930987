import { beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { openProjects, type Projects } from '../../../../src/modules/registry/projects.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import type { RecordStore } from '../../../../src/ports/record-store.ts'
import { createMemoryRecordStore } from '../../../../src/storage/memory/record-store.ts'
import { createIds, systemRandom } from '../../../../src/system/random.ts'
import { fakeClock } from '../../../support/fakes/fake-clock.ts'
import { AS_WRITTEN } from '../../../support/fakes/fake-path-inspector.ts'
import { unsureRecords } from '../../../support/disk/unsure-records.ts'

const clock = fakeClock()
const ids = createIds(clock, systemRandom)
let records: RecordStore
let projects: Projects
const open = () => openProjects({ records, places: AS_WRITTEN, clock, ids, log: silentLog })

beforeEach(async () => {
  records = createMemoryRecordStore()
  projects = await open()
})

describe('a project', () => {
  test('a project is found by its id, its directory and its aliases, also after a restart', async () => {
    const { project_id } = await projects.add({
      path: '/projects/app/',
      name: 'The app',
      aliases: ['app', 'main'],
    })
    for (const known of [projects, await open()]) {
      for (const name of [project_id, '/projects/app', '/projects/./app', 'app', 'main']) {
        expect(known.find(name)).toMatchObject({ project_id, root: '/projects/app', name: 'The app' })
      }
      expect(known.find('The app')).toBeNull()
      expect(known.find('/work')).toBeNull()
    }
  })

  test('a project contains every path inside of it', async () => {
    await projects.at('/projects/app')
    expect(projects.around('/projects/app/src/x.ts')?.root).toBe('/projects/app')
    expect(projects.around('/projects/application')).toBeNull()
    expect(projects.around('/')).toBeNull()
    expect(projects.around('src/x.ts')).toBeNull()
    expect(() => projects.get('/projects/other')).toThrow(/project_unknown/)
  })

  test('a project added again keeps its id and its aliases, and gets new ones', async () => {
    const first = await projects.add({ path: '/projects/app', aliases: ['app'] })
    const again = await projects.add({ path: '/projects/app', aliases: ['app', 'main'] })
    expect(again).toEqual({ ...first, aliases: ['app', 'main'] })
    expect(await projects.at('/projects/app')).toEqual(again)
    expect(projects.list()).toEqual([again])
  })

  test('a project with an uncertain creation is the same one when it is added again, and is gone once removed', async () => {
    const those = unsureRecords(records)
    records = those.records
    those.unsynced = true
    projects = await open()
    await expect(projects.add({ path: '/projects/app', aliases: ['app'] })).rejects.toThrow(
      /store_unavailable/,
    )
    expect(projects.list()).toEqual([])
    those.unsynced = false
    const { project_id } = await projects.add({ path: '/projects/app', aliases: ['app'] })
    expect((await open()).list()).toMatchObject([{ project_id, root: '/projects/app' }])
    await projects.remove(project_id)
    expect((await open()).list()).toEqual([])
  })

  test('a project with an uncertain creation blocks no other, and is gone once removed', async () => {
    const those = unsureRecords(records)
    records = those.records
    projects = await open()
    those.unsynced = true
    for (const name of ['one', 'two']) {
      await expect(projects.add({ path: `/projects/${name}`, aliases: [name] })).rejects.toThrow(
        /store_unavailable/,
      )
    }
    those.unsynced = false
    await projects.add({ path: '/projects/other', aliases: ['one'] })
    await projects.remove('/projects/two')
    expect((await open()).list()).toMatchObject([{ root: '/projects/other', aliases: ['one'] }])
  })

  test('a project with a rejected removal is active again once an agent works there', async () => {
    const those = unsureRecords(records)
    records = those.records
    projects = await open()
    const { project_id } = await projects.at('/projects/app')
    those.unsynced = true
    await expect(projects.remove(project_id)).rejects.toThrow(/store_unavailable/)
    those.unsynced = false
    expect(await projects.at('/projects/app')).toMatchObject({ project_id })
    expect((await open()).list()).toMatchObject([{ project_id }])
  })

  test('a project that is removed, created again and removed concurrently is gone', async () => {
    await projects.at('/projects/app')
    const remove = () => projects.remove('/projects/app')
    await Promise.all([remove(), projects.add({ path: '/projects/app', aliases: ['app'] }), remove()])
    expect(projects.list()).toEqual([])
    expect((await open()).list()).toEqual([])
  })

  test('a project recorded before aliases existed has none', async () => {
    const body = { project_id: ids.next(), root: '/projects/old', created_at: '2026-01-01T00:00:00.000Z' }
    await records.put('project', body.project_id, body)
    expect((await open()).list()).toEqual([{ ...body, aliases: [] }])
  })
})

describe('an alias', () => {
  test('an alias is added and removed', async () => {
    const { root } = await projects.at('/projects/app')
    expect(await projects.alias(root, 'app', false)).toMatchObject({ aliases: ['app'] })
    expect(await projects.alias('app', 'app', false)).toMatchObject({ aliases: ['app'] })
    expect(await projects.alias('app', 'main', false)).toMatchObject({ aliases: ['app', 'main'] })
    expect(await projects.alias('main', 'app', true)).toMatchObject({ aliases: ['main'] })
    expect(projects.find('app')).toBeNull()
  })

  test('an alias belongs to one project, also with concurrent requests', async () => {
    const asked = ['/a', '/b', '/c'].map((path) => projects.add({ path, aliases: ['app'] }))
    const answers = await Promise.allSettled(asked)
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
    expect(projects.list().map(({ root }) => root)).toEqual(['/a'])
    await projects.at('/b')
    await expect(projects.alias('/b', 'app', false)).rejects.toMatchObject({
      code: 'alias_taken',
      detail: 'app is an alias of /a.',
    })
  })

  test('an alias beyond the limit is rejected', async () => {
    const aliases = Array.from({ length: LIMITS.project_aliases_max }, (_, n) => `a${n}`)
    await projects.add({ path: '/projects/app', aliases })
    await expect(projects.alias('a0', 'more', false)).rejects.toMatchObject({ code: 'limit_reached' })
  })
})
