/** Tests that one directory is one project, whatever links lead to it. The links are real. */
import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { openProjects, type Projects } from '../../../../src/modules/registry/projects.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import type { RecordStore } from '../../../../src/ports/record-store.ts'
import { createMemoryRecordStore } from '../../../../src/storage/memory/record-store.ts'
import { systemPathInspector } from '../../../../src/system/files/path-inspector.ts'
import { createIds, systemRandom } from '../../../../src/system/random.ts'
import { fakeClock } from '../../../support/fakes/fake-clock.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

const clock = fakeClock()
const ids = createIds(clock, systemRandom)
let top: string
let records: RecordStore
let projects: Projects

const open = () =>
  openProjects({ records, places: systemPathInspector({ root: at('home') }), clock, ids, log: silentLog })
const at = (name: string) => path.join(top, name)
const kept = async (name: string) => {
  const project = {
    project_id: ids.next(),
    root: at(name),
    aliases: [],
    created_at: '2026-01-01T00:00:00.000Z',
  }
  await records.put('project', project.project_id, project)
  return project.project_id
}

beforeEach(async () => {
  top = fs.realpathSync(temporaryDirectory())
  fs.mkdirSync(at('real/src'), { recursive: true })
  fs.symlinkSync('real', at('link'))
  records = createMemoryRecordStore()
  projects = await open()
})

test('a directory added twice, once by a link, is one project with its real root', async () => {
  const [by_link, by_root] = await Promise.all([
    projects.add({ path: at('link'), aliases: ['a'] }),
    projects.add({ path: at('real'), aliases: ['b'] }),
  ])
  expect(by_root.project_id).toBe(by_link.project_id)
  expect(projects.list()).toEqual([{ ...by_link, root: at('real'), aliases: ['a', 'b'] }])
  expect(await projects.at(at('link/'))).toEqual(projects.list()[0])
  expect((await open()).list()).toEqual(projects.list())
})

test('a path through a link finds the project', async () => {
  const { project_id } = await projects.add({ path: at('real') })
  for (const name of ['link', 'link/', 'link/src', 'link/src/not-there.ts', 'real/src', 'link/../real']) {
    expect(projects.around(at(name)), name).toMatchObject({ project_id })
  }
  expect(projects.find(at('link'))).toMatchObject({ project_id })
  expect(projects.find(at('link/src'))).toBeNull()
  expect(projects.around(at('other'))).toBeNull()
  await projects.remove(project_id)
  expect(projects.around(at('link/src'))).toBeNull()
})

test('a link into another project refers to that project', async () => {
  fs.mkdirSync(at('mine'))
  fs.symlinkSync('../real/src', at('mine/shared'))
  const real = await projects.add({ path: at('real') })
  const mine = await projects.add({ path: at('mine') })
  expect(projects.around(at('mine/shared'))).toEqual(real)
  expect(projects.around(at('mine'))).toEqual(mine)
  // A directory that is not a project belongs to the project that contains it.
  fs.mkdirSync(at('nobodys'))
  fs.symlinkSync('../nobodys', at('mine/vendor'))
  expect(projects.around(at('mine/vendor/x'))).toEqual(mine)
})

test('a project stored with a link as its root keeps working', async () => {
  const project_id = await kept('link')
  const again = await open()
  for (const name of ['link', 'link/src', 'real', 'real/src']) {
    expect(again.around(at(name)), name).toMatchObject({ project_id, root: at('link') })
  }
  expect(await again.add({ path: at('real'), aliases: ['app'] })).toMatchObject({
    project_id,
    root: at('link'),
  })
  expect(again.list()).toHaveLength(1)
})

test('two projects stored for one directory both stay, and count once in the portfolio', async () => {
  const [linked, real] = [await kept('link'), await kept('real')]
  const again = await open()
  expect(again.list()).toHaveLength(2)
  expect(again.directories()).toMatchObject([{ project_id: real }])
  expect(again.around(at('link/src'))).toMatchObject({ project_id: linked })
  expect(again.around(at('real/src'))).toMatchObject({ project_id: real })
  await again.remove(real)
  expect(again.directories()).toMatchObject([{ project_id: linked }])
  expect(again.around(at('real/src'))).toMatchObject({ project_id: linked })
})
