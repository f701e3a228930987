/** Paths of records that are given through symbolic links. The links are real ones. */
import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { PostInput, ReadInput } from '../../../../src/contracts/memory/blackboard.ts'
import { AssembleInput } from '../../../../src/contracts/memory/context.ts'
import { DecideInput } from '../../../../src/contracts/memory/decision.ts'
import { systemPathInspector } from '../../../../src/system/files/path-inspector.ts'
import { memoryWorld, type MemoryWorld } from '../../../support/worlds/memory-world.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

let top: string
let world: MemoryWorld
let ada: ReturnType<MemoryWorld['as']>
let looked: string[]
const at = (name: string) => path.join(top, name)

beforeEach(async () => {
  top = fs.realpathSync(temporaryDirectory())
  fs.mkdirSync(at('data/project/src'), { recursive: true })
  fs.mkdirSync(at('me'))
  fs.symlinkSync('../data/project', at('me/link'))
  const places = systemPathInspector({ root: at('home') })
  looked = []
  world = await memoryWorld({
    places: {
      ...places,
      realPath(given) {
        // Each call checks whether the project's root is still in place.
        if (given !== at('data/project')) looked.push(given)
        return places.realPath(given)
      },
    },
  })
  const { project_id } = await world.projects.add({ path: at('me/link') })
  ada = world.as('ada', { scope: project_id })
})

const warn = (scope: string) =>
  world.blackboard.post(ada, PostInput.parse({ entry_type: 'warning', scope, summary: 'Mind it' }))
const decide = (scope: string, affected_files: string[] = []) =>
  world.decisions.decide(
    ada,
    DecideInput.parse({
      domain: 'implementation',
      scope,
      affected_files,
      summary: 'Do it',
      context: 'It was open.',
      rationale: 'It is simple.',
    }),
  )
const scopes = async () => {
  const { entries } = await world.blackboard.read(ada, ReadInput.parse({ entry_types: ['warning'] }))
  return entries.map(({ scope }) => scope)
}
const why = async (scope: string) => {
  const { decisions } = await world.decisions.why(ada, { scope, limit: 9 })
  return decisions.length
}
const warned = async (scope: string) => {
  const answer = await world.context.assemble(ada, AssembleInput.parse({ task: 'x', scope }))
  return [answer.active_warnings.length, answer.active_decisions.length]
}

describe('a path through a symbolic link to the project', () => {
  test.each(['me/link', 'data/project'])(
    'records made through %s are found under the path below the root',
    async (said) => {
      await warn(at(`${said}/src/a.ts`))
      await decide(at(`${said}/src/a.ts`), [at(`${said}/lib/not-there-yet.ts`)])
      expect(await scopes()).toEqual(['src/a.ts'])
      for (const asked of ['src/a.ts', at('me/link/src/a.ts'), at('data/project/src/a.ts'), at('me/link')]) {
        expect(await why(asked), asked).toBe(1)
        expect(await warned(asked), asked).toEqual([1, 1])
      }
      for (const asked of ['lib/not-there-yet.ts', at('me/link/lib/not-there-yet.ts')])
        expect(await why(asked), asked).toBe(1)
      expect(await why(at('me/link/src/b.ts'))).toBe(0)
    },
  )

  test('a path through a link is stored relative to the root in every spelling', async () => {
    fs.symlinkSync('src', at('data/project/source'))
    fs.symlinkSync(at('me'), at('data/project/out'))
    const written = ['', '/', '/src/', '//src/./a.ts', '/lib/../src', '/source/a.ts', '/out/x', '/gone/a.ts']
    for (const rest of written) await warn(`${at('me/link')}${rest}`)
    expect(await scopes()).toEqual([
      ...['project', 'project', 'src/', 'src/a.ts', 'src', 'source/a.ts', 'out/x', 'gone/a.ts'],
    ])
  })

  test('a path is resolved through a link in a parent directory and through a chain of links', async () => {
    fs.symlinkSync('me', at('you'))
    fs.symlinkSync('link', at('me/again'))
    for (const name of ['you/link/src/a.ts', 'you/again/src/b.ts']) await warn(at(name))
    expect(await scopes()).toEqual(['src/a.ts', 'src/b.ts'])
  })

  test('a link that leads elsewhere or to itself leaves the path unchanged', async () => {
    fs.mkdirSync(at('data/project-2/src'), { recursive: true })
    fs.symlinkSync('../data/project-2', at('me/link-2'))
    fs.symlinkSync('loop', at('me/loop'))
    const elsewhere = ['me/link-2/src/a.ts', 'me/loop/a.ts', 'data/a.ts'].map(at)
    elsewhere.push(`${at('me/link')}/../src/a.ts`)
    for (const scope of elsewhere) await warn(scope)
    expect(await scopes()).toEqual(elsewhere)
  })

  test('only links to the project itself are resolved', async () => {
    looked.length = 0
    await warn('src/a.ts')
    await decide(at('data/project/src/a.ts'), ['lib/b.ts', at('data/project/lib/c.ts')])
    expect(looked).toEqual([])
    await warn(`/${'nowhere/'.repeat(30)}`)
    expect(looked.length).toBeGreaterThan(0)
    expect(looked.length).toBeLessThan(40)
  })

  test('each directory is looked up once per call', async () => {
    const files = (directory: string) => Array.from({ length: 100 }, (_, n) => `${directory}/f${n}.ts`)
    const below = (depth: number) => `/workspaces${'/gone'.repeat(depth - 1)}`
    looked.length = 0
    await decide('src/', files(below(40)))
    expect(looked).toHaveLength(32)
    // Each file may be a link itself.
    looked.length = 0
    await decide('src/', files(below(9)))
    expect(looked).toHaveLength(1 + 9 + 100)
    expect(new Set(looked).size).toBe(looked.length)
    // A link created after one call is found by the next.
    fs.symlinkSync('../data/project', at('me/later'))
    await decide(at('me/later/src/a.ts'), [at('me/later/lib/b.ts'), at('me/later/lib/c.ts')])
    for (const asked of ['src/a.ts', 'lib/b.ts', 'lib/c.ts'])
      expect(await why(asked), asked).toBeGreaterThan(0)
  })
})

test('a project registered by a link is also found by its real path', async () => {
  const kept = { root: at('me/link'), aliases: [], created_at: '2026-01-01T00:00:00.000Z' }
  const former = world.hub_records
  const [{ project_id } = { project_id: '' }] = world.projects
    .list()
    .filter(({ root }) => root.startsWith(top))
  await former.put('project', project_id, { project_id, ...kept })
  world = await memoryWorld({ hub_records: former, places: systemPathInspector({ root: at('home') }) })
  expect(world.projects.get(project_id).root).toBe(at('me/link'))
  await warn(at('data/project/src/a.ts'))
  await warn(at('me/link/src/a.ts'))
  expect(await scopes()).toEqual(['src/a.ts', 'src/a.ts'])
})
