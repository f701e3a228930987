/** Tests that linked work trees share the memory of the main work tree. Repositories and work trees are real. */
import fs from 'node:fs'
import path from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { PostInput, ReadInput } from '../../../src/contracts/memory/blackboard.ts'
import { AssembleInput } from '../../../src/contracts/memory/context.ts'
import { DecideInput } from '../../../src/contracts/memory/decision.ts'
import { projectOpener } from '../../../src/storage/file/project/open-projects.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { systemPathInspector } from '../../../src/system/files/path-inspector.ts'
import { memoryWorld, type MemoryWorld } from '../../support/worlds/memory-world.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { testRepository, type TestRepository } from '../../support/disk/test-repository.ts'

let top: string
let main: TestRepository
let world: MemoryWorld
const at = (name: string) => path.join(top, name)
const operator = (scope: string) => world.as('operator', { scope })

beforeEach(async () => {
  top = fs.realpathSync(temporaryDirectory())
  fs.mkdirSync(at('main'))
  main = testRepository(at('main'))
  main.write('src/a.ts', 'a')
  main.commit('first')
  world = await memoryWorld({
    places: systemPathInspector({ root: at('home') }),
    openProject: projectOpener({ log: silentLog }),
  })
})

const post = (call: ReturnType<MemoryWorld['as']>, scope: string) =>
  world.blackboard.post(call, PostInput.parse({ entry_type: 'warning', scope, summary: 'Mind it' }))
const scopes = async (call: ReturnType<MemoryWorld['as']>) => {
  const { entries } = await world.blackboard.read(call, ReadInput.parse({ entry_types: ['warning'] }))
  return entries.map(({ scope }) => scope)
}
const warned = async (call: ReturnType<MemoryWorld['as']>, scope: string) => {
  const answer = await world.context.assemble(call, AssembleInput.parse({ task: 'x', scope }))
  return answer.active_warnings.length
}
const known = () => world.projects.list().flatMap(({ root }) => (root.startsWith(top) ? [root] : []))
const memories = () =>
  ['main', 'side', 'main/.claude/worktrees/f1'].filter((name) => fs.existsSync(at(`${name}/.turnbell`)))

describe.each([
  ['inside of the project', 'main/.claude/worktrees/f1'],
  ['outside of it', 'side'],
])('a linked work tree %s', (_, name) => {
  beforeEach(async () => {
    await world.projects.add({ path: at('main') })
    main.git('worktree', 'add', '--quiet', '-b', 'f1', at(name))
  })

  test('a linked work tree sees the memory of the main work tree, however it is named', async () => {
    await post(operator(at('main')), 'src/')
    for (const scope of [at('main'), at(name), at(`${name}/src`)])
      for (const about of ['src/a.ts', at(`${name}/src/a.ts`), at('main/src/a.ts')])
        expect(await warned(operator(scope), about), `${scope} ${about}`).toBe(1)
    expect(await warned(operator(at(name)), at(`${name}/lib/b.ts`))).toBe(0)
  })

  test('a linked work tree stores paths of the main work tree, and creates no memory', async () => {
    for (const scope of [at(name), at(`${name}/src`), at('main')])
      for (const about of [at(`${name}/src/not-there-yet.ts`), at(name)]) await post(operator(scope), about)
    const stored = ['src/not-there-yet.ts', 'project']
    expect(await scopes(operator(at('main')))).toEqual([...stored, ...stored, ...stored])
    await world.decisions.decide(
      operator(at(name)),
      DecideInput.parse({
        ...{ domain: 'implementation', scope: at(name), affected_files: [at(`${name}/src/a.ts`)] },
        ...{ summary: 'Do it', context: 'It was open.', rationale: 'It is simple.' },
      }),
    )
    const { decisions } = await world.decisions.why(operator(at('main')), { scope: 'src/a.ts', limit: 9 })
    expect(decisions).toMatchObject([{ scope: 'project', affected_files: ['src/a.ts'] }])
    expect(memories()).toEqual(['main'])
    expect(known()).toEqual([at('main')])
  })

  test('a linked work tree uses the main memory even if the memory is committed', async () => {
    await post(operator(at('main')), 'src/')
    main.commit('remember')
    main.git('-C', at(name), 'merge', '--quiet', 'main')
    expect(fs.existsSync(at(`${name}/.turnbell/blackboard.jsonl`))).toBe(true)
    await post(operator(at(name)), at(`${name}/src/a.ts`))
    expect(await scopes(operator(at(name)))).toEqual(['src/', 'src/a.ts'])
    expect(main.git('-C', at(name), 'status', '--porcelain')).toBe('')
  })

  test('a linked work tree is open to an agent of the project', async () => {
    const ada = world.as('ada', { scope: at('main') })
    await post(ada, at(`${name}/src/a.ts`))
    expect(await scopes(world.as('ada', { scope: at(name) }))).toEqual(['src/a.ts'])
  })

  test('a linked work tree that was registered as a project uses the main memory all the same', async () => {
    const { project_id } = await world.projects.add({ path: at(name) })
    await post(world.as('ada', { scope: project_id }), at(`${name}/src/a.ts`))
    expect(await scopes(operator(at('main')))).toEqual(['src/a.ts'])
  })
})

test('a path through a linked work tree below the root is the place in the main one', async () => {
  await world.projects.add({ path: at('main') })
  main.git('worktree', 'add', '--quiet', '-b', 'f1', at('main/.claude/worktrees/f1'))
  for (const about of [
    '.claude/worktrees/f1/src/a.ts',
    './.claude/worktrees/f1',
    '.claude/worktrees/f2/src/a.ts',
  ])
    await post(operator(at('main')), about)
  expect(await scopes(operator(at('main')))).toEqual(['src/a.ts', 'project', '.claude/worktrees/f2/src/a.ts'])
})

test('the first call in a linked work tree creates the memory in the main one', async () => {
  main.git('worktree', 'add', '--quiet', '-b', 'f1', at('side'))
  await post(operator(at('side/src')), at('side/src/a.ts'))
  expect(memories()).toEqual(['main'])
  expect(known()).toEqual([at('main')])
})

test('a project in a part of the repository is found in a linked work tree as well', async () => {
  fs.mkdirSync(at('main/packages/p'), { recursive: true })
  await world.projects.add({ path: at('main/packages/p') })
  main.write('packages/p/x.ts', 'x')
  main.commit('p')
  main.git('worktree', 'add', '--quiet', '-b', 'f1', at('side'))
  await post(operator(at('side/packages/p')), at('side/packages/p/x.ts'))
  expect(await scopes(operator(at('main/packages/p')))).toEqual(['x.ts'])
})

describe('a directory with a separate memory', () => {
  test('a submodule and a nested repository have a separate memory', async () => {
    fs.mkdirSync(at('other'))
    const other = testRepository(at('other'))
    other.write('a.ts', 'a')
    other.commit('other')
    main.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', at('other'), 'sub')
    fs.mkdirSync(at('main/nested'))
    testRepository(at('main/nested'))
    for (const name of ['main/sub', 'main/nested']) {
      await post(operator(at(name)), at(`${name}/a.ts`))
      expect(await scopes(operator(at(name)))).toEqual(['a.ts'])
      expect(fs.existsSync(at(`${name}/.turnbell`))).toBe(true)
    }
  })

  test('a work tree of a bare repository has a separate memory', async () => {
    main.git('clone', '--quiet', '--bare', at('main'), at('bare.git'))
    main.git('-C', at('bare.git'), 'worktree', 'add', '--quiet', '-b', 'f1', at('side'))
    await post(operator(at('side')), at('side/src/a.ts'))
    expect(await scopes(operator(at('side')))).toEqual(['src/a.ts'])
    expect(memories()).toEqual(['side'])
  })

  test('a directory that claims to be an unlisted work tree has a separate memory', async () => {
    await world.projects.add({ path: at('main') })
    main.git('worktree', 'add', '--quiet', '-b', 'f1', at('side'))
    fs.mkdirSync(at('claims'))
    fs.copyFileSync(at('side/.git'), at('claims/.git'))
    await post(operator(at('claims')), at('claims/a.ts'))
    expect(await scopes(operator(at('main')))).toEqual([])
    fs.mkdirSync(at('forged/folder'), { recursive: true })
    fs.writeFileSync(at('forged/.git'), `gitdir: ${at('forged/folder')}\n`)
    fs.writeFileSync(at('forged/folder/commondir'), `${at('main/.git')}\n`)
    fs.writeFileSync(at('forged/folder/gitdir'), `${at('forged/.git')}\n`)
    await post(operator(at('forged')), at('forged/a.ts'))
    expect(await scopes(operator(at('main')))).toEqual([])
  })
})
