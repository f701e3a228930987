/** Which project a call about git is about. */
import { describe, expect, test } from 'vitest'
import type { Asking } from '../../../../src/modules/git/needs.ts'
import { projectRoot } from '../../../../src/modules/git/project-root.ts'
import { openProjects } from '../../../../src/modules/registry/projects.ts'
import type { PersonaRegistry } from '../../../../src/modules/registry/personas.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { createMemoryRecordStore } from '../../../../src/storage/memory/record-store.ts'
import { systemClock } from '../../../../src/system/clock.ts'
import { createIds, systemRandom } from '../../../../src/system/random.ts'
import { refusedWith } from '../../../support/small-hub.ts'

const asking = (identity: string, scope: string | null = null, kind: Asking['caller']['kind'] = 'agent') => ({
  caller: { tenant_id: 'local', kind, identity },
  context: { agent_id: 'anonymous', scope },
})

async function world() {
  const ids = createIds(systemClock, systemRandom)
  const records = createMemoryRecordStore()
  const projects = await openProjects({ records, clock: systemClock, ids, log: silentLog })
  const [ada, bob] = [await projects.at('/work/ada'), await projects.at('/work/bob')]
  const belongs = new Map([
    ['ada', ada.project_id],
    ['bob', bob.project_id],
    ['cyd', undefined],
  ])
  const personas: Pick<PersonaRegistry, 'get'> = {
    get(identity) {
      if (!belongs.has(identity)) return null
      const project_id = belongs.get(identity)
      const at = '2026-01-01T00:00:00.000Z'
      const persona = { identity, surface: 'mcp', state: 'active', created_at: at, updated_at: at } as const
      return { ...persona, ...(project_id === undefined ? {} : { project_id }) }
    },
  }
  return { personas, projects }
}

describe('the project of a call', () => {
  test('is the one that the persona belongs to, unless it names another', async () => {
    const known = await world()
    const [, bobs] = known.projects.list()
    await known.projects.alias('/work/bob', 'bobs', false)
    expect(projectRoot(known, asking('ada'))).toBe('/work/ada')
    expect(projectRoot(known, asking('ada', 'portfolio'))).toBe('/work/ada')
    for (const scope of [bobs?.project_id ?? '', 'bobs', '/work/bob', '/work/./bob/'])
      expect(projectRoot(known, asking('ada', scope)), scope).toBe('/work/bob')
  })

  test('may be a directory inside one', async () => {
    const known = await world()
    expect(projectRoot(known, asking('ada', '/work/bob/sub/'))).toBe('/work/bob/sub')
  })

  test.each([
    ['no project', 'cyd', null],
    ['nobody', 'eve', null],
    ['an unknown id', 'ada', '01JZ0000000000000000000000'],
    ['an unknown directory', 'ada', '/etc'],
    ['a directory around a project', 'ada', '/work'],
    ['a way out of a project', 'ada', '/work/ada/../../etc'],
    ['a relative path', 'ada', 'work/ada'],
  ])('is unknown for %s', async (_, identity, scope) => {
    const known = await world()
    expect(await refusedWith(() => projectRoot(known, asking(identity, scope)))).toBe('repository_unknown')
    expect(await refusedWith(() => projectRoot(known, asking(identity, scope, 'observer')))).toBe(
      'repository_unknown',
    )
  })

  test('is any directory that the operator names', async () => {
    const known = await world()
    expect(projectRoot(known, asking('operator', '/anywhere/', 'operator'))).toBe('/anywhere')
    for (const scope of [null, 'portfolio', 'anywhere']) {
      const refused = await refusedWith(() => projectRoot(known, asking('operator', scope, 'operator')))
      expect(refused).toBe('repository_unknown')
    }
  })
})
