/** What becomes of drafts where another process takes the place meanwhile. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { swapFile } from '../../../src/storage/file/swap-file.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

/** `atLast` is what happens when leave is asked for the last time. */
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
    ...{ file, text: Buffer.from('ours'), needWay: () => {}, since: () => Buffer.alloc(0) },
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

test('the draft of one that has lost the place is taken away', async () => {
  const { swapped, left } = swapping(refuse)
  await expect(swapped).rejects.toThrow('another has it')
  expect(left()).toEqual(['before', undefined])
})

test('the draft that another has begun in its place stays', async () => {
  const { swapped, left } = swapping((draft) => {
    beginTheirs(draft)
    refuse()
  })
  await expect(swapped).rejects.toThrow('another has it')
  expect(left()).toEqual(['before', 'theirs'])
})

test('a draft that another has put in the place of ours takes nobody’s place', async () => {
  const { swapped, left } = swapping(beginTheirs)
  await expect(swapped).rejects.toThrow('another process writes there')
  expect(left()).toEqual(['before', 'theirs'])
})
