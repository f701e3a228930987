/** Tests the scope of a call: for records, for git and for programs. */
import { describe, expect, test } from 'vitest'
import { silentLog } from '../../../../src/ports/log.ts'
import type { Caller } from '../../../../src/contracts/token.ts'
import type { PersonaRegistry } from '../../../../src/modules/registry/personas.ts'
import { openProjects } from '../../../../src/modules/registry/projects.ts'
import { projectRoot, repositoryRoot, subjectOf } from '../../../../src/modules/registry/scope.ts'
import { createMemoryRecordStore } from '../../../../src/storage/memory/record-store.ts'
import { systemClock } from '../../../../src/system/clock.ts'
import { createIds, systemRandom } from '../../../../src/system/random.ts'
import { refusedWith } from '../../../support/worlds/small-hub.ts'
import { playedPlaces } from '../../../support/fakes/fake-path-inspector.ts'

/** A memory in an unregistered project of bob, a work tree, another with a memory above it, and a home. */
const HELD = {
  memories: ['/projects/bob/vendor/lib', '/src/clone', '/team'],
  repositories: ['/src/clone/vendor/lib', '/src/new', '/team/tool', '/projects/bob/sub', '/home/ada'],
  homes: ['/home/ada'],
}

/** Ada's project is /projects/ada, bob's /projects/bob, which contains another; cyd has none, and gil's was removed. */
async function world(looked?: (directory: string) => void) {
  const ids = createIds(systemClock, systemRandom)
  const records = createMemoryRecordStore()
  const projects = await openProjects({
    records,
    places: playedPlaces(HELD, looked),
    clock: systemClock,
    ids,
    log: silentLog,
  })
  const ada = await projects.add({ path: '/projects/ada' })
  const bob = await projects.add({ path: '/projects/bob', aliases: ['bobs'] })
  const inner = await projects.add({ path: '/projects/bob/packages/inner' })
  const gone = await projects.add({ path: '/projects/gil' })
  await projects.remove(gone.project_id)
  const belongs: Record<string, string | undefined> = {
    ada: ada.project_id,
    bob: bob.project_id,
    cyd: undefined,
    gil: gone.project_id,
  }
  const personas: Pick<PersonaRegistry, 'get'> = {
    get(identity) {
      if (!(identity in belongs)) return null
      const project_id = belongs[identity]
      const at = '2026-01-01T00:00:00.000Z'
      const persona = { identity, surface: 'mcp', state: 'active', created_at: at, updated_at: at } as const
      return { ...persona, ...(project_id === undefined ? {} : { project_id }) }
    },
  }
  return { known: { projects, personas }, bob, inner }
}
const call = (identity: string, scope: string | null = null, kind: Caller['kind'] = 'agent') => ({
  caller: { kind, identity },
  context: { scope },
})

type Known = Awaited<ReturnType<typeof world>>['known']
/** Returns the scope of the same call for records, programs and git; the code of an error. */
async function meant(known: Known, asked: ReturnType<typeof call>): Promise<string[]> {
  const subject = subjectOf(known, asked)
  const records = subject.about === 'project' ? subject.project.root : subject.about
  const answers = [records]
  for (const rootOf of [projectRoot, repositoryRoot]) {
    try {
      answers.push(rootOf(known, asked))
    } catch {
      answers.push(await refusedWith(() => rootOf(known, asked)))
    }
  }
  return answers
}
const NEITHER = ['project_unknown', 'repository_unknown']

describe('a call is about', () => {
  test('a call refers to the project of its scope: by id, by alias, by directory, in any spelling', async () => {
    const { known, bob } = await world()
    for (const scope of [
      bob.project_id,
      'bobs',
      '/projects/bob',
      '/projects/bob/',
      '/projects/./ada/../bob',
    ]) {
      const asked = call('ada', scope)
      expect(await meant(known, asked), scope).toEqual(['/projects/bob', '/projects/bob', '/projects/bob'])
    }
  })

  test('a call refers to the innermost project around a directory, and git to that directory itself', async () => {
    const { known } = await world()
    expect(await meant(known, call('ada', '/projects/bob/sub/'))).toEqual([
      ...['/projects/bob', '/projects/bob', '/projects/bob/sub'],
    ])
    expect(await meant(known, call('ada', '/projects/bob/packages/inner/src'))).toEqual([
      ...['/projects/bob/packages/inner', '/projects/bob/packages/inner', '/projects/bob/packages/inner/src'],
    ])
    expect(await meant(known, call('ada', '/projects/bob/packages'))).toEqual([
      ...['/projects/bob', '/projects/bob', '/projects/bob/packages'],
    ])
  })

  test('a call without a scope refers to the project of its persona', async () => {
    const { known } = await world()
    expect(await meant(known, call('ada'))).toEqual(['/projects/ada', '/projects/ada', '/projects/ada'])
  })

  test('a call refers to the hub if its persona has no project, and then has no directory', async () => {
    const { known } = await world()
    for (const asked of [call('cyd'), call('eve'), call('gil'), call('operator', null, 'operator')])
      expect(await meant(known, asked), asked.caller.identity).toEqual(['hub', ...NEITHER])
  })

  test('a call may refer to every project at once, which counts as no directory', async () => {
    const { known } = await world()
    expect(await meant(known, call('ada', 'portfolio'))).toEqual([
      'portfolio',
      '/projects/ada',
      '/projects/ada',
    ])
    expect(await meant(known, call('cyd', 'portfolio'))).toEqual(['portfolio', ...NEITHER])
  })

  test.each([
    ['an unknown directory', '/etc', 'directory'],
    ['a directory around a project', '/work', 'directory'],
    ['a way out of a project', '/projects/ada/../../etc', 'directory'],
    ['a directory with a similar name', '/projects/adah', 'directory'],
    ['an unknown id', '01JZ0000000000000000000000', 'unknown'],
    ['an unknown alias', 'alices', 'unknown'],
    ['a relative path', 'work/ada', 'unknown'],
    ['a relative path out', '../ada', 'unknown'],
  ])('a call refers to nothing for %s, which only records may resolve later', async (_, scope, about) => {
    const { known } = await world()
    for (const kind of ['agent', 'observer'] as const)
      expect(await meant(known, call('ada', scope, kind))).toEqual([about, ...NEITHER])
  })

  test('a call refers to any directory that the operator names', async () => {
    const { known } = await world()
    expect(await meant(known, call('operator', '/anywhere/', 'operator'))).toEqual([
      ...['directory', '/anywhere', '/anywhere'],
    ])
    expect(await meant(known, call('operator', 'anywhere', 'operator'))).toEqual(['unknown', ...NEITHER])
  })

  test('a call refers to an unregistered memory that is nearer than the project around it', async () => {
    const { known, bob } = await world()
    for (const scope of ['/projects/bob/vendor/lib', '/projects/bob/vendor/lib/src/x.ts'])
      for (const kind of ['operator', 'agent'] as const)
        expect(await meant(known, call('cyd', scope, kind))).toEqual([
          ...['directory', '/projects/bob/vendor/lib', scope],
        ])
    const { project_id } = await known.projects.at('/projects/bob/vendor/lib')
    expect(known.projects.around('/projects/bob/vendor/lib/src')).toMatchObject({ project_id })
    expect(known.projects.around('/projects/bob/vendor')).toEqual(bob)
    // A work tree without a memory belongs to the project around it.
    expect(known.projects.around('/projects/bob/sub/src')).toEqual(bob)
  })
})

describe('a call about an unknown directory', () => {
  test.each([
    ['the nearest memory above it', '/src/clone/src/auth', '/src/clone'],
    ['the memory in it', '/src/clone', '/src/clone'],
    ['a memory rather than a work tree that is nearer', '/src/clone/vendor/lib/src', '/src/clone'],
    ['the memory in it, if the work tree is separate', '/team/tool', '/team'],
    ['its work tree, without a memory', '/src/new/packages/a', '/src/new'],
    ['itself, without a work tree', '/src/notes', '/src/notes'],
    ['itself, also below a home', '/home/ada/notes/today', '/home/ada/notes/today'],
  ])('a call about an unknown directory refers to %s', async (_, scope, root) => {
    const { known } = await world()
    expect(known.projects.rootFor(scope)).toBe(root)
    expect(await meant(known, call('operator', scope, 'operator'))).toEqual(['directory', root, scope])
    expect(await meant(known, call('ada', scope))).toEqual(['directory', ...NEITHER])
  })

  test('a call about a directory with a home refers to nothing, except for programs and git', async () => {
    const { known } = await world()
    expect(known.projects.rootFor('/home/ada')).toBeNull()
    expect(await meant(known, call('operator', '/home/ada', 'operator'))).toEqual([
      ...['directory', '/home/ada', '/home/ada'],
    ])
  })
})

test('no directory is inspected for a call without one, or for the root of a project', async () => {
  const looked: string[] = []
  const { known, bob } = await world((directory) => looked.push(directory))
  looked.length = 0
  for (const scope of [
    null,
    'bobs',
    bob.project_id,
    '/projects/bob',
    '/projects/bob/',
    'portfolio',
    'nobodys',
  ])
    await meant(known, call('ada', scope))
  expect(looked).toEqual([])
  known.projects.around('/projects/bob/src/auth')
  expect([...new Set(looked)]).toEqual(['/projects/bob/src/auth', '/projects/bob/src'])
  // Nor for one that the caller may not access.
  looked.length = 0
  await meant(known, call('ada', '/src/clone/src'))
  expect(looked).toEqual([])
})
