/** A text is the same in either of Unicode's forms; what is stored stays as it was written. */
import { describe, expect, test } from 'vitest'
import { ReadInput } from '../../../src/contracts/blackboard.ts'
import { sameText } from '../../../src/contracts/same-text.ts'
import { wordsOf } from '../../../src/contracts/words.ts'
import { keyOf } from '../../../src/modules/coordinator/resources.ts'
import { entityNamed } from '../../../src/modules/graph/service.ts'
import { hasText } from '../../../src/modules/has-text.ts'
import { concerns, fromRoot, nearness, sameScope, within } from '../../../src/modules/memory/scope.ts'
import { memoryWorld } from '../../support/memory-world.ts'

const FORMS = ['NFC', 'NFD'] as const
const BOTH = FORMS.flatMap((one) => FORMS.map((other) => [one, other] as const))

describe.each(BOTH)('what is written in %s is found in %s', (one, other) => {
  const said = 'src/für/Überblick.ts'.normalize(one)
  const asked = 'src/für/Überblick.ts'.normalize(other)
  const folder = 'src/für/'.normalize(other)

  test('a scope', () => {
    expect([sameScope(said, asked), within(said, folder), concerns(folder, said)]).toEqual([true, true, true])
    expect(nearness(said, asked)).toBe(1)
  })

  test('a path below the root, the rest as it was written', () => {
    const ways = { byRoot: (path: string) => path, inMain: (path: string) => path }
    const root = '/home/jürgen/p'
    const local = (scope: string) => fromRoot(root.normalize(other), { scope }, ways).scope
    expect(local(`${root.normalize(one)}/${said}`)).toBe(said)
    expect(local(root.normalize(one))).toBe('project')
    expect(local(`${root.normalize(one)}x/a`)).toBe(`${root.normalize(one)}x/a`)
  })

  test('a lock, a word, a part of a text', () => {
    expect(keyOf(said)).toBe(keyOf(asked))
    expect(wordsOf(said)).toEqual(wordsOf(asked))
    expect(hasText([said], 'überblick'.normalize('NFC'))).toBe(true)
    expect(sameText(said, asked)).toBe(true)
  })

  test('an entity', () => {
    const entity = { id: '01JZ0000000000000000000000', name: said, type: 'file', properties: {} }
    const at = '2026-01-01T00:00:00.000Z'
    const kept = { ...entity, created_at: at, updated_at: at }
    expect(entityNamed([kept], asked)).toBe(kept)
  })

  test('a decision and an entry, stored as they were given', async () => {
    const world = await memoryWorld()
    await world.decide({ scope: said.replace(/[^/]*$/, ''), affected_files: [said] })
    await world.post({ entry_type: 'warning', scope: said, summary: 'Mind it' })
    const { decisions } = await world.decisions.why(world.bob, { scope: asked, limit: 9 })
    expect(decisions).toMatchObject([{ affected_files: [said] }])
    const { entries } = await world.blackboard.read(world.bob, ReadInput.parse({ scope: folder }))
    expect(entries.filter(({ entry_type }) => entry_type === 'warning')).toMatchObject([{ scope: said }])
  })
})
