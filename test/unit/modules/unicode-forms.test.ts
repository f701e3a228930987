/** Tests that both Unicode normalization forms of a text are equal; stored texts are unchanged. */
import { describe, expect, test } from 'vitest'
import { ReadInput } from '../../../src/contracts/memory/blackboard.ts'
import { sameText } from '../../../src/contracts/text/same-text.ts'
import { tokenize } from '../../../src/contracts/text/tokenize.ts'
import { keyOf } from '../../../src/modules/coordinator/resources.ts'
import { entityNamed } from '../../../src/modules/graph/entity-named.ts'
import { containsText } from '../../../src/modules/lib/contains-text.ts'
import { concerns, relativeToRoot, nearness, sameScope, within } from '../../../src/modules/memory/scope.ts'
import { memoryWorld } from '../../support/worlds/memory-world.ts'

const FORMS = ['NFC', 'NFD'] as const
const BOTH = FORMS.flatMap((one) => FORMS.map((other) => [one, other] as const))

describe.each(BOTH)('text stored in %s and searched in %s', (one, other) => {
  const said = 'src/für/Überblick.ts'.normalize(one)
  const asked = 'src/für/Überblick.ts'.normalize(other)
  const folder = 'src/für/'.normalize(other)

  test('a scope matches in the other Unicode form', () => {
    expect([sameScope(said, asked), within(said, folder), concerns(folder, said)]).toEqual([true, true, true])
    expect(nearness(said, asked)).toBe(1)
  })

  test('a path below the root matches in the other Unicode form, and other paths are unchanged', () => {
    const ways = { resolveLink: (path: string) => path, toMainWorkTree: (path: string) => path }
    const root = '/home/jürgen/p'
    const local = (scope: string) => relativeToRoot(root.normalize(other), { scope }, ways).scope
    expect(local(`${root.normalize(one)}/${said}`)).toBe(said)
    expect(local(root.normalize(one))).toBe('project')
    expect(local(`${root.normalize(one)}x/a`)).toBe(`${root.normalize(one)}x/a`)
  })

  test('a lock, a word and a part of a text match in the other Unicode form', () => {
    expect(keyOf(said)).toBe(keyOf(asked))
    expect(tokenize(said)).toEqual(tokenize(asked))
    expect(containsText([said], 'überblick'.normalize('NFC'))).toBe(true)
    expect(sameText(said, asked)).toBe(true)
  })

  test('an entity matches in the other Unicode form', () => {
    const entity = { id: '01JZ0000000000000000000000', name: said, type: 'file', properties: {} }
    const at = '2026-01-01T00:00:00.000Z'
    const kept = { ...entity, created_at: at, updated_at: at }
    expect(entityNamed([kept], asked)).toBe(kept)
  })

  test('a decision and an entry match in the other Unicode form, and are stored unchanged', async () => {
    const world = await memoryWorld()
    await world.decide({ scope: said.replace(/[^/]*$/, ''), affected_files: [said] })
    await world.post({ entry_type: 'warning', scope: said, summary: 'Mind it' })
    const { decisions } = await world.decisions.why(world.bob, { scope: asked, limit: 9 })
    expect(decisions).toMatchObject([{ affected_files: [said] }])
    const { entries } = await world.blackboard.read(world.bob, ReadInput.parse({ scope: folder }))
    expect(entries.filter(({ entry_type }) => entry_type === 'warning')).toMatchObject([{ scope: said }])
  })
})
