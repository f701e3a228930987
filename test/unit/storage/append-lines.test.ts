/** Lines that are written behind those of a file, while an editor saves that file as a whole. */
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { appendLines } from '../../../src/storage/file/append-lines.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

/** `saved` says what an editor writes that was just read, right after the lines were written for the first time. */
async function appended(saved: (text: string) => string, former = 'before\n') {
  const file = path.join(temporaryDirectory(), 'blackboard.jsonl')
  fs.writeFileSync(file, former)
  let saves = 0
  const save = () => {
    fs.writeFileSync(`${file}~`, saved(fs.readFileSync(file, 'utf8')))
    fs.renameSync(`${file}~`, file)
  }
  await appendLines(file, Buffer.from('one\ntwo\n'), {
    needWay: () => undefined,
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
])('lines that whoever saves it %s are there once', async (_, saved, text) => {
  expect(await appended(saved)).toBe(text)
})

test('a line that was there before is said again, and not taken for the one that an editor took along', async () => {
  const former = 'one\nchanged\n'
  expect(await appended(() => `${former}by hand\n`, former)).toBe(`${former}by hand\none\ntwo\n`)
  expect(await appended((text) => `${text}by hand\n`, former)).toBe(`${former}one\ntwo\nby hand\n`)
})

/** Appends one line while somebody else does something to the file at the last moment before the write. */
async function appendedAfter(others: (file: string) => void, line = '{"id":"A"}\n', former = '') {
  const file = path.join(temporaryDirectory(), 'blackboard.jsonl')
  fs.writeFileSync(file, former)
  let writes = 0
  const appending = appendLines(file, Buffer.from(line), {
    needWay: () => undefined,
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
])('a line that became the rest of somebody else’s half in %s is written again', async (_, former) => {
  const { appending, text } = await appendedAfter(
    (file) => fs.appendFileSync(file, '{"id":"ha'),
    undefined,
    former,
  )
  await appending
  expect(text()).toBe(`${former}{"id":"ha{"id":"A"}\n{"id":"A"}\n`)
})

test('a line behind a whole one of somebody else is written once', async () => {
  const { appending, text } = await appendedAfter((file) => fs.appendFileSync(file, 'theirs\n'))
  await appending
  expect(text()).toBe('theirs\n{"id":"A"}\n')
})

describe('a disk that is full after half a line', () => {
  const write = fs.writeSync
  afterEach(() => {
    fs.writeSync = write
  })
  /** Takes so many bytes, and then none; `meanwhile` is what somebody else does in between. */
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

  test('is given back what it took', async () => {
    const { appending, text } = await appendedAfter(() => fill(5, () => undefined), undefined, 'before\n')
    await expect(appending).rejects.toMatchObject({ code: 'ENOSPC' })
    expect(text()).toBe('before\n')
  })

  test('keeps what somebody else has written behind it', async () => {
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
