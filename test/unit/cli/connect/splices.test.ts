import { expect, test } from 'vitest'
import { Draft, unspliced } from '../../../../src/cli/connect/splices.ts'

test('a draft tells where in the original stood what stands here now, and gives the original back', () => {
  const draft = new Draft('one two three')
  draft.cut(4, 3, 'second')
  draft.cut(0, 0, '# ')
  expect(draft.text).toBe('# one second three')
  const originOf = (word: string) => draft.originOf(draft.text.indexOf(word))
  expect([originOf('# '), originOf('one'), originOf('second'), originOf('three')]).toEqual([0, 0, 4, 8])
  // Inside of what was written: where it was put.
  expect([draft.originOf(1), originOf('cond')]).toEqual([0, 4])
  expect(unspliced(draft.text, draft.splices)).toBe(draft.original)
})
