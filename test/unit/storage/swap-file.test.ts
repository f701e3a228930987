/** What becomes of drafts where another process takes the place meanwhile. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { swapFile } from '../../../src/storage/file/swap-file.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

test.each([
  ['of one that has lost the place is taken away', undefined],
  ['that another has begun in its place stays', 'theirs'],
])('the draft %s', async (_, theirs) => {
  const file = path.join(temporaryDirectory(), 'index')
  const draft = `${file}.new`
  let asked = 0
  const swapped = swapFile({
    ...{ file, text: Buffer.from('ours'), needWay: () => {}, since: () => Buffer.alloc(0) },
    mayChange() {
      asked += 1
      if (asked === 1) return
      if (theirs !== undefined) {
        fs.rmSync(draft)
        fs.writeFileSync(draft, theirs)
      }
      throw new Error('another has it')
    },
  })
  await expect(swapped).rejects.toThrow('another has it')
  expect(fs.existsSync(file)).toBe(false)
  expect(fs.existsSync(draft) ? fs.readFileSync(draft, 'utf8') : undefined).toBe(theirs)
})

test('a draft that another has put in the place of ours takes nobody’s place', async () => {
  const file = path.join(temporaryDirectory(), 'index')
  fs.writeFileSync(file, 'before')
  let asked = 0
  const swapped = swapFile({
    ...{ file, text: Buffer.from('ours'), needWay: () => {}, since: () => Buffer.alloc(0) },
    mayChange() {
      asked += 1
      if (asked === 1) return
      fs.rmSync(`${file}.new`)
      fs.writeFileSync(`${file}.new`, 'half')
    },
  })
  await expect(swapped).rejects.toThrow('another process writes there')
  expect(fs.readFileSync(file, 'utf8')).toBe('before')
  expect(fs.readFileSync(`${file}.new`, 'utf8')).toBe('half')
})
