import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { sessionNumberFiles } from '../../../../src/system/files/session-numbers.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

const directory = () => path.join(temporaryDirectory(), 'activity')

test('the numbers of each session are read by another process', () => {
  const at = directory()
  const files = sessionNumberFiles(at)
  expect(files.read('s1')).toBeNull()
  files.write('s1', { next_seq: 7, turn_seq: 2 })
  files.write('../s2', { next_seq: 1, turn_seq: 0 })
  files.write('s1', { next_seq: 8, turn_seq: 2 })
  const again = sessionNumberFiles(at)
  expect(again.read('s1')).toEqual({ next_seq: 8, turn_seq: 2 })
  expect(again.read('../s2')).toEqual({ next_seq: 1, turn_seq: 0 })
  expect(fs.readdirSync(at)).toHaveLength(2)
})

test.each(['', '{', '{"session_id":"s1","next_seq":0,"turn_seq":0}', 'x'.repeat(10_000)])(
  'an invalid file counts as missing: %j',
  (content) => {
    const at = directory()
    const files = sessionNumberFiles(at)
    files.write('s1', { next_seq: 7, turn_seq: 2 })
    const [name = ''] = fs.readdirSync(at)
    fs.writeFileSync(path.join(at, name), content)
    expect(files.read('s1')).toBeNull()
  },
)

test('files of sessions that were not used for a long time are removed', () => {
  const at = directory()
  const files = sessionNumberFiles(at)
  files.removeOld(0)
  files.write('old', { next_seq: 7, turn_seq: 2 })
  const [name = ''] = fs.readdirSync(at)
  fs.utimesSync(path.join(at, name), 1_000, 1_000)
  files.write('new', { next_seq: 7, turn_seq: 2 })
  files.removeOld(1_000_000 + LIMITS.activity_numbers_age_ms)
  expect([files.read('old'), files.read('new')]).toEqual([null, { next_seq: 7, turn_seq: 2 }])
})

test('of too many files the oldest are removed', () => {
  const at = directory()
  const files = sessionNumberFiles(at)
  files.write('s', { next_seq: 7, turn_seq: 2 })
  for (let n = 0; n < LIMITS.activity_numbers_max; n++) fs.writeFileSync(path.join(at, `${n}.json`), '')
  fs.utimesSync(path.join(at, '0.json'), 1_000, 1_000)
  files.removeOld(2_000_000)
  expect(fs.readdirSync(at)).toHaveLength(LIMITS.activity_numbers_max)
  expect(fs.existsSync(path.join(at, '0.json'))).toBe(false)
})
