/** Tests the lines of a file after disk calls that failed. */
import { expect, test } from 'vitest'
import { openSyncedLines } from '../../../../src/storage/file/project/synced-lines.ts'
import { MemoryDisk, systemError, type Operation } from '../../../support/disk/memory-disk.ts'

const FILE = '/spool/lines'

/** A file with `one`, and after it a line that did not reach the disk. */
async function torn() {
  const disk = new MemoryDisk()
  const { lines } = openSyncedLines(disk, FILE)
  const failOnce = (operation: Operation) => {
    disk.fault = (now) => {
      if (now !== operation) return null
      disk.fault = () => null
      return systemError('EIO')
    }
  }
  const text = (file = FILE) => disk.content(file).toString()
  await lines.append('one')
  failOnce('sync')
  await expect(lines.append('lost')).rejects.toThrow('EIO')
  return { disk, lines, failOnce, text }
}

test('a line that was not synced is overwritten by the next one', async () => {
  const { lines, text } = await torn()
  await lines.append('two')
  expect(text()).toBe('one\ntwo\n')
})

test('replaced lines stay, also if their name could not be synced', async () => {
  const { lines, failOnce, text } = await torn()
  failOnce('syncDirectory')
  expect(() => lines.replace(['one', 'two', 'three', 'four'])).toThrow('EIO')
  await lines.append('five')
  expect(text()).toBe('one\ntwo\nthree\nfour\nfive\n')
})

test('lines that could not be replaced still lose a torn last line', async () => {
  for (const operation of ['open', 'write', 'sync', 'rename'] as const) {
    const { lines, failOnce, text } = await torn()
    failOnce(operation)
    expect(() => lines.replace(['other'])).toThrow('EIO')
    await lines.append('two')
    expect(text()).toBe('one\ntwo\n')
  }
})

test("an append is durable, also if the file's name could not be synced before", async () => {
  const { disk, lines, failOnce } = await torn()
  failOnce('syncDirectory')
  expect(() => lines.replace(['one', 'two'])).toThrow('EIO')
  await lines.append('three')
  expect(
    disk
      .afterPowerCut(() => 0)
      .content(FILE)
      .toString(),
  ).toBe('one\ntwo\nthree\n')
})

test('the existence of the file is known, also if its name could not be synced', async () => {
  const { lines, failOnce, text } = await torn()
  const failing = (work: () => void) => {
    failOnce('syncDirectory')
    expect(work).toThrow('EIO')
    return lines.exists()
  }
  expect(failing(() => lines.replace([]))).toBe(false)
  expect(failing(() => lines.replace(['two']))).toBe(true)
  expect(failing(() => lines.moveTo('/spool/other'))).toBe(false)
  failOnce('sync')
  await expect(lines.append('three')).rejects.toThrow('EIO')
  expect(lines.exists()).toBe(true)
  await lines.append('four')
  expect([text(), text('/spool/other')]).toEqual(['four\n', 'two\n'])
})
