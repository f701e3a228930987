import { expect, test } from 'vitest'
import { Draft, unspliced } from '../../../../../src/cli/connect/edit/text-edits.ts'

test('a draft maps positions to the original text and restores it', () => {
  const draft = new Draft('one two three')
  draft.cut(4, 3, 'second')
  draft.cut(0, 0, '# ')
  expect(draft.text).toBe('# one second three')
  const originOf = (word: string) => draft.originOf(draft.text.indexOf(word))
  expect([originOf('# '), originOf('one'), originOf('second'), originOf('three')]).toEqual([0, 0, 4, 8])
  // An offset inside of an inserted text maps to the position of the insertion.
  expect([draft.originOf(1), originOf('cond')]).toEqual([0, 4])
  expect(unspliced(draft.text, draft.splices)).toBe(draft.original)
})
