import { expect, test } from 'vitest'
import { stemOf } from '../../../../src/modules/search/stem.ts'

test.each([
  ['token', 'tokens'],
  ['cache', 'caches'],
  ['query', 'queries'],
  ['class', 'classes'],
  ['database', 'databases'],
  ['batch', 'batches'],
  ['file', 'files'],
  ['note', 'notes'],
])('%s and %s have the same stem', (one, many) => expect(stemOf(many)).toBe(stemOf(one)))

test.each(['status', 'redis', 'access', 'ios', 'as', 'not', 'use', '漢字', ''])(
  '%j is its own stem',
  (word) => expect(stemOf(word)).toBe(word),
)
