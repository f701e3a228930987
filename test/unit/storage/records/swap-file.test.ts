/** Tests drafts when another process takes the place in the meantime. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { swapFile } from '../../../../src/storage/file/records/swap-file.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

/** `atLast` runs at the last request for permission. */
function swapping(atLast: (draft: string) => void) {
  const file = path.join(temporaryDirectory(), 'index')
  const draft = `${file}.new`
  fs.writeFileSync(file, 'before')
  let asked = 0
  const mayChange = () => {
    asked += 1
    if (asked > 1) atLast(draft)
  }
  const swapped = swapFile({
    ...{ file, text: Buffer.from('ours'), checkPath: () => {}, appended: () => Buffer.alloc(0) },
    mayChange,
  })
  const textOf = (name: string) => (fs.existsSync(name) ? fs.readFileSync(name, 'utf8') : undefined)
  return { swapped, left: () => [textOf(file), textOf(draft)] }
}

function beginTheirs(draft: string): void {
  fs.rmSync(draft)
  fs.writeFileSync(draft, 'theirs')
}

function refuse(): never {
  throw new Error('another has it')
}

test('the draft of a process that lost the lock is removed', async () => {
  const { swapped, left } = swapping(refuse)
  await expect(swapped).rejects.toThrow('another has it')
  expect(left()).toEqual(['before', undefined])
})

test('a draft that another process has created instead stays', async () => {
  const { swapped, left } = swapping((draft) => {
    beginTheirs(draft)
    refuse()
  })
  await expect(swapped).rejects.toThrow('another has it')
  expect(left()).toEqual(['before', 'theirs'])
})

test('a draft that another process has replaced is not renamed over the file', async () => {
  const { swapped, left } = swapping(beginTheirs)
  await expect(swapped).rejects.toThrow('another process writes this file')
  expect(left()).toEqual(['before', 'theirs'])
})
