/** Tests appending lines to a file while an editor saves the whole file. */
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { appendLines } from '../../../../src/storage/file/project/shared-append.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

/** `saved` returns the text that an editor saves right after the lines were first written. */
async function appended(saved: (text: string) => string, former = 'before\n') {
  const file = path.join(temporaryDirectory(), 'blackboard.jsonl')
  fs.writeFileSync(file, former)
  let saves = 0
  const save = () => {
    fs.writeFileSync(`${file}~`, saved(fs.readFileSync(file, 'utf8')))
    fs.renameSync(`${file}~`, file)
  }
  await appendLines(file, Buffer.from('one\ntwo\n'), {
    checkPath: () => undefined,
    mayChange() {
      saves += 1
      // After the write, and before it is known to be on the disk.
      if (saves === 1) process.nextTick(save)
    },
    pause: async () => undefined,
  })
  return fs.readFileSync(file, 'utf8')
}

test.each([
  ['has taken along', (text: string) => `${text}by hand\n`, 'before\none\ntwo\nby hand\n'],
  ['has not seen', () => 'before\nby hand\n', 'before\nby hand\none\ntwo\n'],
  ['has seen some of', () => 'before\none\nby hand\n', 'before\none\nby hand\ntwo\n'],
  ['has seen as a part of others', () => 'before\none two\n', 'before\none two\none\ntwo\n'],
])('appended lines are there once if an editor that saves the file %s', async (_, saved, text) => {
  expect(await appended(saved)).toBe(text)
})

test('a line equal to an earlier one is appended, although an editor kept the earlier one', async () => {
  const former = 'one\nchanged\n'
  expect(await appended(() => `${former}by hand\n`, former)).toBe(`${former}by hand\none\ntwo\n`)
  expect(await appended((text) => `${text}by hand\n`, former)).toBe(`${former}one\ntwo\nby hand\n`)
})

/** Appends one line while another program changes the file at the last moment before the write. */
async function appendedAfter(others: (file: string) => void, line = '{"id":"A"}\n', former = '') {
  const file = path.join(temporaryDirectory(), 'blackboard.jsonl')
  fs.writeFileSync(file, former)
  let writes = 0
  const appending = appendLines(file, Buffer.from(line), {
    checkPath: () => undefined,
    mayChange() {
      writes += 1
      if (writes === 1) others(file)
    },
    pause: async () => undefined,
  })
  return { file, appending, text: () => fs.readFileSync(file, 'utf8') }
}

test.each([
  ['an empty file', ''],
  ['a file of one empty line', '\n'],
  ['a file with a line', 'before\n'],
])("a line that was appended to another program's partial line in %s is written again", async (_, former) => {
  const { appending, text } = await appendedAfter(
    (file) => fs.appendFileSync(file, '{"id":"ha'),
    undefined,
    former,
  )
  await appending
  expect(text()).toBe(`${former}{"id":"ha{"id":"A"}\n{"id":"A"}\n`)
})

test("a line after another program's whole line is written once", async () => {
  const { appending, text } = await appendedAfter((file) => fs.appendFileSync(file, 'theirs\n'))
  await appending
  expect(text()).toBe('theirs\n{"id":"A"}\n')
})

describe('a disk that becomes full within a line', () => {
  const write = fs.writeSync
  afterEach(() => {
    fs.writeSync = write
  })
  /** Accepts this many bytes and no more; `meanwhile` runs in between. */
  function fill(bytes: number, meanwhile: () => void): void {
    let writes = 0
    fs.writeSync = ((fd: number, buffer: Buffer, at: number) => {
      writes += 1
      if (writes > 1) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' })
      const written = write(fd, buffer, at, bytes)
      meanwhile()
      return written
    }) as typeof fs.writeSync
  }

  test('the partial line on a full disk is truncated', async () => {
    const { appending, text } = await appendedAfter(() => fill(5, () => undefined), undefined, 'before\n')
    await expect(appending).rejects.toMatchObject({ code: 'ENOSPC' })
    expect(text()).toBe('before\n')
  })

  test('lines that another program appended after it are kept', async () => {
    const long = `{"id":"A","text":"${'x'.repeat(300)}"}\n`
    const { appending, text } = await appendedAfter(
      (file) => fill(5, () => fs.appendFileSync(file, '\ntheirs\n')),
      long,
      'before\n',
    )
    await expect(appending).rejects.toMatchObject({ code: 'ENOSPC' })
    expect(text()).toBe('before\n{"id"\ntheirs\n')
  })
})
